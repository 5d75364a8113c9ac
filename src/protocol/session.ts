/** One live MCP session with one server: the interface that the layers above use. */
import type { Client, Implementation, ServerCapabilities } from "@modelcontextprotocol/client";
import type { TransportKind } from "../config/server-config.js";
import type { ToolportError } from "../errors/toolport-error.js";
import type { ListKey, ListName } from "./change-watch.js";
import type { Era } from "./era.js";
import type { ResumableSession } from "./era-memory.js";
import type { SuspendableRequest } from "./input-pause.js";
import type { Relay } from "./relay.js";
import type { ChannelRequestOptions } from "./request-channel.js";
import type { ServerRequest } from "./server-requests/request-responder.js";

/** Options of one request. */
export interface SessionRequestOptions extends ChannelRequestOptions {
  /** The tool that the request belongs to, if its parameters do not name one. Callbacks of server requests receive it. */
  tool?: string | undefined;
  /**
   * Set if the request may be suspended while a person answers: it then ends with a result for which `inputPauseOf` returns
   * what the user is asked.
   */
  suspendable?: SuspendableRequest | undefined;
  /** Set for a request of a gateway's client. */
  relay?: Relay | undefined;
}

/** One live connection to one server. It does not reconnect: after a loss a new session replaces it. */
export interface Session {
  readonly server: string;
  readonly transport: TransportKind;
  readonly era: Era;
  readonly protocolVersion: string;
  readonly serverInfo: Implementation | undefined;
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
  /** The era was remembered from an earlier connection, and no response on this one has confirmed it yet. */
  readonly unproven: boolean;
  /** The server assigned a session id, which it may invalidate. */
  readonly hasSessionId: boolean;
  /** Number of responses that matched no open request, not counting late ones. */
  readonly droppedAnswers: number;
  /** Number of messages received so far. */
  readonly received: number;
  /** Number of open requests. */
  readonly inFlight: number;
  /** The result of `server/discover`; modern servers only. */
  readonly discover: Readonly<Record<string, unknown>> | undefined;
  /** The SDK's client, for everything that Toolport does not wrap. Loaded on first use. */
  client(): Promise<Client>;
  /** Resolves when the connection is closed; with the reason unless Toolport closed it. */
  readonly closed: Promise<ToolportError | undefined>;
  /**
   * Sends one request and returns its result. If a modern server requests input first, the input is collected within the same
   * limits. {@link dependsOnInput} is true for such a result; it must not be cached.
   */
  request(
    method: string,
    params: Record<string, unknown>,
    options: SessionRequestOptions,
  ): Promise<Record<string, unknown>>;
  /** Collects the input that a task of the server waits for. Not aborted with the connection: the task outlives it. */
  answerInputRequests(
    requests: Readonly<Record<string, ServerRequest>>,
    context: { tool: string; signal: AbortSignal },
  ): Promise<Record<string, unknown>>;
  /** Checks that the server responds: `ping`, or `server/discover` for modern servers, which have no ping. */
  ping(options: ChannelRequestOptions): Promise<void>;
  /** Sets the listener for requests that timed out while no message arrived at all. */
  onSilence(listener: () => void): void;
  onListChanged(listener: (list: ListName) => void): () => void;
  /** Calls the listener with lists whose changes the server reports from now on. Earlier changes may have been missed. */
  onListening(listener: (lists: readonly ListKey[]) => void): () => void;
  /** Whether the server reports changes of this list now. */
  isReporting(list: ListKey): boolean;
  /**
   * Receives changes of lists, if the session was opened without that. Resolves with a function that stops it, when the server
   * reports changes or takes long. Never rejects.
   */
  listen(): Promise<() => void>;
  /**
   * Subscribes to a resource; changes arrive as `notifications/resources/updated`. Calls `onGap` when changes may have been
   * missed. Resolves with a function that unsubscribes and never rejects.
   */
  watchResource(uri: string, onGap: () => void, limits: ChannelRequestOptions): Promise<() => Promise<void>>;
  /** Makes `close()` leave the session open at the server. False if a later connection could not go on with it. */
  keepAtServer(): boolean;
  /** Legacy servers: what a later connection needs to go on with this session. */
  readonly resume: ResumableSession | undefined;
  /** Rejects new requests, waits for the open ones, then closes. */
  retire(): Promise<void>;
  /** Ends the session at the server and closes the transport. */
  close(): Promise<void>;
}
