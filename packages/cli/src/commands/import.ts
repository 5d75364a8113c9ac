/** `toolport import` and `export`: copy servers of other programs into one of Toolport's own files, and write servers in their formats. */

import { existsSync } from "node:fs";
import { chmod, stat, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type ConfigIssue, suggest } from "@toolport/base";
import { DIALECT_KINDS, type DialectKind, exportConfig, findConfigs, saveOwnConfig } from "@toolport/config";
import {
  type CheckedServer,
  checkWritten,
  type ExportDialect,
  effectiveServers,
  readConfig,
  type WrittenServer,
} from "@toolport/config/internal";
import type { ServerEntry } from "@toolport/core";
import type { CommandContext, CommandSpec, RunCommand } from "../command.js";
import { flag, PROJECT, REPLACE, SERVERS, text, texts } from "../command-options.js";
import { CliError, configurationError } from "../errors.js";
import { describeEntry, entriesOf, ownFileFor, unknownServer } from "../load-servers.js";
import { indented, plural } from "../plain-text.js";
import { shellWord } from "../shell-words.js";

export const importCommand: CommandSpec = {
  name: "import",
  summary: "Copy servers of Claude, Cursor, VS Code and others into Toolport's own file",
  group: "servers",
  positionals: [{ ...SERVERS, summary: "Only these servers", completes: undefined, optional: true }],
  options: {
    from: texts("<program>", "claude, cursor, vscode, codex …, or a file"),
    "dry-run": flag("Only show what would be copied"),
    project: PROJECT,
    replace: REPLACE,
  },
  examples: [
    ["toolport import --dry-run", "show all servers that were found"],
    ["toolport import --from cursor --from vscode", "only from these programs"],
  ],
  load: async () => (await import("./import.js")).runImport,
};

export const runImport: RunCommand = async (context) => {
  const target = await ownFileFor(context);
  const { candidates, files, notes } = await findImports(context.texts("from"), context, target);
  const wanted = choose(candidates, context.words);
  const mayReplace = context.flag("replace");
  const coming = wanted.filter(({ state }) => state === "new" || (state === "taken" && mayReplace));
  const isDryRun = context.flag("dry-run");
  const count = plural(coming.length, "server");
  for (const note of notes) context.warn(note);
  if (context.form !== "json" && wanted.length > 0) {
    const rows = wanted.map(({ name, kind, file, line, entry, state }) => [
      name,
      mayReplace && state === "taken" ? "replaced" : STATES[state],
      kind,
      describeEntry(entry).command,
      `${file}:${line}`,
    ]);
    context.printRows(["SERVER", "STATE", "PROGRAM", "RUNS OR CALLS", "FROM"], rows);
  }
  if (!isDryRun && coming.length > 0) {
    const chosen = context.texts("from").flatMap((program) => ["--from", program]);
    const next = ["toolport import", ...[...context.words, ...chosen].map(shellWord), "--yes"].join(" ");
    await agree(coming, { target, next, context });
    const add = Object.fromEntries(coming.map(({ name, entry }) => [name, entry]));
    await saveOwnConfig(target, { add, replace: mayReplace });
  }
  if (context.form === "json") {
    const imported = coming.map(toRow);
    const left = wanted.filter((candidate) => !coming.includes(candidate)).map(toRow);
    context.printJson({ file: target, isDryRun, imported, left, files, notes });
  } else if (wanted.length === 0) context.info("No servers of other programs were found", "yellow");
  else if (coming.length === 0) context.info("There is nothing new to import");
  else if (isDryRun) context.info(`${count} would be written to ${target}. Nothing was changed`);
  else context.info(`Wrote ${count} to ${target}. Next: toolport doctor`, "green");
};

function choose(candidates: readonly ImportCandidate[], names: readonly string[]): ImportCandidate[] {
  for (const name of names) {
    if (candidates.some((candidate) => candidate.name === name)) continue;
    throw configurationError(
      "UNKNOWN_SERVER",
      `No other program has a server ${JSON.stringify(name)}`,
      "toolport import --dry-run",
    );
  }
  return names.length === 0 ? [...candidates] : candidates.filter(({ name }) => names.includes(name));
}

const STATES = { new: "new", same: "already present", taken: "name taken (--replace)" } as const;

/** Servers in the user's own file need no consent later. So ask here about those that start a program or come with a project. */
async function agree(
  coming: readonly ImportCandidate[],
  { target, next, context }: { target: string; next: string; context: CommandContext },
): Promise<void> {
  const asking = coming.filter(({ isForeign, entry }) => isForeign || describeEntry(entry).startsProcess);
  if (asking.length === 0 || context.agreesToAll) return;
  for (const { name, entry } of asking)
    context.info([`${name}:`, ...indented(describeEntry(entry).text).split("\n")]);
  if (await context.confirm(`Write ${plural(coming.length, "server")} to ${target}?`)) return;
  throw new CliError("Nothing was imported: you have not agreed to these servers", next, {
    code: "NOT_AGREED",
  });
}

function toRow({ name, kind, file, line, state, entry }: ImportCandidate) {
  return { name, program: kind, file, line, state, command: describeEntry(entry).command };
}

/** A server in the file of another program. */
type ImportCandidate = Awaited<ReturnType<typeof findImports>>["candidates"][number];

/** `"same"`: our file already contains this entry. `"taken"`: it contains another server with this name. */
type ImportState = keyof typeof STATES;

/**
 * Expands no variables. `files` are the files that were read, `notes` the warnings, and the issues of servers that are left out.
 *
 * @param from names of programs or paths of files; if empty, every program
 */
async function findImports(from: readonly string[], context: CommandContext, target: string) {
  const present = await entriesOf(target);
  const candidates = [];
  const names = new Set<string>();
  const files: string[] = [];
  const notes: string[] = [];
  for (const file of await filesOf(from, context)) {
    const config = await readConfig(file, context.surroundings);
    for (const read of config.found) {
      if (read.isRead) files.push(read.file);
      notes.push(...notesOn(read));
    }
    for (const server of effectiveServers(config).values()) {
      const { name, source } = server;
      const checked = checkWritten(server);
      notes.push(...notesOn(checked));
      if (checked.issues.length > 0 || source.kind === "toolport" || names.has(name)) continue;
      names.add(name);
      const { written: entry, line, kind } = source;
      // The entry of a project file may not be the user's own.
      const isForeign = source.scope === "project";
      candidates.push({ name, file, line, kind, entry, isForeign, state: stateOf(present[name], entry) });
    }
  }
  return { candidates, files, notes };
}

function stateOf(own: unknown, entry: object): ImportState {
  if (own === undefined) return "new";
  return isDeepStrictEqual(own, JSON.parse(JSON.stringify(entry))) ? "same" : "taken";
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
  const programs = listPrograms();
  const names = from.filter((word) => Object.hasOwn(programs, word));
  const paths = from.filter((word) => !Object.hasOwn(programs, word));
  for (const word of paths) if (!/[./\\]/.test(word)) throw unknownProgram(word);
  const dialects = from.length === 0 ? foreign : names.flatMap((name) => programs[name]!);
  const configs = dialects.length === 0 ? [] : await findConfigs({ ...context.surroundings, dialects });
  return [...paths.map((path) => resolve(context.cwd, path)), ...configs.map(({ file }) => file)];
}

function unknownProgram(word: string): CliError {
  const [close] = suggest(word, Object.keys(listPrograms()), 1);
  return new CliError(
    `Unknown program ${JSON.stringify(word)}${close === undefined ? `. Known: ${Object.keys(listPrograms()).join(", ")}` : `. Did you mean ${close}?`}`,
    `toolport import --from ${close ?? "claude"}`,
  );
}

/** Values of `--from`, with the dialects of each. A function, so that the row of the command does not load them. */
export const listPrograms = (): Readonly<Record<string, readonly DialectKind[]>> => ({
  claude: ["claude-code", "claude-desktop"],
  copilot: ["copilot-cli"],
  gemini: ["gemini-cli"],
  ...Object.fromEntries(
    DIALECT_KINDS.filter((kind) => !["toolport", "langchain", "generic"].includes(kind)).map((kind) => [
      kind,
      [kind],
    ]),
  ),
});

export const exportCommand: CommandSpec = {
  name: "export",
  summary: "Write servers in the format of another program",
  group: "servers",
  positionals: [{ ...SERVERS, summary: "Only these servers", optional: true }],
  options: {
    format: text("<program>", "The program to write for (toolport)", [
      "vscode",
      "claude",
      "cursor",
      "toolport",
    ]),
    out: text("<file>", "Write to this file"),
    "keep-secrets": flag("Include the values of headers and variables"),
  },
  examples: [["toolport export --format vscode --out .vscode/mcp.json", "secrets become inputs"]],
  load: async () => (await import("./import.js")).runExport,
};

/** Only the owner may read a file with secrets. */
const PRIVATE_MODE = 0o600;

export const runExport: RunCommand = async (context) => {
  const format = (context.text("format") ?? "toolport") as ExportDialect;
  const keepsSecrets = context.flag("keep-secrets");
  const servers = await chooseServers(context.words, context);
  const secrets = keepsSecrets ? "keep" : "variables";
  const { text, variables, warnings } = exportConfig(servers, format, { secrets });
  for (const warning of warnings) context.warn(warning);
  const out = context.text("out");
  const file = out === undefined ? undefined : resolve(context.cwd, out);
  if (file !== undefined) await write(file, text, { isPrivate: keepsSecrets, context });
  const names = Object.keys(servers);
  if (context.form === "json") {
    const config: unknown = JSON.parse(text);
    return context.printJson({ format, file: file ?? null, servers: names, config, variables, warnings });
  }
  if (file === undefined) context.print(text.trimEnd());
  else context.info(`Wrote ${plural(names.length, "server")} to ${file}`, "green");
  if (variables.length > 0) {
    const asks = format === "vscode" ? "VS Code will ask for" : "Set these variables";
    context.info(`Values of headers and variables were left out. ${asks}: ${variables.join(", ")}`, "yellow");
  }
};

/** The output contains expanded variables, so servers of project files need the user's consent. */
async function chooseServers(
  names: readonly string[],
  context: CommandContext,
): Promise<Record<string, ServerEntry>> {
  const written = await context.readServers();
  const all = [...written.servers.keys()];
  for (const name of names) if (!all.includes(name)) throw unknownServer(name, all, written);
  const { config, leftOut, consentError } = await context.loadServers(names.length === 0 ? all : names);
  if (consentError !== undefined && !context.isInteractive) throw consentError;
  const { mcpServers, issues } = config;
  for (const { file, line, path, message } of issues) context.warn(`${file}:${line}: ${path} ${message}`);
  for (const name of names) {
    const error = leftOut.get(name);
    if (error !== undefined) throw error;
    if (!Object.hasOwn(mcpServers, name)) throw unknownServer(name, all, config);
  }
  for (const [name, { message }] of leftOut) context.warn(`${name} is left out: ${message}`);
  const entries = Object.entries(mcpServers);
  if (entries.length > 0)
    return Object.fromEntries(
      entries.map(([name, entry]) => [name, withoutOwnFolder(entry, written.servers.get(name)!)]),
    );
  throw configurationError("NO_SERVERS", "There are no servers to export", "toolport add <name> <url>");
}

/**
 * Toolport starts a server of the user's own file in the folder of that file. Other programs need that folder only for arguments that are
 * relative paths, and some do not support one.
 */
function withoutOwnFolder(entry: ServerEntry, { raw, source }: WrittenServer): ServerEntry {
  const { cwd, ...rest } = entry as ServerEntry & { cwd?: string; args?: readonly string[] };
  const isOwn = source.kind === "toolport" && raw?.["cwd"] === undefined;
  if (!isOwn || cwd === undefined || cwd !== dirname(source.file)) return entry;
  const isNeeded = (arg: string) => /(?:^|=)\.{1,2}(?:[\\/]|$)/.test(arg) || existsSync(resolve(cwd, arg));
  return rest.args?.some(isNeeded) ? entry : rest;
}

async function write(
  file: string,
  text: string,
  { isPrivate, context }: { isPrivate: boolean; context: CommandContext },
): Promise<void> {
  const isThere = (await stat(file).catch(() => undefined)) !== undefined;
  if (isThere && !(await context.confirm(`${file} already exists. Replace it?`))) {
    throw new CliError(`${file} already exists and would be overwritten`, "toolport export … --yes", {
      code: "FILE_EXISTS",
    });
  }
  await writeFile(file, text, isPrivate ? { mode: PRIVATE_MODE } : {});
  // `writeFile` sets the mode of new files only.
  if (isPrivate && isThere) await chmod(file, PRIVATE_MODE);
}
