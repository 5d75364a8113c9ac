/** Functions of the user's that see, and may change, what passes between LangChain and the servers. */
import type { ContentBlock, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { LoggingLevel, RequestId } from "@modelcontextprotocol/client";
import type { Connection } from "./client-config.js";
import type { ToolArtifact, ToolOutput } from "./content.js";

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
   * Put over the arguments of the model, key by key. Names that the model did not give are added after the arguments were
   * checked, so the tool's schema need not list them; changed values are checked.
   */
  args?: unknown;
  /** Sent with this call only; on HTTP no new connection is opened for it. */
  headers?: Record<string, string> | undefined;
}

/** A call that was answered. */
export interface ToolCallResult extends ToolCallRequest {
  result: ToolOutput;
}

/** A `Command` of LangGraph, known by its mark: LangGraph itself is not needed here. */
export interface GraphCommand {
  readonly lg_name: "Command";
}

/** What `afterToolCall` may put in place of the result. */
export interface ModifiedToolCallResult {
  /** Content, content and artifact, a message, or a LangGraph `Command`. */
  result: string | readonly [string | ContentBlock[], ToolArtifact[]] | ToolMessage | GraphCommand;
}

// biome-ignore lint/suspicious/noConfusingVoidType: a function without a return is a hook that changes nothing
type Nothing = undefined | void;
type Maybe<Value> = Value | Nothing | Promise<Value | Nothing>;

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
  /** Called with every answer; may put another in its place. */
  afterToolCall?: (
    result: ToolCallResult,
    state: HookState,
    config: RunnableConfig,
  ) => Maybe<ModifiedToolCallResult>;
  /** Called when a server tells how far a call is. */
  onProgress?: (progress: ProgressReport, source: ProgressSource) => void | Promise<void>;
}

/** How far a call is. */
export interface ProgressReport {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
  /** Never set: MCP has no such field. Code from the README of `@langchain/mcp-adapters` looks at it first. */
  percentage?: undefined;
}

/** What progress is about. */
export type ProgressSource =
  | { type: "tool"; name: string; args?: unknown; server: string }
  | { type: "unknown" };

/** Who sent a notification: the server's name, and its entry as it was configured. */
export interface ServerMessageSource {
  server: string;
  options: Connection;
}

/** Which server's list has changed. */
export interface ListChange extends ServerMessageSource {
  /** Never set: `getTools()` returns the new tools. Code from the README of `@langchain/mcp-adapters` looks at it. */
  tools?: readonly never[] | undefined;
}

type Listener<Parameters extends unknown[]> = (...parameters: Parameters) => void | Promise<void>;

/** Gets the source twice: the package documents `(source)`, and its README writes `(event, source)`. */
type ListListener = Listener<[ListChange, ServerMessageSource]>;

/** Called when a server tells something by itself. What they throw goes to the logger. */
export interface Notifications {
  /** A log message of a server. Ask for them with `setLoggingLevel`. */
  onMessage?: Listener<
    [{ level: LoggingLevel; logger?: string | undefined; data?: unknown }, ServerMessageSource]
  >;
  /** The handshake with a server is done; after every reconnect again. */
  onInitialized?: Listener<[ServerMessageSource]>;
  /** A server takes back a request it has made. */
  onCancelled?: Listener<[{ requestId: RequestId; reason?: string | undefined }, ServerMessageSource]>;
  onPromptsListChanged?: ListListener;
  onResourcesListChanged?: ListListener;
  /** A resource somebody subscribed to has changed. */
  onResourcesUpdated?: Listener<[{ uri: string }, ServerMessageSource]>;
  onRootsListChanged?: ListListener;
  /** The tools of a server changed; `getTools()` returns the new ones. */
  onToolsListChanged?: ListListener;
}
