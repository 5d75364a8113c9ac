/** `server.json` of the registry: its types, and how untrusted documents are read. */
import { type Fields, isRecord } from "../util/json.js";
import { fieldOf, flagOf, InvalidValue, readEach, textOf, textsOf } from "./fields.js";

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

function readVariables(fields: Fields): Record<string, ServerInput> | InvalidValue {
  const value = fieldOf(fields, "variables") ?? {};
  if (!isRecord(value)) return new InvalidValue('"variables" is not an object');
  const wrong = Object.keys(value).find((name) => !isRecord(value[name]));
  if (wrong !== undefined) return new InvalidValue(`the variable ${JSON.stringify(wrong)} is not an object`);
  return Object.fromEntries(Object.entries(value).map(([name, input]) => [name, readInput(input as Fields)]));
}

function readTemplate(fields: Fields): TemplateInput | InvalidValue {
  // Reject values of another type: ignoring them would turn them into inputs of the user.
  for (const key of ["value", "default"]) {
    const given = fieldOf(fields, key);
    if (given !== undefined && typeof given !== "string") return new InvalidValue(`"${key}" is not a string`);
  }
  const variables = readVariables(fields);
  return variables instanceof InvalidValue ? variables : { ...readInput(fields), variables };
}

function readKeyValue(value: unknown): KeyValueInput | InvalidValue {
  if (!isRecord(value)) return new InvalidValue("is not an object");
  const name = textOf(value, "name");
  if (name === undefined || name === "") return new InvalidValue("has no name");
  const template = readTemplate(value);
  return template instanceof InvalidValue ? template : { name, ...template };
}

function readArgument(value: unknown): ServerArgument | InvalidValue {
  if (!isRecord(value)) return new InvalidValue("is not an object");
  const type = fieldOf(value, "type");
  if (type !== "positional" && type !== "named") return new InvalidValue("is neither positional nor named");
  const name = textOf(value, "name");
  if (type === "named" && (name === undefined || name === "")) return new InvalidValue("has no name");
  const template = readTemplate(value);
  if (template instanceof InvalidValue) return template;
  const [valueHint, isRepeated] = [textOf(value, "valueHint"), flagOf(value, "isRepeated")];
  return { type, ...(type === "named" ? { name } : { valueHint }), isRepeated, ...template };
}

function readRemote(value: unknown): ServerRemote | InvalidValue {
  if (!isRecord(value)) return new InvalidValue("is not an object");
  const type = fieldOf(value, "type");
  if (type !== "streamable-http" && type !== "sse") return new InvalidValue("is of an unknown type");
  const url = textOf(value, "url");
  if (url === undefined) return new InvalidValue("has no url");
  const headers = readEach(value, "headers", readKeyValue);
  if (headers instanceof InvalidValue) return headers;
  const variables = readVariables(value);
  return variables instanceof InvalidValue ? variables : { type, url, headers, variables };
}

function readTransport(value: unknown): ServerPackage["transport"] | InvalidValue {
  // Older entries without this field use stdio.
  if (value === undefined) return { type: "stdio" };
  if (isRecord(value) && fieldOf(value, "type") === "stdio") return { type: "stdio" };
  const remote = readRemote(value);
  return remote instanceof InvalidValue ? new InvalidValue(`its transport ${remote.problem}`) : remote;
}

function readPackage(value: unknown): ServerPackage | InvalidValue {
  if (!isRecord(value)) return new InvalidValue("is not an object");
  const registryType = textOf(value, "registryType");
  const identifier = textOf(value, "identifier");
  if (registryType === undefined) return new InvalidValue("has no registryType");
  if (identifier === undefined || identifier === "") return new InvalidValue("has no identifier");
  const transport = readTransport(fieldOf(value, "transport"));
  if (transport instanceof InvalidValue) return transport;
  const runtimeArguments = readEach(value, "runtimeArguments", readArgument);
  if (runtimeArguments instanceof InvalidValue) return runtimeArguments;
  const packageArguments = readEach(value, "packageArguments", readArgument);
  if (packageArguments instanceof InvalidValue) return packageArguments;
  const environmentVariables = readEach(value, "environmentVariables", readKeyValue);
  if (environmentVariables instanceof InvalidValue) return environmentVariables;
  return {
    registryType,
    registryBaseUrl: textOf(value, "registryBaseUrl"),
    identifier,
    version: textOf(value, "version"),
    fileSha256: textOf(value, "fileSha256"),
    runtimeHint: textOf(value, "runtimeHint"),
    transport,
    runtimeArguments,
    packageArguments,
    environmentVariables,
  };
}

function readRepository(value: unknown): ServerJson["repository"] {
  const url = isRecord(value) ? textOf(value, "url") : undefined;
  if (!isRecord(value) || url === undefined) return undefined;
  const source = textOf(value, "source") ?? "";
  return { url, source, id: textOf(value, "id"), subfolder: textOf(value, "subfolder") };
}

function readIcon(value: unknown): ServerJson["icons"][number] | InvalidValue {
  const src = isRecord(value) ? textOf(value, "src") : undefined;
  if (!isRecord(value) || src === undefined) return new InvalidValue("has no src");
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
  { read, problems }: { read: (value: unknown) => T | InvalidValue; problems: string[] },
): T[] {
  const value = fieldOf(fields, key) ?? [];
  if (!Array.isArray(value)) {
    problems.push(`"${key}" is not an array`);
    return [];
  }
  if (value.length > MAX_PARTS) problems.push(`only the first ${MAX_PARTS} of "${key}" were read`);
  return value.slice(0, MAX_PARTS).flatMap((item, index) => {
    const found = read(item);
    if (!(found instanceof InvalidValue)) return [found];
    problems.push(`${key}[${index}]: ${found.problem}`);
    return [];
  });
}

/** Reads the description of a server. Adds the problems of dropped parts to `problems`. */
export function readServerJson(value: unknown, problems: string[]): ServerJson | InvalidValue {
  if (!isRecord(value)) return new InvalidValue("it is not an object");
  const name = textOf(value, "name");
  if (name === undefined || name === "") return new InvalidValue("it has no name");
  const version = textOf(value, "version");
  if (version === undefined || version === "") return new InvalidValue("it has no version");
  const meta = fieldOf(value, "_meta");
  return {
    name,
    description: textOf(value, "description") ?? "",
    version,
    title: textOf(value, "title"),
    websiteUrl: textOf(value, "websiteUrl"),
    repository: readRepository(fieldOf(value, "repository")),
    icons: readValid(value, "icons", { read: readIcon, problems }),
    packages: readValid(value, "packages", { read: readPackage, problems }),
    remotes: readValid(value, "remotes", { read: readRemote, problems }),
    _meta: isRecord(meta) ? meta : undefined,
  };
}
