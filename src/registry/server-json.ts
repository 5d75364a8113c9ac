/** The parts of `server.json` that a client uses. */

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
