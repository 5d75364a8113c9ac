/** Turns what users write in `mcpServers` into checked, frozen configurations, or says everything that is wrong. */
import { suggest } from "../util/suggest.js";
import { ConfigIssues, type Locate } from "./config-issues.js";
import { EntryReader, isRecord } from "./entry-reader.js";
import { readConfig } from "./read-config.js";
import type { ServerConfig } from "./server-config.js";

const MAX_NAME_LENGTH = 128;

/** Names that mean something else to JavaScript's objects, in which servers are kept by name. */
const RESERVED_NAMES: readonly string[] = ["__proto__", "constructor", "prototype"];

export interface ParseServersOptions {
  /** What the map of servers is called in messages. @default "mcpServers" */
  path?: string | undefined;
  /** Finds the file and line of a path (seen from the map of servers), for messages. */
  locate?: Locate | undefined;
  /** Relative `cwd` and `./command` are seen from here. @default they stay relative */
  baseDir?: string | undefined;
  /** Fields that somebody else checks and uses. @default none */
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

/** A fallback that does not exist would only be noticed on the day it is needed. */
export function checkFallback(
  { name, fallback }: ServerConfig,
  known: readonly string[],
  issues: ConfigIssues,
): void {
  for (const server of fallback?.servers ?? []) {
    if (server === name) issues.add([name, "fallback"], "names the server itself");
    else if (!known.includes(server)) {
      const [close] = suggest(server, known, 1);
      const hint = close === undefined ? "" : `; did you mean "${close}"?`;
      issues.add([name, "fallback"], `names "${server}", which is not among the servers${hint}`);
    }
  }
}

/**
 * Checks a map of server entries. The input is never changed.
 *
 * @throws ConfigError with code `INVALID_CONFIG` and one issue per problem, of all servers together.
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
