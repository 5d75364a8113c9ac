/** Finds servers in the configuration files of other programs. */
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { valueAt } from "../../config/config-document.js";
import { isRecord } from "../../config/entry-reader.js";
import type { ConfigIssue } from "../../errors/config-error.js";
import type { DialectKind } from "../../node/dialects/dialect.js";
import { DIALECT_KINDS } from "../../node/dialects/dialects.js";
import { type CheckedServer, checkWritten } from "../../node/expand-server.js";
import { findConfigs } from "../../node/find-configs.js";
import { effectiveServers, readConfig } from "../../node/load-config.js";
import { readDocument } from "../../node/read-document.js";
import { suggest } from "../../util/suggest.js";
import { CliError } from "../cli-error.js";
import type { CommandContext } from "../command-context.js";
import { surroundingsFor } from "./own-files.js";
import { PROGRAMS } from "./programs.js";

/** A server in the file of another program. */
export interface ImportCandidate {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly kind: DialectKind;
  /** The entry to write. */
  readonly entry: Readonly<Record<string, unknown>>;
  /** The entry is in a project file, so its author may not be the user. */
  readonly isForeign: boolean;
  /** `"same"`: our file already contains this entry. `"taken"`: our file contains another server with this name. */
  readonly state: "new" | "same" | "taken";
}

export interface FoundImports {
  readonly candidates: readonly ImportCandidate[];
  /** Files that were read. */
  readonly files: readonly string[];
  /** Issues of servers that are left out, and warnings. */
  readonly notes: readonly string[];
}

/**
 * Expands no variables.
 *
 * @param from names of programs or paths of files; if empty, every program
 */
export async function findImports(
  from: readonly string[],
  context: CommandContext,
  target: string,
): Promise<FoundImports> {
  const present = await entriesOf(target);
  const candidates = new Map<string, ImportCandidate>();
  const files: string[] = [];
  const notes: string[] = [];
  for (const file of await filesOf(from, context)) {
    const config = await readConfig(file, surroundingsFor(context));
    for (const read of config.found) {
      if (read.isRead) files.push(read.file);
      notes.push(...notesOn(read));
    }
    for (const server of effectiveServers(config).values()) {
      const { name, source } = server;
      const checked = checkWritten(server);
      notes.push(...notesOn(checked));
      if (checked.issues.length > 0 || source.kind === "toolport" || candidates.has(name)) continue;
      const { written: entry, line, kind } = source;
      const known = present[name];
      const state = known === undefined ? "new" : isDeepStrictEqual(known, plain(entry)) ? "same" : "taken";
      candidates.set(name, { name, file, line, kind, entry, isForeign: source.scope === "project", state });
    }
  }
  return { candidates: [...candidates.values()], files, notes };
}

function notesOn({ issues, warnings }: Pick<CheckedServer, "issues" | "warnings">): string[] {
  const placeOf = ({ file, line }: ConfigIssue) => `${file}${line === undefined ? "" : `:${line}`}`;
  return [
    ...issues.map((issue) => `${placeOf(issue)}: ${issue.path} ${issue.message}; it is left out`),
    ...warnings.map((issue) => `${placeOf(issue)}: ${issue.path} ${issue.message}`),
  ];
}

async function filesOf(from: readonly string[], context: CommandContext): Promise<string[]> {
  const foreign = DIALECT_KINDS.filter((kind) => kind !== "toolport");
  const names = from.filter((word) => Object.hasOwn(PROGRAMS, word));
  const paths = from.filter((word) => !Object.hasOwn(PROGRAMS, word));
  for (const word of paths) if (!/[./\\]/.test(word)) throw unknownProgram(word);
  const dialects = from.length === 0 ? foreign : names.flatMap((name) => PROGRAMS[name]!);
  const found = dialects.length === 0 ? [] : await findConfigs({ ...surroundingsFor(context), dialects });
  return [...paths.map((path) => resolve(context.cwd, path)), ...found.map(({ file }) => file)];
}

function unknownProgram(word: string): CliError {
  const [close] = suggest(word, Object.keys(PROGRAMS), 1);
  return new CliError({
    message: `Unknown program ${JSON.stringify(word)}${close === undefined ? `. Known: ${Object.keys(PROGRAMS).join(", ")}` : `. Did you mean ${close}?`}`,
    next: `toolport import --from ${close ?? "claude"}`,
  });
}

async function entriesOf(file: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const servers = valueAt((await readDocument(file)).root, ["mcpServers"]);
    return isRecord(servers) ? servers : {};
  } catch {
    // The file does not exist yet. If it is unreadable, writing to it reports the error.
    return {};
  }
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
