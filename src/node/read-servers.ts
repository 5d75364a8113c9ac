/** Reads the servers of one file: each is translated, expanded and checked on its own, so that a bad one costs only itself. */
import { type ConfigPath, formatPath } from "../config/config-issues.js";
import { isRecord } from "../config/entry-reader.js";
import { parseServerEntry } from "../config/parse-servers.js";
import type { ServerConfig } from "../config/server-config.js";
import type { ServerEntry } from "../config/server-entry.js";
import { ConfigError, type ConfigIssue } from "../errors/config-error.js";
import { suggest } from "../util/suggest.js";
import { addressWarnings } from "./address-warnings.js";
import { type ConfigDocument, valueAt } from "./config-document.js";
import { createInputs, type InputAnswers } from "./config-inputs.js";
import type { ConfigPlace, Surroundings } from "./config-locations.js";
import type { ConfigSource } from "./config-source.js";
import { findContainers, type ServerContainer } from "./detect-dialect.js";
import type { Dialect, DialectEntry } from "./dialects/dialect.js";
import { expandEntry } from "./expand-entry.js";
import type { Found } from "./expand-variables.js";
import { foldersFrom } from "./find-configs.js";
import { hideAll } from "./hide-values.js";
import { writtenEntry } from "./written-entry.js";

/** One server of a file. */
export interface ReadServer {
  readonly name: string;
  readonly source: ConfigSource;
  /** Absent if something is wrong with it. */
  readonly good?: { readonly entry: ServerEntry; readonly config: ServerConfig };
  /** Finds the line of something in its entry. */
  readonly locate: (path: ConfigPath) => { file: string; line: number };
}

export interface ReadServersOptions {
  readonly place: ConfigPlace;
  readonly surroundings: Surroundings;
  readonly inputs: InputAnswers | undefined;
  readonly extraKeys: readonly string[] | undefined;
  /** The caller named this very file. */
  readonly named: boolean;
}

export interface ReadServers {
  readonly servers: readonly ReadServer[];
  readonly issues: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];
}

const showPath = ([first = "", ...rest]: ConfigPath): string => formatPath(String(first), rest);

/** Everything that reading one file is about. */
class ServerReading {
  readonly issues: ConfigIssue[] = [];
  readonly warnings: ConfigIssue[] = [];
  readonly askInput: (id: string) => Promise<Found>;

  constructor(
    readonly document: ConfigDocument,
    readonly dialect: Dialect,
    readonly options: ReadServersOptions,
  ) {
    const declared = valueAt(document.root, ["inputs"]) ?? valueAt(document.root, ["mcp", "inputs"]);
    this.askInput = createInputs(document.file, declared, options.inputs);
  }

  note(path: ConfigPath, message: string, line = this.document.lineOf(path)): ConfigIssue {
    return { file: this.document.file, line, path: showPath(path), message };
  }
}

export async function readServers(
  document: ConfigDocument,
  dialect: Dialect,
  options: ReadServersOptions,
): Promise<ReadServers> {
  const reading = new ServerReading(document, dialect, options);
  const folders = foldersFrom(options.surroundings.cwd, options.surroundings.home);
  const containers = findContainers(document, dialect, { folders, allowBareMap: options.named });
  if (containers.length === 0) reportMissing(reading);
  const servers = new Map<string, ReadServer>();
  for (const container of containers) {
    for (const server of await readContainer(reading, container)) {
      if (!servers.has(server.name)) servers.set(server.name, server);
    }
  }
  const root = isRecord(document.root) ? document.root : {};
  for (const { path, message } of dialect.readRoot?.(root) ?? []) {
    reading.warnings.push(reading.note(path, message));
  }
  return { servers: [...servers.values()], issues: reading.issues, warnings: reading.warnings };
}

function reportMissing(reading: ServerReading): void {
  const { document, dialect, options } = reading;
  const [path = ["mcpServers"]] = dialect.containers;
  const [wanted = ""] = path.map(String);
  const [close] = isRecord(document.root) ? suggest(wanted, Object.keys(document.root), 1) : [];
  const hint = close === undefined ? "" : ` ("${close}" is something else)`;
  const note = reading.note(path, `is missing${hint}; it holds one entry per server`);
  if (dialect.isSettingsFile !== true) reading.issues.push(note);
  else if (options.named) reading.warnings.push(note);
}

async function readContainer(
  reading: ServerReading,
  { path, around }: ServerContainer,
): Promise<ReadServer[]> {
  const { document, dialect } = reading;
  const entries = valueAt(document.root, path);
  const twice = document.duplicates.filter(({ path: found }) => startsWith(found, path));
  for (const { path: found, line, firstLine } of document.duplicates) {
    if (path.length > 0 && found.length <= path.length && startsWith(path, found)) {
      reading.issues.push(reading.note(found, `is given twice (first on line ${firstLine})`, line));
    }
  }
  if (!isRecord(entries)) {
    reading.issues.push(reading.note(path, "must be an object with one entry per server name"));
    return [];
  }
  const servers: ReadServer[] = [];
  for (const [name, raw] of Object.entries(entries)) {
    if (path.length === 0 && name.startsWith("$")) continue;
    const doubled = twice
      .filter(({ path: found }) => found[path.length] === name)
      .map(({ path: found, line, firstLine }) =>
        reading.note(found, `is given twice (first on line ${firstLine})`, line),
      );
    const disabledBy = dialect.disabledBy?.(around, name);
    servers.push(await readServer(reading, { name, raw, path: [...path, name], doubled, disabledBy }));
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
  readonly disabledBy: string | undefined;
}

async function readServer(reading: ServerReading, place: ServerPlace): Promise<ReadServer> {
  const { document, dialect, options } = reading;
  const { name, raw, path } = place;
  const translated = dialect.readEntry(isRecord(raw) ? raw : {});
  if (place.disabledBy !== undefined) translated.entry["enabled"] = false;
  const inFile = (inner: ConfigPath): ConfigPath => [...path, ...translated.originOf(inner)];
  const locate = (inner: ConfigPath) => ({ file: document.file, line: document.lineOf(inFile(inner)) });
  const issues = [
    ...place.doubled,
    ...translated.problems.map((note) => reading.note([...path, ...note.path], note.message)),
  ];
  const warnings = translated.warnings.map((note) => reading.note([...path, ...note.path], note.message));
  const checked = isRecord(raw)
    ? await checkServer(reading, { name, translated, inFile, issues, warnings })
    : void issues.push(reading.note(path, "must be an object with the fields of a server"));
  // What is switched off may stay broken: nobody misses it.
  reading.warnings.push(...warnings);
  reading[translated.entry["enabled"] === false ? "warnings" : "issues"].push(...issues);
  hideAll(translated.extra);
  const source: ConfigSource = {
    file: document.file,
    line: document.lineOf(path),
    kind: dialect.kind,
    scope: options.place.scope,
    written: writtenEntry(translated, {
      baseDir: options.place.baseDir,
      bare: dialect.bareVariables === true,
    }),
    ...(Object.keys(translated.extra).length > 0 && { extra: translated.extra }),
  };
  return { name, source, locate, ...(checked !== undefined && issues.length === 0 && { good: checked }) };
}

interface CheckedPlace {
  readonly name: string;
  readonly translated: DialectEntry;
  readonly inFile: (path: ConfigPath) => ConfigPath;
  readonly issues: ConfigIssue[];
  readonly warnings: ConfigIssue[];
}

async function checkServer(
  reading: ServerReading,
  { name, translated, inFile, issues, warnings }: CheckedPlace,
): Promise<ReadServer["good"]> {
  const { dialect, options } = reading;
  const { place, surroundings } = options;
  const isOff = translated.entry["enabled"] === false;
  const told = new Set(issues.map(({ path }) => path));
  const entry = await expandEntry(translated, {
    ...surroundings,
    baseDir: place.baseDir,
    workspaceFolder: place.scope === "project" ? place.baseDir : surroundings.cwd,
    bare: dialect.bareVariables === true,
    // Nobody is asked on behalf of a server that is switched off.
    askInput: isOff ? async () => ({ value: "" }) : reading.askInput,
    report: (path, message) => {
      const note = reading.note(inFile(path), message);
      (isOff ? warnings : issues).push(note);
      told.add(note.path);
    },
    warn: (path, message) => warnings.push(reading.note(inFile(path), message)),
  });
  // A process of a project's file runs in the project, as it does with the program the file was written for.
  const isForeign = dialect.kind !== "toolport" && place.projectDir !== undefined;
  if (isForeign && typeof entry["command"] === "string") entry["cwd"] ??= place.projectDir;
  const checked = parseEntry(name, entry, {
    extraKeys: options.extraKeys,
    report: (path, message) => {
      const note = reading.note(inFile(path), message);
      // A text whose variable is missing is wrong in other ways, too; one complaint is enough.
      if (!told.has(note.path)) issues.push(note);
    },
  });
  for (const message of checked === undefined ? [] : addressWarnings(checked.config)) {
    warnings.push(reading.note(inFile(["url"]), message));
  }
  return checked;
}

function parseEntry(
  name: string,
  entry: Record<string, unknown>,
  options: { extraKeys: readonly string[] | undefined; report: (path: ConfigPath, message: string) => void },
): ReadServer["good"] {
  const paths: ConfigPath[] = [];
  const locate = (path: ConfigPath) => void paths.push(path.slice(1));
  try {
    const config = parseServerEntry(name, entry, { extraKeys: options.extraKeys, locate });
    return { entry: entry as unknown as ServerEntry, config };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const [index, { message }] of error.issues.entries()) options.report(paths[index] ?? [], message);
    return undefined;
  }
}
