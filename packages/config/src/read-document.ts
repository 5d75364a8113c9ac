/** Reads a configuration file (a regular file of limited size with UTF-8 text, in JSON or TOML), and finds its dialect and the servers in it. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { extname } from "node:path";
import { ConfigError, type ConfigPath, isRecord } from "@toolport/base";
import { type ConfigDocument, parseJsonConfig, unreadable, valueAt } from "@toolport/base/json-config";
import type { Dialect, DialectKind, RawFields } from "./dialects/dialect.js";
import { DIALECT_KINDS, dialectOf, findClaudeProject } from "./dialects/dialects.js";

/** Larger than any realistic file, even if a program stores other settings in it. */
const MAX_CONFIG_BYTES = 8 * 1024 * 1024;

const tooLarge = (file: string): ConfigError =>
  unreadable(file, `it is larger than ${MAX_CONFIG_BYTES} bytes; move other content elsewhere`);

/** @throws ConfigError with code `UNREADABLE_CONFIG` */
async function readConfigText(file: string): Promise<string> {
  try {
    // Check before opening: opening a named pipe would wait for a writer.
    const info = await stat(file);
    if (!info.isFile()) throw unreadable(file, "it is not a file");
    if (info.size > MAX_CONFIG_BYTES) throw tooLarge(file);
    const chunks: Buffer[] = [];
    // One byte more than allowed, because the size from `stat` may be wrong.
    for await (const chunk of createReadStream(file, { end: MAX_CONFIG_BYTES })) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    if (bytes.length > MAX_CONFIG_BYTES) throw tooLarge(file);
    // Removes the byte order mark and rejects invalid UTF-8.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw unreadable(file, "there is no such file", { cause: error });
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") {
      throw unreadable(file, "it is not UTF-8 text; save it as UTF-8");
    }
    throw unreadable(file, `it could not be opened (${code ?? "unknown reason"})`, { cause: error });
  }
}

/** @throws ConfigError with code `UNREADABLE_CONFIG`, the file and, if known, the line */
export async function readDocument(file: string): Promise<ConfigDocument> {
  const text = await readConfigText(file);
  if (extname(file).toLowerCase() !== ".toml") return parseJsonConfig(file, text);
  // The TOML parser is loaded only if needed.
  const { parseTomlConfig } = await import("./parse-toml-config.js");
  return parseTomlConfig(file, text);
}

/** Keys that contain servers, the most reliable first. */
const CONTAINERS: readonly (readonly [ConfigPath, DialectKind])[] = [
  [["mcpServers"], "generic"],
  [["servers"], "vscode"],
  [["context_servers"], "zed"],
  [["mcp", "servers"], "vscode"],
  [["mcp"], "opencode"],
  [["mcp_servers"], "codex"],
];

/** Fields that only server entries have. */
const SERVER_FIELDS = ["command", "url", "image", "httpUrl", "serverUrl", "baseUrl", "base_url", "sseUrl"];

export const isServerEntry = (value: unknown): boolean =>
  isRecord(value) && SERVER_FIELDS.some((field) => Object.hasOwn(value, field));

const asRecord = (value: unknown): RawFields => (isRecord(value) ? value : {});

/** Detects the dialect of a file with an unknown name. */
export function detectDialect({ root }: ConfigDocument): Dialect {
  const fields = asRecord(root);
  const [container = [], kind = "generic" as const] =
    CONTAINERS.find(([path]) => isRecord(valueAt(root, path))) ?? [];
  if (kind !== "generic") return dialectOf(kind);
  const entries = Object.values(asRecord(valueAt(root, container))).map(asRecord);
  const has = (keys: readonly string[] = [], records: readonly RawFields[] = []) =>
    records.some((record) => keys.some((key) => Object.hasOwn(record, key)));
  const detected = DIALECT_KINDS.map(dialectOf).find(
    ({ rootMarkers, entryMarkers }) => has(rootMarkers, [fields]) || has(entryMarkers, entries),
  );
  return detected ?? dialectOf("generic");
}

/** An object in a file that contains servers. */
export interface ServerContainer {
  readonly path: ConfigPath;
  /** The object around it: the file, or its section about one project. */
  readonly around: RawFields;
}

/** All objects with servers, in order of precedence. */
export function findContainers(
  { root }: ConfigDocument,
  dialect: Dialect,
  options: { folders: readonly string[]; allowBareMap: boolean },
): ServerContainer[] {
  const around = asRecord(root);
  const found: ServerContainer[] = [];
  if (dialect.kind === "claude-code") {
    const project = findClaudeProject(root, options.folders);
    const path = ["projects", project ?? "", "mcpServers"];
    if (project !== undefined && valueAt(root, path) !== undefined) {
      found.push({ path, around: asRecord(valueAt(root, ["projects", project])) });
    }
  }
  // Users paste entries of other programs: accept the keys of all dialects.
  const others = dialect.isSettingsFile === true ? [] : CONTAINERS.map(([path]) => path);
  const paths = [...(dialect.containers ?? [["mcpServers"]]), ...others];
  const path = paths.find((candidate) => valueAt(root, candidate) !== undefined);
  if (path !== undefined) found.push({ path, around });
  else if (found.length === 0 && options.allowBareMap && isBareMap(around)) found.push({ path: [], around });
  return found;
}

/** True if the file is a map of servers without a key around it. */
function isBareMap(root: RawFields): boolean {
  const entries = Object.values(root);
  return entries.length > 0 && entries.every(isServerEntry);
}
