/** The definition of a test server. */
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

/** The served protocol eras: legacy (up to 2025-11-25), modern (from 2026-07-28 on), or both. */
export type TestServerEra = "both" | "legacy" | "modern";

/** A schema of a library (zod, valibot, ArkType …) that can be converted to JSON Schema. */
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

/** JSON Schema is sent unchanged, valid or not, and arguments are not validated. A library's schema validates them. */
export type TestToolSchema = Readonly<Record<string, unknown>> | StandardToolSchema;

/** The second argument of a tool's handler. */
export interface TestToolContext {
  /** Aborts when the client cancels the call or disconnects. */
  readonly signal: AbortSignal;
  /** Sends progress to the client, if the client requested it. */
  progress(value: number, total?: number, message?: string): Promise<void>;
  /** The SDK server of this connection, e.g. to request the roots of the client. */
  readonly server: Server;
  /** The SDK's request context: id, `_meta`, HTTP headers, logging, elicitation. */
  readonly request: ServerContext;
}

/** A text, a list of content blocks, or a complete result. */
export type TestToolAnswer =
  | string
  | readonly ContentBlock[]
  | (Omit<CallToolResult, "content"> & { content?: CallToolResult["content"] })
  | InputRequiredResult;

/** A tool of a test server. */
export interface TestTool {
  title?: string;
  description?: string;
  /** @default any object */
  inputSchema?: TestToolSchema;
  outputSchema?: TestToolSchema;
  annotations?: ToolAnnotations;
  icons?: Icon[];
  _meta?: Record<string, unknown>;
  /** A thrown error becomes a result with `isError`; the SDK's `ProtocolError` becomes a JSON-RPC error. */
  handler(args: Record<string, unknown>, context: TestToolContext): TestToolAnswer | Promise<TestToolAnswer>;
}

/** A resource of a test server. Its content is `text`, `blob` or what `read` returns. */
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
  /** How long clients may cache the content; sent to modern clients only. @default 0 */
  ttlMs?: number;
  /** Called on every read instead of `text` and `blob`. Bytes are sent as a blob, a complete result is sent unchanged. */
  read?(request: ServerContext): TestResourceAnswer | Promise<TestResourceAnswer>;
}

/** The content of a resource. */
export type TestResourceAnswer = string | Uint8Array | ReadResourceResult | InputRequiredResult;

/** Proposes values for an argument, given its current text and the other arguments. */
export type TestCompletion = (
  value: string,
  context: Readonly<Record<string, string>>,
) => readonly string[] | Promise<readonly string[]>;

/** A resource template of a test server. */
export interface TestResourceTemplate {
  /** @default the template */
  name?: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** Called for URIs that are not in `resources`; `undefined`: the URI does not belong to this template. */
  read?(uri: string): string | undefined;
  /** By name of the variable. */
  complete?: Readonly<Record<string, TestCompletion>>;
}

/** A prompt of a test server. */
export interface TestPrompt {
  title?: string;
  description?: string;
  arguments?: { name: string; description?: string; required?: boolean }[];
  /** By name of the argument. */
  complete?: Readonly<Record<string, TestCompletion>>;
  /** A text becomes one user message. */
  get(
    args: Record<string, string>,
  ): string | PromptMessage[] | GetPromptResult | Promise<string | PromptMessage[] | GetPromptResult>;
}

/** Everything a test server offers. What is left out is not advertised. */
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
   * How long clients may cache lists and whether users may share them, by method. Modern clients only.
   *
   * @default none: lists must not be cached and are private
   * @example
   * ```ts
   * createTestServer({ tools, cacheHints: { "tools/list": { ttlMs: 60_000, cacheScope: "public" } } });
   * ```
   */
  cacheHints?: NonNullable<ServerOptions["cacheHints"]>;
  /** @default "both" */
  era?: TestServerEra;
}

/** One received `tools/call`. */
export interface RecordedCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Milliseconds since the epoch. */
  readonly at: number;
}
