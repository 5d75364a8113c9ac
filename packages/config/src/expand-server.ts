/** Expands and validates one server of a file. An invalid server does not affect the others. */
import { ConfigError, type ConfigIssue, type ConfigPath } from "@toolport/base";
import type { ServerEntry } from "@toolport/core";
import { parseServerEntry, type ServerConfig } from "@toolport/core/internal";
import { addressWarnings } from "./entry-risks.js";
import {
  type EntrySurroundings,
  expandEntry,
  type ProjectFiles,
  readProjectFiles,
  textsIn,
} from "./expand-entry.js";
import { hasVariables, referencesIn } from "./expand-variables.js";
import type { WrittenServer } from "./read-servers.js";

/** A validated entry. */
export interface CheckedServer {
  /** Absent if the entry has issues, or was not expanded. */
  readonly good?: { readonly entry: ServerEntry; readonly config: ServerConfig } | undefined;
  readonly issues: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];
}

/** What the user consents to, as it is hashed and shown: the entry, and the inputs of the file that it uses. */
export const writtenForm = ({ raw, dialect, inputs }: WrittenServer): Readonly<Record<string, unknown>> => ({
  kind: dialect.kind,
  entry: raw ?? {},
  ...(inputs.length > 0 && { inputs }),
});

/** Reads the project files that the entry refers to. Call it only after the user has agreed to the entry. */
export const filesOf = (server: WrittenServer): Promise<ProjectFiles> =>
  readProjectFiles(server.translated, {
    ...surroundingsOf(server),
    projectDir: server.options.place.projectDir ?? server.options.place.baseDir,
  });

/** Expands the variables of an entry, reads its files and validates it. */
export async function expandServer(server: WrittenServer): Promise<CheckedServer> {
  const { name, translated, dialect, options, isEnabled, note } = server;
  const issues = [...server.issues];
  const warnings = [...server.warnings];
  if (server.raw === undefined) return { issues, warnings };
  const reported = new Set(issues.map(({ path }) => path));
  const entry = await expandEntry(translated, {
    ...surroundingsOf(server),
    // Do not ask the user for inputs of a disabled server.
    ...(!isEnabled && { askInput: async () => ({ value: "" }) }),
    report: (path, message) => {
      const found = note(path, message);
      (isEnabled ? issues : warnings).push(found);
      reported.add(found.path);
    },
    warn: (path, message) => warnings.push(note(path, message)),
  });
  // A process of another program's project file runs in the project directory, as with that program.
  const { projectDir } = options.place;
  const isForeign = dialect.kind !== "toolport" && projectDir !== undefined;
  if (isForeign && typeof entry["command"] === "string") entry["cwd"] ??= projectDir;
  // The user's own file applies in every folder: a process of it starts in the folder of the file, wherever the user is.
  const isOwn = dialect.kind === "toolport" && options.place.scope === "user";
  if (isOwn && typeof entry["command"] === "string") entry["cwd"] ??= options.place.baseDir;
  const checked = parseEntry(name, entry, {
    extraKeys: options.extraKeys,
    report: (path, message) => {
      const found = note(path, message);
      // Report a field once: an unset variable causes further issues.
      if (!reported.has(found.path)) issues.push(found);
    },
  });
  for (const message of checked === undefined ? [] : addressWarnings(checked.config)) {
    warnings.push(note(["url"], message));
  }
  const isGood = checked !== undefined && issues.length === 0;
  return { ...byState(server, { issues, warnings }), ...(isGood && { good: checked }) };
}

/** Validates an entry without expanding it: completely if it has no variables, otherwise only its name. */
export function checkWritten(server: WrittenServer): CheckedServer {
  const { name, raw, translated, options, note, warnings } = server;
  const issues = [...server.issues];
  if (raw !== undefined) {
    const report = (path: ConfigPath, message: string) => void issues.push(note(path, message));
    // Validate the name in any case, with a placeholder entry.
    const entry = holdsVariables(server) ? { command: "any" } : translated.entry;
    parseEntry(name, entry, { extraKeys: options.extraKeys, report });
  }
  return byState(server, { issues, warnings });
}

/** Issues of a disabled server are only warnings. */
const byState = (
  { isEnabled }: WrittenServer,
  { issues, warnings }: Pick<CheckedServer, "issues" | "warnings">,
): CheckedServer => (isEnabled ? { issues, warnings } : { issues: [], warnings: [...warnings, ...issues] });

function holdsVariables({ translated, dialect }: WrittenServer): boolean {
  const bare = dialect.bareVariables === true;
  return textsIn(translated.entry).some(
    (text) => hasVariables(text) || referencesIn(text, { bare }).length > 0,
  );
}

function surroundingsOf({ dialect, options, askInput, readFile }: WrittenServer): EntrySurroundings {
  const { place, surroundings } = options;
  return {
    ...surroundings,
    askInput,
    readFile,
    baseDir: place.baseDir,
    workspaceFolder: place.scope === "project" ? place.baseDir : surroundings.cwd,
    bare: dialect.bareVariables === true,
    report() {},
    warn() {},
  };
}

function parseEntry(
  name: string,
  entry: unknown,
  options: { extraKeys: readonly string[] | undefined; report: (path: ConfigPath, message: string) => void },
): CheckedServer["good"] {
  const paths: ConfigPath[] = [];
  const locate = (path: ConfigPath) => void paths.push(path.slice(1));
  try {
    const config = parseServerEntry(name, entry, { extraKeys: options.extraKeys, locate });
    return { entry: entry as ServerEntry, config };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const [index, { message }] of error.issues.entries()) options.report(paths[index] ?? [], message);
    return undefined;
  }
}
