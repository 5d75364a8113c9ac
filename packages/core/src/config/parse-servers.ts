/** Turns the entries of `mcpServers` into checked, frozen configurations, or throws one error with every problem. */
import {
  ConfigIssues,
  EntryReader,
  isRecord,
  type Locate,
  orMeant,
  readTable,
  suggest,
} from "@toolport/base";
import { ENTRY_OPTIONS } from "./entry-options.js";
import { CONNECTION_TAP, freezeConfig, type ServerConfig, type TransportKind } from "./server-config.js";

const MAX_NAME_LENGTH = 128;

/** Names with a special meaning in JavaScript objects, which hold servers by name. */
const RESERVED_NAMES: readonly string[] = ["__proto__", "constructor", "prototype"];

export interface ParseServersOptions {
  /** The name of the map of servers in messages. @default "mcpServers" */
  path?: string | undefined;
  /** Finds the file and line of a path, for messages. Paths start at the map of servers. */
  locate?: Locate | undefined;
  /** Directory for a relative `cwd` and `./command`. @default they stay relative */
  baseDir?: string | undefined;
  /** Fields that the caller checks and uses itself. @default none */
  extraKeys?: readonly string[] | undefined;
}

function nameProblem(name: string): string | undefined {
  if (name.trim() === "") return "a server needs a name that is not empty";
  if (name.length > MAX_NAME_LENGTH) return `the name of a server has at most ${MAX_NAME_LENGTH} characters`;
  if (/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(name)) {
    return "the name of a server must not contain control characters";
  }
  if (RESERVED_NAMES.includes(name)) return "cannot be the name of a server; choose another one";
  return undefined;
}

/** The spellings of `transport` and `type` in known configuration files. */
const KIND_OF: Readonly<Record<string, TransportKind>> = {
  stdio: "stdio",
  local: "stdio",
  http: "http",
  "streamable-http": "http",
  streamableHttp: "http",
  streamable_http: "http",
  auto: "http",
  remote: "http",
  sse: "sse",
  ws: "websocket",
  websocket: "websocket",
  docker: "docker",
};

function readSpelling(reader: EntryReader, key: "transport" | "type"): TransportKind | undefined {
  const value = reader.raw(key);
  if (key === "transport" && typeof value === "function") return "custom";
  if (typeof value !== "string") {
    const made = key === "transport" ? ", or a function that makes a Transport" : "";
    return reader.report(key, `must be one of ${quoted(Object.keys(KIND_OF))}${made}`);
  }
  if (Object.hasOwn(KIND_OF, value)) return KIND_OF[value];
  const kinds = Object.keys(KIND_OF);
  return reader.report(key, `must be one of ${quoted(kinds)}${orMeant(value, kinds)}`);
}

const quoted = (words: readonly string[]): string => words.map((word) => `"${word}"`).join(", ");

function infer(reader: EntryReader): TransportKind | undefined {
  if (reader.has("image")) return "docker";
  if (reader.has("command")) return "stdio";
  const url = reader.raw("url") ?? reader.raw("base_url");
  const text = url instanceof URL ? url.href : url;
  if (url !== undefined) return typeof text === "string" && /^\s*wss?:/i.test(text) ? "websocket" : "http";
  return reader.has("sseUrl") ? "sse" : undefined;
}

function misspelled(reader: EntryReader): string {
  for (const key of reader.keys) {
    const [close] = suggest(key, ["command", "url", "image"], 1);
    if (close !== undefined) return `; did you mean "${close}" where it says "${key}"?`;
  }
  return "";
}

/** The kind of a server, or undefined after it reported a problem. */
function readServerKind(reader: EntryReader): TransportKind | undefined {
  const spelled = (["transport", "type"] as const).filter((key) => reader.has(key));
  const kinds = spelled.map((key) => readSpelling(reader, key));
  if (kinds.includes(undefined)) return undefined;
  const [kind, other] = kinds;
  if (other !== undefined && other !== kind) {
    return reader.report("type", 'contradicts "transport"; give only one of them');
  }
  if (kind !== undefined) return kind;
  const needs = '"command" (a local process), "url" (a remote server) or "image" (a container)';
  const inferred = infer(reader);
  if (inferred !== undefined) return inferred;
  const slip = misspelled(reader);
  return reader.report([], `does not say how to reach the server; it needs ${needs}${slip}`);
}

function readEntry(
  name: string,
  entry: unknown,
  { issues, ...options }: ParseServersOptions & { issues: ConfigIssues },
): ServerConfig | undefined {
  const problem = nameProblem(name);
  if (problem !== undefined) issues.add([name], problem);
  if (!isRecord(entry)) {
    issues.add([name], 'must be an object such as { "command": "npx" } or { "url": "https://…" }');
    return undefined;
  }
  return readConfig(name, new EntryReader(entry, [name], issues), options);
}

/** The configuration of one server. It may only be used if no problem was reported. */
function readConfig(
  name: string,
  reader: EntryReader,
  { extraKeys = [], baseDir }: ParseServersOptions,
): ServerConfig | undefined {
  const kind = readServerKind(reader);
  if (kind === undefined) return undefined;
  const table = ENTRY_OPTIONS[kind];
  reader.rejectUnknown([...Object.keys(table), ...extraKeys], (key) => explainMisplaced(kind, key));
  const settings = readTable<Omit<ServerConfig, "kind" | "name">>(table, reader, baseDir);
  return freezeConfig({ kind, name, tap: reader.raw(CONNECTION_TAP), ...settings } as ServerConfig);
}

/** The message for an option of another kind of server. */
function explainMisplaced(kind: TransportKind, key: string): string | undefined {
  const twin = { restart: "reconnect", reconnect: "restart" }[key];
  if (twin !== undefined) return `is not an option of a ${kind} server; use "${twin}"`;
  const owners = Object.entries(ENTRY_OPTIONS).filter(([, table]) => Object.hasOwn(table, key));
  if (owners.length === 0) return undefined;
  return `is not an option of a ${kind} server (only of ${owners.map(([owner]) => owner).join(", ")})`;
}

/** Reports fallbacks that do not exist now, not when a call first needs them. */
export function checkFallback(
  { name, fallback }: ServerConfig,
  known: readonly string[],
  issues: ConfigIssues,
): void {
  for (const server of fallback?.servers ?? []) {
    if (server === name) issues.add([name, "fallback"], "names the server itself");
    else if (!known.includes(server))
      issues.add(
        [name, "fallback"],
        `names "${server}", which is not among the servers${orMeant(server, known)}`,
      );
  }
}

/**
 * Checks a map of server entries. The input is never changed.
 *
 * @throws ConfigError with code `INVALID_CONFIG` and one issue per problem, for all servers together.
 * @example
 * ```ts
 * parseServers({ files: { command: "npx", args: ["-y", "server-filesystem"] } }).get("files")?.kind; // "stdio"
 * ```
 */
export function parseServers(servers: unknown, options: ParseServersOptions = {}): Map<string, ServerConfig> {
  const issues = new ConfigIssues(options.path ?? "mcpServers", options.locate);
  const configs = new Map<string, ServerConfig>();
  if (!isRecord(servers)) issues.add([], "must be an object with one entry per server name");
  else {
    for (const [name, entry] of Object.entries(servers)) {
      const config = readEntry(name, entry, { ...options, issues });
      if (config !== undefined) configs.set(name, config);
    }
    for (const config of configs.values()) checkFallback(config, Object.keys(servers), issues);
  }
  issues.throwIfAny();
  return configs;
}

/**
 * Checks one server entry, as {@link parseServers} does.
 *
 * @throws ConfigError with code `INVALID_CONFIG` and one issue per problem.
 */
export function parseServerEntry(
  name: string,
  entry: unknown,
  options: ParseServersOptions = {},
): ServerConfig {
  const issues = new ConfigIssues(options.path ?? "mcpServers", options.locate);
  const config = readEntry(name, entry, { ...options, issues });
  issues.throwIfAny();
  return config!;
}
