/** `server.json` and the responses of a registry: their types, and how untrusted documents are read. */

import { type Fields, isRecord, type ToolportError } from "@toolport/base";

/** An input: fixed by the publisher, with a default, or set by the user. */
export interface ServerInput {
  readonly description?: string | undefined;
  readonly isRequired?: boolean | undefined;
  readonly isSecret?: boolean | undefined;
  readonly format?: "string" | "number" | "boolean" | "filepath" | undefined;
  /** Fixed by the publisher. `{name}` refers to a variable. */
  readonly value?: string | undefined;
  readonly default?: string | undefined;
  /** An example to show to the user; never used as a value. */
  readonly placeholder?: string | undefined;
  readonly choices?: readonly string[] | undefined;
}

/** An input whose `value` may refer to variables. */
export interface TemplateInput extends ServerInput {
  readonly variables: Readonly<Record<string, ServerInput>>;
}

/** A header or an environment variable. */
export interface KeyValueInput extends TemplateInput {
  readonly name: string;
}

/** An argument of a command line, which may be repeatable. */
export interface ServerArgument extends TemplateInput {
  readonly type: "positional" | "named";
  /** The flag with its dashes, for named arguments only. */
  readonly name?: string | undefined;
  /** Name of a positional argument, which does not appear on the command line. */
  readonly valueHint?: string | undefined;
  readonly isRepeated?: boolean | undefined;
}

/** A remote server. */
export interface ServerRemote {
  readonly type: "streamable-http" | "sse";
  /** May contain `{variables}`. */
  readonly url: string;
  readonly headers: readonly KeyValueInput[];
  readonly variables: Readonly<Record<string, ServerInput>>;
}

/** A package that runs on this machine. */
export interface ServerPackage {
  /** `npm`, `pypi`, `oci`, `nuget`, `mcpb`, `cargo` or another kind. */
  readonly registryType: string;
  readonly registryBaseUrl?: string | undefined;
  /** Name of the package or image, or URL of a bundle. */
  readonly identifier: string;
  readonly version?: string | undefined;
  readonly fileSha256?: string | undefined;
  readonly runtimeHint?: string | undefined;
  readonly transport: { readonly type: "stdio" } | ServerRemote;
  readonly runtimeArguments: readonly ServerArgument[];
  readonly packageArguments: readonly ServerArgument[];
  readonly environmentVariables: readonly KeyValueInput[];
}

/** One version of one server. */
export interface ServerJson {
  /** `namespace/name`, the namespace in reverse-DNS form. */
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly title?: string | undefined;
  readonly websiteUrl?: string | undefined;
  readonly repository?:
    | {
        readonly url: string;
        readonly source: string;
        readonly id?: string | undefined;
        readonly subfolder?: string | undefined;
      }
    | undefined;
  readonly icons: readonly {
    readonly src: string;
    readonly mimeType?: string | undefined;
    readonly sizes?: readonly string[] | undefined;
    readonly theme?: string | undefined;
  }[];
  readonly packages: readonly ServerPackage[];
  readonly remotes: readonly ServerRemote[];
  /** Further metadata, by reverse-DNS names. */
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

const FORMATS: readonly unknown[] = ["string", "number", "boolean", "filepath"];

/** Maximum number of packages, remotes and icons. */
const MAX_PARTS = 100;

function readInput(fields: Fields): ServerInput {
  const format = fieldOf(fields, "format");
  return {
    description: textOf(fields, "description"),
    isRequired: flagOf(fields, "isRequired"),
    isSecret: flagOf(fields, "isSecret"),
    format: FORMATS.includes(format) ? (format as ServerInput["format"]) : undefined,
    value: textOf(fields, "value"),
    default: textOf(fields, "default"),
    placeholder: textOf(fields, "placeholder"),
    choices: textsOf(fields, "choices"),
  };
}

function readVariables(fields: Fields): Record<string, ServerInput> {
  const value = fieldOf(fields, "variables") ?? {};
  if (!isRecord(value)) throw new InvalidValue('"variables" is not an object');
  const wrong = Object.keys(value).find((name) => !isRecord(value[name]));
  if (wrong !== undefined) throw new InvalidValue(`the variable ${JSON.stringify(wrong)} is not an object`);
  return Object.fromEntries(Object.entries(value).map(([name, input]) => [name, readInput(input as Fields)]));
}

function readTemplate(fields: Fields): TemplateInput {
  // Reject values of another type: ignoring them would turn them into inputs of the user.
  for (const key of ["value", "default"]) {
    const given = fieldOf(fields, key);
    if (given !== undefined && typeof given !== "string") throw new InvalidValue(`"${key}" is not a string`);
  }
  return { ...readInput(fields), variables: readVariables(fields) };
}

function readKeyValue(value: unknown): KeyValueInput {
  const fields = asFields(value);
  return { name: requiredText(fields, "name"), ...readTemplate(fields) };
}

function readArgument(value: unknown): ServerArgument {
  const fields = asFields(value);
  const type = fieldOf(fields, "type");
  if (type !== "positional" && type !== "named") throw new InvalidValue("is neither positional nor named");
  const naming =
    type === "named" ? { name: requiredText(fields, "name") } : { valueHint: textOf(fields, "valueHint") };
  return { type, ...naming, isRepeated: flagOf(fields, "isRepeated"), ...readTemplate(fields) };
}

function readRemote(value: unknown): ServerRemote {
  const fields = asFields(value);
  const type = fieldOf(fields, "type");
  if (type !== "streamable-http" && type !== "sse") throw new InvalidValue("is of an unknown type");
  const url = textOf(fields, "url");
  if (url === undefined) throw new InvalidValue("has no url");
  const headers = readEach(fields, "headers", readKeyValue);
  return { type, url, headers, variables: readVariables(fields) };
}

function readTransport(value: unknown): ServerPackage["transport"] {
  // Older entries without this field use stdio.
  if (value === undefined) return { type: "stdio" };
  if (isRecord(value) && fieldOf(value, "type") === "stdio") return { type: "stdio" };
  return within("its transport ", () => readRemote(value));
}

function readPackage(value: unknown): ServerPackage {
  const fields = asFields(value);
  const registryType = textOf(fields, "registryType");
  if (registryType === undefined) throw new InvalidValue("has no registryType");
  return {
    registryType,
    registryBaseUrl: textOf(fields, "registryBaseUrl"),
    identifier: requiredText(fields, "identifier"),
    version: textOf(fields, "version"),
    fileSha256: textOf(fields, "fileSha256"),
    runtimeHint: textOf(fields, "runtimeHint"),
    transport: readTransport(fieldOf(fields, "transport")),
    runtimeArguments: readEach(fields, "runtimeArguments", readArgument),
    packageArguments: readEach(fields, "packageArguments", readArgument),
    environmentVariables: readEach(fields, "environmentVariables", readKeyValue),
  };
}

function readRepository(value: unknown): ServerJson["repository"] {
  const url = isRecord(value) ? textOf(value, "url") : undefined;
  if (!isRecord(value) || url === undefined) return undefined;
  const source = textOf(value, "source") ?? "";
  return { url, source, id: textOf(value, "id"), subfolder: textOf(value, "subfolder") };
}

function readIcon(value: unknown): ServerJson["icons"][number] {
  const src = isRecord(value) ? textOf(value, "src") : undefined;
  if (!isRecord(value) || src === undefined) throw new InvalidValue("has no src");
  return {
    src,
    mimeType: textOf(value, "mimeType"),
    sizes: textsOf(value, "sizes"),
    theme: textOf(value, "theme"),
  };
}

/** The valid items. Adds the problem of each invalid one to `problems`. */
function readValid<T extends object>(
  fields: Fields,
  key: string,
  { read, problems }: { read: (value: unknown) => T; problems: string[] },
): T[] {
  const value = fieldOf(fields, key) ?? [];
  if (!Array.isArray(value)) {
    problems.push(`"${key}" is not an array`);
    return [];
  }
  if (value.length > MAX_PARTS) problems.push(`only the first ${MAX_PARTS} of "${key}" were read`);
  return value.slice(0, MAX_PARTS).flatMap((item, index) => {
    const part = unlessInvalid(() => read(item));
    if (!(part instanceof InvalidValue)) return [part];
    problems.push(`${key}[${index}]: ${part.message}`);
    return [];
  });
}

/** Reads the description of a server. Adds the problems of dropped parts to `problems`. */
export function readServerJson(value: unknown, problems: string[]): ServerJson {
  if (!isRecord(value)) throw new InvalidValue("it is not an object");
  const meta = fieldOf(value, "_meta");
  return {
    name: requiredText(value, "name", "it "),
    description: textOf(value, "description") ?? "",
    version: requiredText(value, "version", "it "),
    title: textOf(value, "title"),
    websiteUrl: textOf(value, "websiteUrl"),
    repository: readRepository(fieldOf(value, "repository")),
    icons: readValid(value, "icons", { read: readIcon, problems }),
    packages: readValid(value, "packages", { read: readPackage, problems }),
    remotes: readValid(value, "remotes", { read: readRemote, problems }),
    _meta: isRecord(meta) ? meta : undefined,
  };
}

/** Metadata of the official registry about a version. */
export interface OfficialMeta {
  readonly status?: "active" | "deprecated" | "deleted" | undefined;
  readonly statusMessage?: string | undefined;
  readonly statusChangedAt?: string | undefined;
  readonly publishedAt?: string | undefined;
  readonly updatedAt?: string | undefined;
  readonly isLatest?: boolean | undefined;
}

/** Information about a cached response that was used because the registry was unavailable. */
export interface StaleAnswer {
  /** Time since the registry last confirmed the response. */
  readonly ageMs: number;
  /** Why the registry was unavailable. */
  readonly error: ToolportError;
}

/** One version of a server in a registry. */
export interface RegistryServer {
  readonly server: ServerJson;
  /** The registry's own metadata; undefined if there is none. */
  readonly official: OfficialMeta | undefined;
  /** All metadata of the registry, by reverse-DNS names. */
  readonly _meta: Readonly<Record<string, unknown>>;
  /** Problems of dropped parts, one line each. */
  readonly problems: readonly string[];
  /** Set if this is an old answer from the cache. */
  readonly stale?: StaleAnswer | undefined;
}

/** An invalid entry of a list. */
export interface SkippedServer {
  /** Its index on the page. */
  readonly index: number;
  /** Its name, if it has one. */
  readonly name?: string | undefined;
  readonly reason: string;
}

/** One page of a list. */
export interface RegistryPage {
  readonly servers: readonly RegistryServer[];
  /** Pass it to `listServers` as `cursor` for the next page; undefined on the last page. */
  readonly nextCursor: string | undefined;
  /** Number of entries on this page according to the registry. */
  readonly count: number | undefined;
  /** Invalid entries, which were left out. */
  readonly skipped: readonly SkippedServer[];
  /** Set if this is an old answer from the cache. */
  readonly stale?: StaleAnswer | undefined;
}

const OFFICIAL = "io.modelcontextprotocol.registry/official";
const STATUSES: readonly unknown[] = ["active", "deprecated", "deleted"];

/** Far more than any registry puts on one page. */
const MAX_ENTRIES = 10_000;

function readOfficial(meta: Fields): OfficialMeta | undefined {
  const fields = fieldOf(meta, OFFICIAL);
  if (!isRecord(fields)) return undefined;
  const status = fieldOf(fields, "status");
  return {
    status: STATUSES.includes(status) ? (status as OfficialMeta["status"]) : undefined,
    statusMessage: textOf(fields, "statusMessage"),
    statusChangedAt: textOf(fields, "statusChangedAt"),
    publishedAt: textOf(fields, "publishedAt"),
    updatedAt: textOf(fields, "updatedAt"),
    isLatest: flagOf(fields, "isLatest"),
  };
}

/** Reads a response of the form `{ server, _meta? }`. */
export function readRegistryServer(value: unknown): RegistryServer {
  if (!isRecord(value)) throw new InvalidValue("it is not an object");
  const problems: string[] = [];
  const server = readServerJson(fieldOf(value, "server"), problems);
  const found = fieldOf(value, "_meta");
  const meta = isRecord(found) ? found : {};
  return { server, official: readOfficial(meta), _meta: meta, problems };
}

const nameOf = (value: unknown): string | undefined => {
  const server = isRecord(value) ? fieldOf(value, "server") : undefined;
  return isRecord(server) ? textOf(server, "name")?.slice(0, 200) : undefined;
};

/** Reads a response of the form `{ servers, metadata? }`. Skips invalid entries. */
export function readRegistryPage(value: unknown): RegistryPage {
  const list = isRecord(value) ? fieldOf(value, "servers") : undefined;
  if (!isRecord(value) || !Array.isArray(list)) throw new InvalidValue("it has no list of servers");
  if (list.length > MAX_ENTRIES) throw new InvalidValue(`it lists more than ${MAX_ENTRIES} servers at once`);
  const servers: RegistryServer[] = [];
  const skipped: SkippedServer[] = [];
  for (const [index, item] of list.entries()) {
    const server = unlessInvalid(() => readRegistryServer(item));
    if (server instanceof InvalidValue) skipped.push({ index, name: nameOf(item), reason: server.message });
    else servers.push(server);
  }
  const metadata = fieldOf(value, "metadata");
  const fields = isRecord(metadata) ? metadata : {};
  const cursor = fieldOf(fields, "nextCursor") ?? "";
  // Treating it as the last page would silently truncate the list.
  if (typeof cursor !== "string") throw new InvalidValue("its cursor is not a string");
  const count = fieldOf(fields, "count");
  return {
    servers,
    nextCursor: cursor === "" ? undefined : cursor,
    count: typeof count === "number" ? count : undefined,
    skipped,
  };
}

/** Why a value cannot be used. Thrown and caught inside this folder. */
export class InvalidValue extends Error {}

/** What `read` returns, or the {@link InvalidValue} that it throws. */
export function unlessInvalid<T>(read: () => T): T | InvalidValue {
  try {
    return read();
  } catch (error) {
    if (error instanceof InvalidValue) return error;
    throw error;
  }
}

/** An own field, to ignore polluted prototypes. `null` counts as missing. */
export const fieldOf = (fields: Fields, key: string): unknown =>
  Object.hasOwn(fields, key) ? (fields[key] ?? undefined) : undefined;

/** A string field. Values of other types count as missing. */
export const textOf = (fields: Fields, key: string): string | undefined => {
  const value = fieldOf(fields, key);
  return typeof value === "string" ? value : undefined;
};

/** A string field that must not be missing or empty. @param subject the beginning of the problem */
function requiredText(fields: Fields, key: string, subject = ""): string {
  const text = textOf(fields, key);
  if (text === undefined || text === "") throw new InvalidValue(`${subject}has no ${key}`);
  return text;
}

function asFields(value: unknown): Fields {
  if (!isRecord(value)) throw new InvalidValue("is not an object");
  return value;
}

export const flagOf = (fields: Fields, key: string): boolean | undefined => {
  const value = fieldOf(fields, key);
  return typeof value === "boolean" ? value : undefined;
};

/** The strings of an array; undefined if the field is not an array. */
export const textsOf = (fields: Fields, key: string): string[] | undefined => {
  const value = fieldOf(fields, key);
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : undefined;
};

/** Reads all items of an array. A missing array is empty. */
function readEach<T extends object>(fields: Fields, key: string, read: (value: unknown) => T): T[] {
  const value = fieldOf(fields, key) ?? [];
  if (!Array.isArray(value)) throw new InvalidValue(`"${key}" is not an array`);
  return value.map((item, index) => within(`${key}[${index}]: `, () => read(item)));
}

/** Runs `read`, and adds to its {@link InvalidValue} where the value stands. */
function within<T>(place: string, read: () => T): T {
  const value = unlessInvalid(read);
  if (value instanceof InvalidValue) throw new InvalidValue(`${place}${value.message}`);
  return value;
}
