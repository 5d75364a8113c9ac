/** Reads the servers of one file without expanding them. `expand-server.ts` does that after consent. */

import { readFile, stat } from "node:fs/promises";
import {
  type ConfigIssue,
  type ConfigPath,
  formatPath,
  isRecord,
  resolveCommand,
  resolvePath,
  suggest,
} from "@toolport/base";
import { type ConfigDocument, valueAt } from "@toolport/base/json-config";
import {
  type ConfigPlace,
  type ConfigSource,
  type ConfigSurroundings,
  foldersFrom,
  type Surroundings,
  surroundingsOf,
} from "./config-locations.js";
import { type Dialect, type DialectEntry, type DialectKind, readEntry } from "./dialects/dialect.js";
import { dialectOf } from "./dialects/dialects.js";
import { hideAll, hideValues, textsIn } from "./expand-entry.js";
import {
  createInputs,
  hasVariables,
  type InputAnswers,
  referencesIn,
  type VariableValue,
  withBraces,
} from "./expand-variables.js";
import { detectDialect, findContainers, type ServerContainer } from "./read-document.js";

/** An unexpanded server of a file. */
export interface WrittenServer {
  readonly name: string;
  readonly source: ConfigSource;
  /** The entry of the file; undefined if it is not an object. */
  readonly raw: Readonly<Record<string, unknown>> | undefined;
  /** The entry in Toolport's format, with unexpanded variables. */
  readonly translated: DialectEntry;
  /** The file's declarations of the inputs that the entry uses, including their defaults. */
  readonly inputs: readonly unknown[];
  /** Issues and warnings that show without expanding the entry. */
  readonly issues: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];
  /** False if the file disables the server. */
  readonly isEnabled: boolean;
  /** Finds the line of a path in the entry. */
  readonly locate: (path: ConfigPath) => { file: string; line: number };
  /** Creates an issue at a path in the entry. */
  readonly note: (path: ConfigPath, message: string) => ConfigIssue;
  readonly dialect: Dialect;
  readonly options: ReadServersOptions;
  readonly askInput: (id: string) => Promise<VariableValue>;
  /** Reads a file that the entry refers to. Each file is read once. */
  readonly readFile: (path: string) => Promise<VariableValue>;
}

export interface ReadServersOptions {
  readonly place: ConfigPlace;
  readonly surroundings: Surroundings;
  readonly inputs: InputAnswers | undefined;
  readonly extraKeys: readonly string[] | undefined;
  /** The caller passed the path of this file. */
  readonly named: boolean;
}

export interface ReadServers {
  readonly servers: readonly WrittenServer[];
  /** Issues of the file itself. Issues of a server are in its `issues`. */
  readonly issues: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];
}

/** The state of reading one file. */
function startReading(document: ConfigDocument, dialect: Dialect, options: ReadServersOptions) {
  const declared = valueAt(document.root, ["inputs"]) ?? valueAt(document.root, ["mcp", "inputs"]);
  return {
    document,
    dialect,
    options,
    issues: [] as ConfigIssue[],
    warnings: [] as ConfigIssue[],
    inputs: Array.isArray(declared) ? (declared as readonly unknown[]) : [],
    askInput: createInputs(document.file, declared, options.inputs),
    note: (path: ConfigPath, message: string, line = document.lineOf(path)): ConfigIssue => {
      const [first = "", ...rest] = path;
      return { file: document.file, line, path: formatPath(String(first), rest), message };
    },
  };
}

type ServerReading = ReturnType<typeof startReading>;

export function readServers(
  document: ConfigDocument,
  dialect: Dialect,
  options: ReadServersOptions,
): ReadServers {
  const reading = startReading(document, dialect, options);
  const folders = foldersFrom(options.surroundings.cwd, options.surroundings.home);
  const containers = findContainers(document, dialect, { folders, allowBareMap: options.named });
  if (containers.length === 0) reportMissing(reading);
  const servers = new Map<string, WrittenServer>();
  for (const container of containers) {
    for (const server of readContainer(reading, container))
      if (!servers.has(server.name)) servers.set(server.name, server);
  }
  const root = isRecord(document.root) ? document.root : {};
  for (const { path, message } of dialect.readRoot?.(root) ?? []) {
    reading.warnings.push(reading.note(path, message));
  }
  return { servers: [...servers.values()], issues: reading.issues, warnings: reading.warnings };
}

/** Reads servers that the user gave in place of a file. They belong to the user. @param kind detected by default */
export function readGiven(
  document: ConfigDocument,
  surroundings: ConfigSurroundings,
  kind?: DialectKind,
): ReadServers {
  const { cwd, ...rest } = surroundingsOf(surroundings);
  return readServers(document, kind === undefined ? detectDialect(document) : dialectOf(kind), {
    place: { kind, scope: "user", baseDir: cwd, projectDir: undefined },
    surroundings: { cwd, ...rest },
    inputs: undefined,
    extraKeys: undefined,
    named: true,
  });
}

function reportMissing(reading: ServerReading): void {
  const { document, dialect, options } = reading;
  const [path = ["mcpServers"]] = dialect.containers ?? [];
  const [wanted = ""] = path.map(String);
  const [close] = isRecord(document.root) ? suggest(wanted, Object.keys(document.root), 1) : [];
  const hint = close === undefined ? "" : ` (did you mean it instead of "${close}"?)`;
  const note = reading.note(path, `is missing${hint}; it must contain one entry per server`);
  if (dialect.isSettingsFile !== true) reading.issues.push(note);
  else if (options.named) reading.warnings.push(note);
}

function readContainer(reading: ServerReading, { path, around }: ServerContainer): WrittenServer[] {
  const { document, dialect } = reading;
  const entries = valueAt(document.root, path);
  const doubled = document.duplicates.map(({ path: found, line, firstLine }) => ({
    path: found,
    issue: reading.note(found, `is given twice (first on line ${firstLine})`, line),
  }));
  for (const { path: found, issue } of doubled)
    if (path.length > 0 && found.length <= path.length && startsWith(path, found)) reading.issues.push(issue);
  if (!isRecord(entries)) {
    reading.issues.push(reading.note(path, "must be an object with one entry per server name"));
    return [];
  }
  const servers: WrittenServer[] = [];
  for (const [name, raw] of Object.entries(entries)) {
    if (path.length === 0 && name.startsWith("$")) continue;
    const isDisabled = dialect.disabledBy?.(around, name) !== undefined;
    const place = { name, raw, path: [...path, name], isDisabled };
    const own = doubled.filter(({ path: found }) => startsWith(found, place.path));
    servers.push(readServer(reading, { ...place, doubled: own.map(({ issue }) => issue) }));
  }
  return servers;
}

const startsWith = (path: ConfigPath, beginning: ConfigPath): boolean =>
  path.length >= beginning.length && beginning.every((step, index) => path[index] === step);

interface ServerPlace {
  readonly name: string;
  readonly raw: unknown;
  readonly path: ConfigPath;
  readonly doubled: readonly ConfigIssue[];
  readonly isDisabled: boolean;
}

function readServer(reading: ServerReading, place: ServerPlace): WrittenServer {
  const { document, dialect, options, askInput } = reading;
  const { name, raw, path } = place;
  const translated = readEntry(dialect, isRecord(raw) ? raw : {});
  if (place.isDisabled) translated.entry["enabled"] = false;
  const inFile = (inner: ConfigPath): ConfigPath => [...path, ...translated.originOf(inner)];
  const issues = [
    ...place.doubled,
    ...translated.problems.map((note) => reading.note([...path, ...note.path], note.message)),
  ];
  if (!isRecord(raw)) issues.push(reading.note(path, "must be an object with the fields of a server"));
  const { extra } = translated;
  hideAll(extra);
  const bare = dialect.bareVariables === true;
  const source: ConfigSource = {
    file: document.file,
    line: document.lineOf(path),
    kind: dialect.kind,
    scope: options.place.scope,
    written: writtenEntry(translated, { baseDir: options.place.baseDir, bare }),
    ...(Object.keys(extra).length > 0 && { extra }),
  };
  return {
    name,
    source,
    translated,
    issues,
    dialect,
    options,
    askInput,
    raw: isRecord(raw) ? raw : undefined,
    inputs: inputsOf(translated, { declared: reading.inputs, bare }),
    warnings: translated.warnings.map((note) => reading.note([...path, ...note.path], note.message)),
    isEnabled: translated.entry["enabled"] !== false,
    locate: (inner) => ({ file: document.file, line: document.lineOf(inFile(inner)) }),
    note: (inner, message) => reading.note(inFile(inner), message),
    readFile: createFileReader(),
  };
}

function inputsOf(
  { entry, envFile }: DialectEntry,
  { declared, bare }: { declared: readonly unknown[]; bare: boolean },
): unknown[] {
  const asked = textsIn([entry, envFile])
    .flatMap((text) => referencesIn(text, { bare }))
    .flatMap((reference) => (reference.kind === "input" ? [reference.id] : []));
  return declared.filter((input) => isRecord(input) && asked.includes(input["id"] as string));
}

/** Maximum size of a file with a secret or a list of variables. */
const MAX_FILE_BYTES = 256 * 1024;

/** Returns a cached reader, so that the content used is the content the user consented to. */
export function createFileReader(): (path: string) => Promise<VariableValue> {
  const known = new Map<string, Promise<VariableValue>>();
  return (path) => {
    const content = known.get(path) ?? readSmallFile(path);
    known.set(path, content);
    return content;
  };
}

async function readSmallFile(path: string): Promise<VariableValue> {
  try {
    const found = await stat(path);
    if (!found.isFile()) return { problem: "does not refer to a file" };
    if (found.size > MAX_FILE_BYTES)
      return { problem: `refers to a file of more than ${MAX_FILE_BYTES} bytes` };
    return { value: (await readFile(path, "utf8")).replace(/^\uFEFF/, "") };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === "ENOENT" ? "does not exist" : `cannot be read (${code ?? "unknown reason"})`;
    return { problem: `refers to a file that ${reason}; correct the path` };
  }
}

/** An entry for a `toolport.json`: translated, with unexpanded variables. Paths become absolute, because the copy is in another directory. */
function writtenEntry(
  { entry, envFile, passedVariables }: DialectEntry,
  { baseDir, bare }: { baseDir: string; bare: boolean },
): Record<string, unknown> {
  const written = (bare ? mapTexts(entry, withBraces) : structuredClone(entry)) as Record<string, unknown>;
  const { command, cwd, env } = written;
  const isPlain = (path: string) => !hasVariables(path) && !path.startsWith("~");
  if (typeof command === "string") written["command"] = resolveCommand(baseDir, command);
  if (typeof cwd === "string" && isPlain(cwd)) written["cwd"] = resolvePath(baseDir, cwd);
  if (envFile !== undefined) written["envFile"] = isPlain(envFile) ? resolvePath(baseDir, envFile) : envFile;
  if (passedVariables.length > 0 && (env === undefined || isRecord(env))) {
    const passed = passedVariables.map((name) => [name, `\${${name}:-}`]);
    written["env"] = { ...Object.fromEntries(passed), ...env };
  }
  hideValues(written);
  return written;
}

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, map));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, mapTexts(field, map)]));
}
