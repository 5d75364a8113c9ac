/** Options of `MultiServerMCPClient` and `loadMcpTools`: those of `@langchain/mcp-adapters`, and a few more. */
import type { ContentBlock, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type {
  AuthProvider,
  LoggingLevel,
  OAuthClientProvider,
  RequestId,
} from "@modelcontextprotocol/client";
import type { HttpServerEntry, ServerEntry, StdioServerEntry, ToolportOptions } from "@toolport/core";
import type { SchemaForm } from "@toolport/schemas/internal";
import type { AudienceRule, LeftOutContent } from "../model-content.js";
import type { OutputHandling, ToolArtifact, ToolOutput } from "./content.js";
import type { MCPClientError } from "./errors.js";

/** How tool output is mapped and how long a call may take. The value of a server takes precedence over the top level. */
export interface OutputConfig {
  /**
   * What the model sees (`"content"`) and what becomes an artifact (`"artifact"`).
   * @default embedded resources are artifacts, everything else is content
   */
  outputHandling?: OutputHandling | undefined;
  /**
   * Longest duration of a tool call in milliseconds, unless the call has its own timeout. 0: not set.
   * @default 0 (60 s of silence, 300 s in all)
   */
  defaultToolTimeout?: number | undefined;
  /**
   * Content that a server marks for the user only (`annotations.audience: ["user"]`): `"respect"` makes it an artifact,
   * `"ignore"` treats it like any other.
   * @default "respect"
   */
  audience?: AudienceRule | undefined;
}

/** A provider written for version 1 of the MCP SDK; the methods are the same. */
export interface LegacyOAuthClientProvider {
  readonly redirectUrl: string | URL | undefined;
  readonly clientMetadata: object;
  clientInformation(): unknown;
  tokens(): unknown;
  saveTokens(tokens: never): void | Promise<void>;
  redirectToAuthorization(authorizationUrl: URL): void | Promise<void>;
  saveCodeVerifier(codeVerifier: string): void | Promise<void>;
  codeVerifier(): string | Promise<string>;
}

type AnyAuthProvider = AuthProvider | OAuthClientProvider | LegacyOAuthClientProvider;

/** A local process. */
export interface StdioConnection extends Omit<StdioServerEntry, "stderr">, OutputConfig {
  /** What happens to the stderr of the process. @default "pipe" */
  stderr?: StdioServerEntry["stderr"] | "overlapped";
}

/** A server reached over Streamable HTTP or legacy HTTP+SSE. */
export interface StreamableHTTPConnection extends Omit<HttpServerEntry, "authProvider">, OutputConfig {
  /** Tokens, refresh and retry after 401. */
  authProvider?: AnyAuthProvider | undefined;
}

/** The older name of the same option. */
export type SSEConnection = StreamableHTTPConnection;

/** The fields in which an entry differs from one of `createToolport`. */
type OwnFields = Pick<StdioConnection, "stderr"> & Pick<StreamableHTTPConnection, "authProvider">;

type ToConnection<Entry> = Entry extends unknown
  ? Omit<Entry, keyof OwnFields> & Pick<OwnFields, keyof Entry & keyof OwnFields> & OutputConfig
  : never;

/** One server. */
export type Connection = ToConnection<ServerEntry>;

/** How tools are named, loaded and mapped. */
export interface LoadMcpToolsOptions extends OutputConfig, ToolHooks {
  /**
   * Throw when a server lists a tool that cannot be offered, for example because its schema is malformed. `false`: it is left out, and
   * `withheldTools` says why. `toLangChainTools` throws for such a tool only if this is set to `true`.
   * @default true
   */
  throwOnLoadError?: boolean | undefined;
  /** `server__tool` instead of `tool`. @default false */
  prefixToolNameWithServerName?: boolean | undefined;
  /** Comes first in every name: `prefix__server__tool`. @default "" */
  additionalToolNamePrefix?: string | undefined;
  /** Use LangChain's standard content blocks, also for artifacts. @default false */
  useStandardContentBlocks?: boolean | undefined;
  /**
   * A tool that reports failure throws a `ToolException`, or returns a `ToolMessage` with status `"error"`.
   * @default "throw"
   */
  toolErrors?: "throw" | "message" | undefined;
  /**
   * The form of the schemas that models see: one that OpenAI, Anthropic and Gemini all accept (`"portable"`), the original
   * (`"source"`), or that of one provider. Arguments are converted back and checked against the original schema, which is in
   * `tool.metadata.inputSchema`.
   * @default "portable"
   */
  schema?: SchemaForm | undefined;
  /** Maximum size of a resource that is read because a result contains only its URI. @default 4 MiB */
  maxResourceBytes?: number | undefined;
  /**
   * Called for every part of a result that reaches the model only as a note, because it is malformed or because no provider
   * supports it. The part itself is in the artifact.
   */
  onLeftOut?: ((leftOut: LeftOutContent) => void) | undefined;
}

/**
 * Which calls interrupt a LangGraph graph while they wait for a person, instead of keeping its process running. The graph needs a
 * checkpointer. With either option, a missing login interrupts too.
 *
 * @example
 * ```ts
 * const tools = await toLangChainTools(toolport, { elicitation: "interrupt", approval: "interrupt" });
 * ```
 */
export interface InterruptOptions {
  /**
   * `"interrupt"`: when a server asks the user for something.
   * @default the port's `onElicitation` answers
   */
  elicitation?: "interrupt" | undefined;
  /**
   * `"interrupt"`: when the port's option `approve` leaves the decision to a person.
   * @default such calls are `REFUSED`
   */
  approval?: "interrupt" | undefined;
}

/** Options of a `MultiServerMCPClient`. */
export interface ClientConfig extends LoadMcpToolsOptions, InterruptOptions, Notifications {
  /** The servers, by name. */
  mcpServers: Record<string, Connection>;
  /**
   * When a server cannot be connected, or lists a tool that cannot be offered: throw, continue without it, or call a function, which
   * may throw. A server that was slow to fail is tried again in the background; others are tried again the next time.
   * @default "throw"
   */
  onConnectionError?: "throw" | "ignore" | ((failure: ConnectionFailure) => void) | undefined;
  /** Any other options of `createToolport`: `store`, `retry`, `approve`, `deferTools`, `logger` … @default {} */
  toolport?: OtherToolportOptions | undefined;
}

/** Options of `createToolport` that do not exist here. */
export type OtherToolportOptions = Omit<
  ToolportOptions,
  "mcpServers" | "prefix" | "additionalToolNamePrefix" | "onServerError" | "onLog"
>;

/** The argument of `onConnectionError`. */
export interface ConnectionFailure {
  serverName: string;
  error: MCPClientError;
}

/** Headers and provider of one caller, for every server with a URL, on separate connections. */
export interface CustomHTTPTransportOptions {
  authProvider?: AnyAuthProvider | undefined;
  headers?: Record<string, string> | undefined;
}

/** A resource of a server. */
export interface MCPResource {
  uri: string;
  /** Its title, or else its name. */
  name: string;
  description?: string;
  mimeType?: string;
}

/** A resource template of a server. */
export interface MCPResourceTemplate {
  uriTemplate: string;
  /** Its title, or else its name. */
  name: string;
  description?: string;
  mimeType?: string;
}

/** One content of a resource: text, or bytes in base64. */
export interface MCPResourceContent {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
}

/** The state of the LangGraph run a call belongs to; empty outside LangGraph. */
export type HookState = Record<string, unknown>;

/** A call that is about to be made. */
export interface ToolCallRequest {
  serverName: string;
  /** The tool's name on its server. */
  name: string;
  args?: unknown;
}

/** What `beforeToolCall` may change. */
export interface ToolCallModification {
  /**
   * Replaces arguments of the model, key by key. New names are added after the arguments were
   * checked, so the schema of the tool need not contain them; changed values are checked.
   */
  args?: unknown;
  /** Sent with this call only; on HTTP no new connection is opened for it. */
  headers?: Record<string, string> | undefined;
}

/** A call with its result. */
export interface ToolCallResult extends ToolCallRequest {
  result: ToolOutput;
}

/** A `Command` of LangGraph, recognised by its marker field: LangGraph itself is not needed here. */
export interface GraphCommand {
  readonly lg_name: "Command";
}

/** What `afterToolCall` may return instead of the result. */
export interface ModifiedToolCallResult {
  /** Content, content and artifact, a message, or a LangGraph `Command`. */
  result: string | readonly [string | ContentBlock[], ToolArtifact[]] | ToolMessage | GraphCommand;
}

// biome-ignore lint/suspicious/noConfusingVoidType: a function without a return is a hook that changes nothing
type Nothing = undefined | void;
type Maybe<Value> = Value | Nothing | Promise<Value | Nothing>;

/** Functions that run before and after the call of a tool. */
export interface ToolHooks {
  /**
   * Called before every call; may change its arguments and add HTTP headers.
   * @example
   * ```ts
   * { beforeToolCall: ({ args }, state, config) => ({ headers: { "X-Thread": config.configurable?.thread_id } }) }
   * ```
   */
  beforeToolCall?: (
    request: ToolCallRequest,
    state: HookState,
    config: RunnableConfig,
  ) => Maybe<ToolCallModification>;
  /** Called with every result; may replace it. */
  afterToolCall?: (
    result: ToolCallResult,
    state: HookState,
    config: RunnableConfig,
  ) => Maybe<ModifiedToolCallResult>;
  /** Called when a server reports the progress of a call. */
  onProgress?: (progress: ProgressReport, source: ProgressSource) => void | Promise<void>;
}

/** The progress of a call. */
export interface ProgressReport {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
  /** Never set: MCP has no such field. Code from the README of `@langchain/mcp-adapters` looks at it first. */
  percentage?: undefined;
}

/** The call that the progress belongs to. */
export type ProgressSource =
  | { type: "tool"; name: string; args?: unknown; server: string }
  | { type: "unknown" };

/** Who sent a notification: the server's name, and its entry as it was configured. */
export interface ServerMessageSource {
  server: string;
  options: Connection;
}

/** The server whose list changed. */
export interface ListChange extends ServerMessageSource {
  /** Never set: `getTools()` returns the new tools. Code from the README of `@langchain/mcp-adapters` looks at it. */
  tools?: readonly never[] | undefined;
}

type Listener<Parameters extends unknown[]> = (...parameters: Parameters) => void | Promise<void>;

/** Receives the source twice: the package documents `(source)`, and its README uses `(event, source)`. */
type ListListener = Listener<[ListChange, ServerMessageSource]>;

/** Called for notifications from servers. Errors they throw go to the logger. */
export interface Notifications {
  /** A log message of a server. Request them with `setLoggingLevel`. */
  onMessage?: Listener<
    [{ level: LoggingLevel; logger?: string | undefined; data?: unknown }, ServerMessageSource]
  >;
  /** The handshake with a server is complete; called again after every reconnect. */
  onInitialized?: Listener<[ServerMessageSource]>;
  /** A server cancelled one of its requests. */
  onCancelled?: Listener<[{ requestId: RequestId; reason?: string | undefined }, ServerMessageSource]>;
  onPromptsListChanged?: ListListener;
  onResourcesListChanged?: ListListener;
  /** A subscribed resource has changed. */
  onResourcesUpdated?: Listener<[{ uri: string }, ServerMessageSource]>;
  onRootsListChanged?: ListListener;
  /** The tools of a server changed; `getTools()` returns the new ones. */
  onToolsListChanged?: ListListener;
}
