/** Converts a registry entry to an entry for `mcpServers`, or reports which inputs are missing. */
import { parseServerEntry } from "../config/parse-servers.js";
import type { DockerServerEntry, ServerEntry, StdioServerEntry } from "../config/server-entry.js";
import { ConfigError } from "../errors/toolport-error.js";
import { isRecord } from "../util/json.js";
import {
  buildEntry,
  findSources,
  type ServerSource,
  type SourcePreference,
  toSource,
} from "./build-entry.js";
import type { UnpackedMcpb } from "./bundle-command.js";
import { fieldOf, InvalidValue } from "./fields.js";
import { InputResolver, type InputValue, type RegistryInput } from "./input-resolver.js";
import { readRegistryServer } from "./registry-server.js";
import { readServerJson } from "./server-json.js";

/** Options of {@link toServerConfig}. */
export interface ToServerConfigOptions {
  /** Values of the inputs, by name. @default none */
  inputs?: Readonly<Record<string, InputValue>>;
  /** Which remote or package to use if there are several. @default remotes, then packages in the order of the entry */
  prefer?: SourcePreference | readonly SourcePreference[];
  /** The unpacked file of an `mcpb` package. @default none */
  bundle?: UnpackedMcpb;
}

/** The result of {@link toServerConfig}. */
export interface ServerConfigResult {
  /** An entry for `mcpServers` or `add()`; undefined if inputs are missing or invalid. */
  readonly entry: ServerEntry | undefined;
  /** A suggested name. */
  readonly name: string;
  /** Why there is no entry. */
  readonly reason: string | undefined;
  /** Inputs that the user must set first. */
  readonly missing: readonly RegistryInput[];
  /** All inputs that the user can set, including missing ones. */
  readonly inputs: readonly RegistryInput[];
  /** Warnings for the user who decides whether to use the server. The first is always about trust. */
  readonly warnings: readonly string[];
  /** The remote or package that is used. */
  readonly source: ServerSource | undefined;
  /** The other remotes and packages; see `prefer`. */
  readonly alternatives: readonly ServerSource[];
  /** A program that the user must start first, because Toolport does not: it listens at the URL of `entry`. */
  readonly start: StdioServerEntry | DockerServerEntry | undefined;
}

/** The warning of every registry entry. */
const TRUST_WARNING =
  "Discovering MCP servers and using them (especially running locally) may present serious security risks. " +
  "Before running a server found in a public registry, make sure you can trust it.";

/** Why an entry is invalid, without quoting its values. */
function problemOf(name: string, entry: ServerEntry): string | undefined {
  try {
    parseServerEntry(name, entry);
    return undefined;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return `the entry would not be valid: ${error.issues.map(({ path, message }) => `${path} ${message}`).join("; ")}`;
  }
}

/** A validated registry entry, with notes for the user. `blockedBy`: why the entry must not be used. */
function describe(value: unknown) {
  const problems: string[] = [];
  const isListed = isRecord(value) && isRecord(fieldOf(value, "server"));
  const found = isListed ? readRegistryServer(value) : readServerJson(value, problems);
  if (found instanceof InvalidValue) {
    return { server: undefined, notes: [], blockedBy: `The entry cannot be read: ${found.problem}` };
  }
  const { server, official } = "server" in found ? found : { server: found, official: undefined };
  const left = "server" in found ? found.problems : problems;
  const notes = left.map((problem) => `A part of the entry was left out: ${problem}`);
  const said = official?.statusMessage === undefined ? "" : `: ${official.statusMessage}`;
  if (official?.status === "deprecated") notes.push(`The registry marks this version as deprecated${said}`);
  const isDeleted = official?.status === "deleted";
  return {
    server,
    notes,
    blockedBy: isDeleted ? `The registry marks this version as deleted${said}` : undefined,
  };
}

/**
 * Converts a server of a registry, or the content of a `server.json`, to an entry for `mcpServers`. Downloads and starts
 * nothing. No argument is ever interpreted by a shell.
 *
 * @example
 * ```ts
 * const { entry, name, missing, warnings } = toServerConfig(await registry.getServer("io.github.user/weather"), {
 *   inputs: { WEATHER_API_KEY: key },
 * });
 * if (entry !== undefined) await toolport.add(name, entry);
 * ```
 */
export function toServerConfig(server: unknown, options: ToServerConfigOptions = {}): ServerConfigResult {
  const { inputs = {}, prefer = [], bundle } = options;
  const { server: found, notes, blockedBy } = describe(server);
  const warnings = [TRUST_WARNING, ...notes];
  const name = suggestServerName(found?.name ?? "");
  const none = (reason: string): ServerConfigResult => ({
    entry: undefined,
    name,
    reason,
    missing: [],
    inputs: [],
    warnings,
    source: undefined,
    alternatives: [],
    start: undefined,
  });
  if (found === undefined || blockedBy !== undefined) return none(blockedBy ?? "There is no entry");

  const wanted = typeof prefer === "string" ? [prefer] : prefer;
  const [chosen, ...others] = findSources(found, wanted, warnings);
  if (chosen === undefined) {
    const hint = found.websiteUrl === undefined ? "" : `; see ${found.websiteUrl}`;
    return none(`The entry has no usable package or remote${hint}`);
  }

  const resolver = new InputResolver(inputs);
  const built = buildEntry(chosen, resolver, bundle);
  resolver.reportUnused();
  const { missing } = resolver;
  const reason =
    built instanceof InvalidValue
      ? `${chosen.identifier} cannot be used: ${built.problem}`
      : missing.length > 0
        ? `It needs ${missing.map((input) => input.name).join(", ")}`
        : problemOf(name, built.entry);
  const usable = built instanceof InvalidValue || reason !== undefined ? undefined : built;
  return {
    entry: usable?.entry,
    name,
    reason,
    missing,
    inputs: resolver.inputs,
    warnings: [...warnings, ...resolver.warnings],
    source: toSource(chosen),
    alternatives: others.map(toSource),
    start: usable?.start,
  };
}

/** Names that are too common. */
const GENERIC: ReadonlySet<string> = new Set(["mcp", "server", "mcp-server", "mcp_server", "mcpserver"]);
const MAX_LENGTH = 40;
/** Names that are not allowed. */
const RESERVED: ReadonlySet<string> = new Set(["", "__proto__", "constructor", "prototype"]);

/**
 * Returns the part after the slash, or the publisher's name if that part is too generic.
 *
 * @example
 * ```ts
 * suggestServerName("io.github.user/weather"); // "weather"
 * suggestServerName("io.figma/mcp-server"); // "figma"
 * ```
 */
export function suggestServerName(name: string): string {
  const slash = name.lastIndexOf("/");
  const own = name.slice(slash + 1);
  const publisher = slash < 0 ? "" : (name.slice(0, slash).split(".").at(-1) ?? "");
  const chosen = GENERIC.has(own.toLowerCase()) && publisher !== "" ? publisher : own;
  const clean = chosen
    .replace(/[^a-zA-Z0-9_-]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, MAX_LENGTH);
  return RESERVED.has(clean) ? "server" : clean;
}
