/** What a publisher says about a server: the parts of `server.json` that a client works with. */

/** A value that is fixed, has a default, or comes from the user. */
export interface ServerInput {
  readonly description?: string | undefined;
  readonly isRequired?: boolean | undefined;
  readonly isSecret?: boolean | undefined;
  readonly format?: "string" | "number" | "boolean" | "filepath" | undefined;
  /** Fixed by the publisher; `{name}` stands for a variable. */
  readonly value?: string | undefined;
  readonly default?: string | undefined;
  /** An example for the user's eyes; never used as a value. */
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

/** One argument of a command line, or several if it may be repeated. */
export interface ServerArgument extends TemplateInput {
  readonly type: "positional" | "named";
  /** The flag with its dashes; only of named arguments. */
  readonly name?: string | undefined;
  /** What a positional argument is called; it does not appear on the command line. */
  readonly valueHint?: string | undefined;
  readonly isRepeated?: boolean | undefined;
}

/** A server that answers at an address. */
export interface ServerRemote {
  readonly type: "streamable-http" | "sse";
  /** May hold `{variables}`. */
  readonly url: string;
  readonly headers: readonly KeyValueInput[];
  readonly variables: Readonly<Record<string, ServerInput>>;
}

/** A server that is installed and started on this machine. */
export interface ServerPackage {
  /** `npm`, `pypi`, `oci`, `nuget`, `mcpb`, `cargo`, or what else a registry may know. */
  readonly registryType: string;
  readonly registryBaseUrl?: string | undefined;
  /** Name of the package or image, or the address of a bundle. */
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
  /** Whatever else the publisher and others have to say, by their reverse-DNS names. */
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}
