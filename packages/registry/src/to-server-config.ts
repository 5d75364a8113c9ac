/** Converts a registry entry to an entry for `mcpServers`, or reports which inputs are missing. */

import { ConfigError, canParseUrl, isRecord } from "@toolport/base";
import type { DockerServerEntry, HttpServerEntry, ServerEntry, StdioServerEntry } from "@toolport/core";
import { parseServerEntry } from "@toolport/core/internal";
import { canonicalHost, isLiteralAddress, isLocalName, isLoopbackHost } from "@toolport/http";
import { type InputPlace, InputResolver, type InputValue, type RegistryInput } from "./input-resolver.js";
import {
  fieldOf,
  InvalidValue,
  type KeyValueInput,
  readRegistryServer,
  readServerJson,
  type ServerArgument,
  type ServerInput,
  type ServerJson,
  type ServerPackage,
  type ServerRemote,
  unlessInvalid,
} from "./server-json.js";
import { toBundleEntry, toStartEntry, type UnpackedMcpb, unsupportedReason } from "./start-command.js";

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
  const found = unlessInvalid(() => (isListed ? readRegistryServer(value) : readServerJson(value, problems)));
  if (found instanceof InvalidValue) {
    return { server: undefined, notes: [], blockedBy: `The entry cannot be read: ${found.message}` };
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
  const built = unlessInvalid(() => buildEntry(chosen, resolver, bundle));
  resolver.reportUnused();
  const { missing } = resolver;
  const reason =
    built instanceof InvalidValue
      ? `${chosen.identifier} cannot be used: ${built.message}`
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

type ProcessEntry = StdioServerEntry | DockerServerEntry;

/** A built entry; usable only if the resolver reports no missing inputs. */
interface BuiltEntry {
  readonly entry: ProcessEntry | HttpServerEntry;
  /** A program that must be started before `entry` can be used. */
  readonly start: ProcessEntry | undefined;
}

/** Environment variables or headers. */
function readValues(
  inputs: readonly KeyValueInput[],
  where: "environment" | "header",
  resolver: InputResolver,
): Record<string, string> {
  const values: Record<string, string> = {};
  for (const input of inputs) {
    const [value] =
      resolver.resolve(input.name, input, { where, isRequired: input.isRequired ?? false }) ?? [];
    if (value !== undefined) values[input.name] = value;
  }
  return values;
}

function buildPackage(
  found: ServerPackage,
  resolver: InputResolver,
  bundle: UnpackedMcpb | undefined,
): BuiltEntry {
  const runtime = renderArguments(found.runtimeArguments, resolver, "runtimeArgument");
  const own = renderArguments(found.packageArguments, resolver, "argument");
  const env = readValues(found.environmentVariables, "environment", resolver);
  const resolved = {
    package: found,
    runtimeArgs: runtime.args,
    packageArgs: own.args,
    env,
    warnings: resolver.warnings,
  };
  const start =
    found.registryType === "mcpb" ? toBundleEntry(resolved, bundle, resolver) : toStartEntry(resolved);
  warnOfCommand(start, resolver);
  const { transport } = found;
  if (transport.type === "stdio") return { entry: start, start: undefined };
  resolver.warnings.push("The server listens on a port: start the program in `start` before you connect");
  const known = new Map([...runtime.values, ...own.values, ...Object.entries(env)]);
  return { entry: toRemoteEntry(transport, resolver, known), start };
}

function warnOfCommand(entry: ProcessEntry, resolver: InputResolver): void {
  const args = [...(entry.args ?? []), ...("runArgs" in entry ? (entry.runArgs ?? []) : [])];
  if (args.some((arg) => resolver.containsSecret(arg))) {
    resolver.warnings.push("The command line contains a secret, which other users of this machine can read");
  }
}

function warnOfAddress({ url }: HttpServerEntry, resolver: InputResolver): void {
  const text = String(url);
  if (!canParseUrl(text)) return;
  const address = new URL(text);
  const host = canonicalHost(address);
  if (isLocalName(host)) resolver.warnings.push(`The server's URL is inside your own network: ${host}`);
  else if (isLiteralAddress(host))
    resolver.warnings.push(
      `The server's URL is an IP address, which may be inside your own network: ${host}`,
    );
  if (address.protocol === "http:" && !isLoopbackHost(host))
    resolver.warnings.push("The connection to the server is not encrypted (http:)");
  if (resolver.containsSecret(text)) resolver.warnings.push("The server's URL contains a secret");
}

/**
 * Builds the entry of a candidate.
 *
 * @throws InvalidValue if that is impossible
 */
function buildEntry(
  candidate: Candidate,
  resolver: InputResolver,
  bundle: UnpackedMcpb | undefined,
): BuiltEntry {
  if ("package" in candidate) return buildPackage(candidate.package, resolver, bundle);
  const entry = toRemoteEntry(candidate.remote, resolver);
  warnOfAddress(entry, resolver);
  return { entry, start: undefined };
}

/**
 * A value at the start of the template may be a whole URL. Elsewhere it is encoded, because a slash or an `@` could change
 * the host. Colons stay, for ports.
 */
const encodeAt = (text: string, at: number): string =>
  at === 0 ? text.replace(/\/+$/, "") : encodeURIComponent(text).replaceAll("%3A", ":");

/**
 * Builds the entry of a remote; usable only if the resolver reports no missing inputs.
 *
 * @param known arguments and variables of a package that its URL may refer to
 */
function toRemoteEntry(
  remote: ServerRemote,
  resolver: InputResolver,
  known: ReadonlyMap<string, string> = new Map(),
): HttpServerEntry {
  const fixed: Record<string, ServerInput> = Object.fromEntries(
    [...known].map(([name, value]) => [name, { value }]),
  );
  const variables = { ...fixed, ...remote.variables };
  // Every variable of a URL is required, because no part of a URL can be left out.
  const required = Object.fromEntries(
    Object.entries(variables).map(([name, input]) => [name, { ...input, isRequired: true }]),
  );
  const [url = remote.url] =
    resolver.fill(remote.url, required, { where: "url", isRequired: true, encode: encodeAt }) ?? [];
  const inputs = remote.headers.map((header) => ({
    ...header,
    variables: { ...variables, ...header.variables },
  }));
  const headers = readValues(inputs, "header", resolver);
  return { transport: remote.type, url, ...(Object.keys(headers).length > 0 ? { headers } : {}) };
}

/** `--flag value`, or `--flag=value` if the value looks like an option. */
const named = (name: string, value: string): string[] => {
  if (value === "") return [name];
  return value.startsWith("-") && name.startsWith("--") ? [`${name}=${value}`] : [name, value];
};

/** The flag without a value if the user passed `true`; nothing for `false`. Undefined for other values. */
function bareFlag(argument: ServerArgument, resolver: InputResolver): string[] | undefined {
  const { type, name = "", value, format } = argument;
  if (type !== "named" || value !== undefined || format === "boolean") return undefined;
  const given = resolver.given(name);
  if (typeof given !== "boolean") return undefined;
  // Register the input as known; its value is not used here.
  resolver.valuesOf(
    name,
    { ...argument, choices: undefined, format: "string" },
    { where: "argument", isRequired: false },
  );
  return given ? [name] : [];
}

/**
 * The arguments, and their values by name for the URL of a package that listens on a port. Leaves out optional arguments without
 * a value. The resolver records missing required ones.
 */
function renderArguments(list: readonly ServerArgument[], resolver: InputResolver, where: InputPlace) {
  const args: string[] = [];
  const values = new Map<string, string>();
  for (const [index, argument] of list.entries()) {
    const { type, isRequired = false, isRepeated } = argument;
    const name = (type === "named" ? argument.name : argument.valueHint) ?? `argument${index + 1}`;
    const flag = bareFlag(argument, resolver);
    if (flag !== undefined) {
      args.push(...flag);
      continue;
    }
    const isBare = type === "positional";
    const texts = resolver.resolve(name, argument, { where, isRequired, isRepeated, isBare }) ?? [];
    for (const text of texts) args.push(...(type === "named" ? named(name, text) : [text]));
    if (texts[0] !== undefined) values.set(name, texts[0]);
  }
  return { args, values };
}

/** A kind of package, a kind of remote, or all of either. */
export type SourcePreference =
  | "remote"
  | "streamable-http"
  | "sse"
  | "package"
  | "npm"
  | "pypi"
  | "oci"
  | "nuget"
  | "mcpb";

/** A remote or package of a server. */
export interface ServerSource {
  readonly kind: "remote" | "package";
  /** `streamable-http`, `sse`, or the kind of package. */
  readonly type: string;
  /** The published URL, or the name of the package. */
  readonly identifier: string;
  readonly version: string | undefined;
}

type Candidate = ServerSource & ({ readonly remote: ServerRemote } | { readonly package: ServerPackage });

/** Remotes first, because they run no code on this machine. */
const USUAL: readonly string[] = ["streamable-http", "sse", "package"];

const fits = ({ kind, type }: ServerSource, wanted: string): boolean => wanted === kind || wanted === type;

function rank(source: ServerSource, order: readonly string[]): number {
  const at = order.findIndex((wanted) => fits(source, wanted));
  return at < 0 ? order.length : at;
}

/** The public fields of a candidate. */
const toSource = ({ kind, type, identifier, version }: ServerSource): ServerSource => ({
  kind,
  type,
  identifier,
  version,
});

/** All usable sources, sorted. Adds a warning for each unusable one. */
function findSources(
  { remotes, packages }: ServerJson,
  preferred: readonly SourcePreference[],
  warnings: string[],
): Candidate[] {
  const all: Candidate[] = [
    ...remotes.map((remote) => ({
      ...({ kind: "remote", type: remote.type, identifier: remote.url, version: undefined } as const),
      remote,
    })),
    ...packages.map((found) => ({
      ...({ kind: "package", type: found.registryType, identifier: found.identifier } as const),
      version: found.version,
      package: found,
    })),
  ];
  const usable = all.filter((candidate) => {
    const reason = "package" in candidate ? unsupportedReason(candidate.package) : undefined;
    if (reason !== undefined) warnings.push(`${candidate.identifier} cannot be used: ${reason}`);
    return reason === undefined;
  });
  const absent = preferred.length > 0 && !preferred.some((wanted) => usable.some((one) => fits(one, wanted)));
  if (absent && usable.length > 0) warnings.push(`The server is not available as ${preferred.join(" or ")}`);
  const order = [...preferred, ...USUAL];
  return usable.sort((one, other) => rank(one, order) - rank(other, order));
}
