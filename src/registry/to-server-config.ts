/** Turns what a registry says about a server into an entry for `mcpServers`, or says what is still needed for one. */
import { parseServerEntry } from "../config/parse-servers.js";
import type { DockerServerEntry, ServerEntry, StdioServerEntry } from "../config/server-entry.js";
import { ConfigError } from "../errors/config-error.js";
import { buildEntry } from "./build-entry.js";
import type { UnpackedMcpb } from "./bundle-command.js";
import { fieldOf, InvalidValue, isFields } from "./fields.js";
import { InputResolver, type InputValue, type RegistryInput } from "./input-resolver.js";
import { readServerJson } from "./read-server-json.js";
import { readRegistryServer } from "./registry-server.js";
import type { ServerJson } from "./server-json.js";
import { findSources, type ServerSource, type SourcePreference, toSource } from "./server-sources.js";
import { suggestServerName } from "./suggest-server-name.js";

/** Options of {@link toServerConfig}. */
export interface ToServerConfigOptions {
  /** Values of what the entry asks for, by name. @default none */
  inputs?: Readonly<Record<string, InputValue>>;
  /** Which way is taken where there are several. @default remotes, then packages in the order they are listed */
  prefer?: SourcePreference | readonly SourcePreference[];
  /** The unpacked file of an `mcpb` package. @default none */
  bundle?: UnpackedMcpb;
}

/** What came of a registry entry. */
export interface ServerConfigResult {
  /** Ready for `mcpServers` or `add()`; undefined while something is missing or wrong. */
  readonly entry: ServerEntry | undefined;
  /** A name for it. */
  readonly name: string;
  /** Why there is no entry. */
  readonly reason: string | undefined;
  /** What the user has to supply first. */
  readonly missing: readonly RegistryInput[];
  /** Everything the user may set, the missing included. */
  readonly inputs: readonly RegistryInput[];
  /** For whoever decides whether to use the server. The first is always the one about trust. */
  readonly warnings: readonly string[];
  /** Which of the ways it names is used. */
  readonly source: ServerSource | undefined;
  /** The other ways; see `prefer`. */
  readonly alternatives: readonly ServerSource[];
  /** A program that has to be started first: it listens where `entry` leads, and Toolport does not start it. */
  readonly start: StdioServerEntry | DockerServerEntry | undefined;
}

/** The warning of every registry entry. */
const TRUST_WARNING =
  "Discovering MCP servers and using them (especially running locally) may present serious security risks. " +
  "Before running a server found in a public registry, make sure you can trust it.";

/** Why an entry cannot be used, in words without any of its values. */
function problemOf(name: string, entry: ServerEntry): string | undefined {
  try {
    parseServerEntry(name, entry);
    return undefined;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return `the entry would not be valid: ${error.issues.map(({ path, message }) => `${path} ${message}`).join("; ")}`;
  }
}

/** An entry that was read: what it describes, what is to be said about it, and why it must not be used. */
interface Description {
  readonly server: ServerJson | undefined;
  readonly notes: readonly string[];
  readonly refusal: string | undefined;
}

function describe(value: unknown): Description {
  const problems: string[] = [];
  const isListed = isFields(value) && isFields(fieldOf(value, "server"));
  const found = isListed ? readRegistryServer(value) : readServerJson(value, problems);
  if (found instanceof InvalidValue) {
    return { server: undefined, notes: [], refusal: `The entry cannot be read: ${found.problem}` };
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
    refusal: isDeleted ? `The registry marks this version as deleted${said}` : undefined,
  };
}

/**
 * Makes an entry for `mcpServers` of a server found in a registry, or of the content of a `server.json`. Nothing is
 * downloaded or started, and no argument ever goes through a shell.
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
  const { server: found, notes, refusal } = describe(server);
  const warnings = [TRUST_WARNING, ...notes];
  const name = suggestServerName(found?.name ?? "");
  const none = (reason: string): ServerConfigResult => ({
    ...{ entry: undefined, name, reason, missing: [], inputs: [], warnings },
    ...{ source: undefined, alternatives: [], start: undefined },
  });
  if (found === undefined || refusal !== undefined) return none(refusal ?? "There is no entry");

  const wanted = typeof prefer === "string" ? [prefer] : prefer;
  const [chosen, ...others] = findSources(found, wanted, warnings);
  if (chosen === undefined) {
    const hint = found.websiteUrl === undefined ? "" : `; see ${found.websiteUrl}`;
    return none(`The entry names neither a package nor an address that can be used${hint}`);
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
    ...{ entry: usable?.entry, name, reason, missing, inputs: resolver.inputs },
    warnings: [...warnings, ...resolver.warnings],
    ...{ source: toSource(chosen), alternatives: others.map(toSource), start: usable?.start },
  };
}
