/** What a test server offers, as its author writes it. */
import type {
  CallToolResult,
  ContentBlock,
  GetPromptResult,
  Icon,
  InputRequiredResult,
  PromptMessage,
  ReadResourceResult,
  Server,
  ServerCapabilities,
  ServerContext,
  ServerOptions,
  ToolAnnotations,
} from "@modelcontextprotocol/server";

/** Which protocol eras are served: up to 2025-11-25, from 2026-07-28 on, or whichever the client speaks. */
export type TestServerEra = "both" | "legacy" | "modern";

/** A schema of a library (zod, valibot, ArkType …) that can say what it is as JSON Schema. */
export interface StandardToolSchema {
  readonly "~standard": {
    readonly vendor: string;
    readonly validate: (value: unknown) => unknown;
    readonly jsonSchema?: {
      readonly input: (options: { target: string }) => Record<string, unknown>;
      readonly output: (options: { target: string }) => Record<string, unknown>;
    };
  };
}

/** JSON Schema is sent exactly as it stands here, valid or not, and never checked; a library's schema is enforced. */
export type TestToolSchema = Readonly<Record<string, unknown>> | StandardToolSchema;

/** What a tool's handler is given besides its arguments. */
export interface TestToolContext {
  /** Aborted when the client cancels the call or goes away. */
  readonly signal: AbortSignal;
  /** Tells the client how far the work is; nothing happens if it did not ask for that. */
  progress(value: number, total?: number, message?: string): Promise<void>;
  /** The SDK server that answers this connection, e.g. to ask the client for its roots. */
  readonly server: Server;
  /** The SDK's own view of the request: id, `_meta`, HTTP headers, logging, elicitation. */
  readonly request: ServerContext;
}

/** A text, a list of content blocks, or a whole result. */
export type TestToolAnswer =
  | string
  | readonly ContentBlock[]
  | (Omit<CallToolResult, "content"> & { content?: CallToolResult["content"] })
  | InputRequiredResult;

export interface TestTool {
  title?: string;
  description?: string;
  /** @default any object */
  inputSchema?: TestToolSchema;
  outputSchema?: TestToolSchema;
  annotations?: ToolAnnotations;
  icons?: Icon[];
  _meta?: Record<string, unknown>;
  /** An error thrown here becomes a result with `isError`; the SDK's `ProtocolError` becomes a JSON-RPC error. */
  handler(args: Record<string, unknown>, context: TestToolContext): TestToolAnswer | Promise<TestToolAnswer>;
}

export interface TestResource {
  /** @default the URI */
  name?: string;
  title?: string;
  description?: string;
  mimeType?: string;
  text?: string;
  /** Base64. */
  blob?: string;
  _meta?: Record<string, unknown>;
  /** How long an answer may be kept; told to clients from 2026-07-28 on. @default 0 */
  ttlMs?: number;
  /** Asked on every read, in place of `text` and `blob`. Bytes are sent as a blob; a whole result is sent as it is. */
  read?(request: ServerContext): TestResourceAnswer | Promise<TestResourceAnswer>;
}

/** What reading a resource may give. */
export type TestResourceAnswer = string | Uint8Array | ReadResourceResult | InputRequiredResult;

/** Proposes values for an argument: by what was typed, and by the arguments known already. */
export type TestCompletion = (
  value: string,
  context: Readonly<Record<string, string>>,
) => readonly string[] | Promise<readonly string[]>;

export interface TestResourceTemplate {
  /** @default the template */
  name?: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** Asked for every address that is not among `resources`; `undefined`: it is none of this template's. */
  read?(uri: string): string | undefined;
  /** By the name of the variable. */
  complete?: Readonly<Record<string, TestCompletion>>;
}

export interface TestPrompt {
  title?: string;
  description?: string;
  arguments?: { name: string; description?: string; required?: boolean }[];
  /** By the name of the argument. */
  complete?: Readonly<Record<string, TestCompletion>>;
  /** A text becomes one message of the user. */
  get(
    args: Record<string, string>,
  ): string | PromptMessage[] | GetPromptResult | Promise<string | PromptMessage[] | GetPromptResult>;
}

/** All a test server is made of. A family that is left out is not advertised. */
export interface TestServerDefinition {
  /** @default "test-server" */
  name?: string;
  /** @default "1.0.0" */
  version?: string;
  instructions?: string;
  tools?: Readonly<Record<string, TestTool>>;
  /** By URI. */
  resources?: Readonly<Record<string, TestResource>>;
  /** By URI template. */
  resourceTemplates?: Readonly<Record<string, TestResourceTemplate>>;
  prompts?: Readonly<Record<string, TestPrompt>>;
  /** Capabilities besides those of tools, resources and prompts, e.g. `{ logging: {} }`. */
  capabilities?: ServerCapabilities;
  /**
   * How long lists hold and whether users may share them, by method. Only in the modern era.
   *
   * @default none: they hold for no time, and are private
   * @example
   * ```ts
   * createTestServer({ tools, cacheHints: { "tools/list": { ttlMs: 60_000, cacheScope: "public" } } });
   * ```
   */
  cacheHints?: NonNullable<ServerOptions["cacheHints"]>;
  /** @default "both" */
  era?: TestServerEra;
}

/** One `tools/call` as it arrived. */
export interface RecordedCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Milliseconds since the epoch. */
  readonly at: number;
}
