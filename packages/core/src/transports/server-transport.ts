/** What all transports share: their interface, the messages they read, and the limit on sending a call again. */
import type {
  JSONRPCMessage,
  MessageExtraInfo,
  RequestId,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import {
  type AbortSource,
  ConnectionError,
  isRecord,
  type Outcome,
  parseJson,
  type ToolportError,
} from "@toolport/base";
import type { ProxyOption } from "@toolport/http/proxy-option";
import type { HttpClient } from "@toolport/http/wire-client";
import type { TransportKind } from "../config/server-config.js";

/** Default of `maxMessageBytes`. */
export const DEFAULT_MAX_MESSAGE_BYTES = 10 * 1024 * 1024;

/** Options of `ServerTransport.send()`. */
export interface ServerSendOptions extends TransportSendOptions {
  /** Limits how often the request may be sent again, for example with new credentials. @default no limit */
  resends?: Resends | undefined;
  /** No caller waits for the response: the exchange does not keep the host process alive. @default false */
  background?: boolean | undefined;
}

/** What a transport knows about a message of the server. */
export interface MessageOrigin extends MessageExtraInfo {
  /** The request in whose response stream the message arrived. Only Streamable HTTP has such streams. */
  readonly ownRequestId?: RequestId | undefined;
}

/**
 * A transport. `start()` rejects with a `ToolportError` if the connection cannot be opened; `send()` rejects with one (or
 * with an error of the SDK) if the message could not be sent.
 */
export interface ServerTransport extends Transport {
  readonly kind: TransportKind;
  onmessage?: (<T extends JSONRPCMessage>(message: T, origin?: MessageOrigin) => void) | undefined;
  send(message: JSONRPCMessage, options?: ServerSendOptions): Promise<void>;
  /** Why the transport closed. Set before `onclose` is called, unless `close()` was called. */
  readonly closeError?: ToolportError | undefined;
  /**
   * An incoming message exceeded the size limit and was discarded; the connection stays open. Without an `id`, it may have
   * answered any request in flight.
   */
  ondiscard?: ((discarded: { id?: RequestId | undefined; error: ConnectionError }) => void) | undefined;
  /** The response to this request will not arrive: its stream ended, broke or exceeded the size limit. */
  onstreamcut?: ((id: RequestId, error: ConnectionError) => void) | undefined;
  /** The server no longer knows the session. Reported here if noticed outside a request, for example on the GET stream. */
  onsessionlost?: ((error: ConnectionError) => void) | undefined;
  /** Reports the stream for messages that belong to no request, for transports with {@link listen}. */
  onstream?: ((state: StreamState) => void) | undefined;
  /** Resolves with the first byte that the process writes to stdout or stderr. Process transports only. */
  readonly firstSign?: Promise<void> | undefined;
  /** Process id; present only on transports that have a process (the SDK tests `'pid' in transport`). */
  readonly pid?: number | null | undefined;
  /**
   * Frees the resources of a request whose caller has given up, without a message to the server. A transport with this method
   * needs no `requestSignal` and no `onRequestStreamEnd`: `onstreamcut` reports every response that will not arrive. Returns
   * true if the request was never sent.
   */
  abandon?(id: RequestId, why: GiveUpReason): boolean;
  /**
   * Opens the stream for messages that belong to no request, if the transport has one and it is not open yet. Returns a
   * function that closes it.
   */
  listen?(): () => void;
  /** Goes on with a session that is open at the server. For transports that keep no connection open for a session. */
  resumeSession?(id: string | undefined): void;
  /** Tells the server that the session is over, if the protocol has such a message. Never throws. */
  endSession?(): Promise<void>;
}

/** State of the stream for messages that belong to no request. `ended`: it ended, or cannot be opened. */
export type StreamState = "requested" | "open" | "ended";

/** Why a caller no longer waits: it aborted the request, or the request timed out. */
export type GiveUpReason = "abort" | "timeout";

/** What a transport receives from the port, besides the configuration of its server. */
export interface TransportContext {
  readonly maxMessageBytes: number;
  /** The HTTP client; shared by all servers of a port with the same network options. */
  readonly http: HttpClient;
  /** Which proxy to use for connections that `http` does not make. @default "env" */
  readonly proxy?: ProxyOption | undefined;
  /** False: the stream for messages that belong to no request is opened by `listen()`. @default true */
  readonly listensAtOnce?: boolean | undefined;
  /** Receives what the process writes to stderr. Process transports only. @default none */
  readonly onStderr?: ((chunk: Uint8Array) => void) | undefined;
  /** The credentials of a server, if the port manages them. Undefined: those of the entry's `authProvider`. @default none */
  readonly authorizedSendOf?: ((server: string) => AuthorizedSend | undefined) | undefined;
}

/** Sends the request once, with these headers in addition to its own. */
export type SendWithFields = (fields: Readonly<Record<string, string>>) => Promise<Response>;

/**
 * Sends a request with the current credentials and, if the server rejects them, again with renewed ones.
 *
 * @throws AuthError if a user has to authorize first
 */
export type AuthorizedSend = (request: RequestToAuthorize, send: SendWithFields) => Promise<Response>;

/** The request to send. */
export interface RequestToAuthorize {
  readonly method: string;
  readonly url: URL;
  readonly signal?: AbortSource | null | undefined;
  /** The `authorization` header that the request already has. */
  readonly authorization?: string | undefined;
}

/**
 * The resends left for one call on one server: retries, a new session, new credentials. All layers share one object, from
 * the retry step down to the credentials of a request, so that their limits do not multiply.
 */
export interface Resends {
  /** Takes one resend; false if none is left. */
  take(): boolean;
  /**
   * Takes one resend for a new session or new credentials, at most once per call. A server that rejects every send, but runs
   * the call each time, must not receive it more often.
   */
  takeRecovery(): boolean;
}

/** The connection was closed by `close()`. */
export function closedError(outcome: Outcome, cause?: unknown): ConnectionError {
  const what = "The connection is closed";
  return new ConnectionError({ code: "CLOSED", what, retryable: true, outcome, cause });
}

/** A message was sent while the connection is not open. @param cause why it closed */
export function notOpenError(server: string, cause: ToolportError | undefined): ConnectionError {
  const what = "The connection is not open";
  return new ConnectionError({ code: "CLOSED", what, server, retryable: true, outcome: "unsent", cause });
}

/** Ids of the responses in a rejected batch, so that their requests can fail at once. */
export function responseIds(batch: readonly unknown[]): Set<RequestId> {
  const ids = new Set<RequestId>();
  for (const entry of batch) {
    if (typeof entry !== "object" || entry === null || "method" in entry) continue;
    const { id } = entry as { id?: unknown };
    if (typeof id === "string" || typeof id === "number") ids.add(id);
  }
  return ids;
}

/**
 * Parses one message; the SDK checks the rest of its structure. Returns the ids of the requests it answers for a batch
 * (batches were removed from the protocol in 2025-06-18), and undefined for anything else.
 */
export function parseMessage(text: string): JSONRPCMessage | ReadonlySet<RequestId> | undefined {
  const value = parseJson(text);
  if (Array.isArray(value)) return responseIds(value);
  if (typeof value !== "object" || value === null) return undefined;
  return (value as { jsonrpc?: unknown }).jsonrpc === "2.0" ? (value as JSONRPCMessage) : undefined;
}

/** A JSON-RPC error response. */
interface RpcErrorMessage {
  readonly jsonrpc: "2.0";
  readonly id?: unknown;
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** The value as a JSON-RPC error response, with or without an id; undefined if it is none. */
export function asRpcError(value: unknown): RpcErrorMessage | undefined {
  if (!isRecord(value) || value["jsonrpc"] !== "2.0" || "method" in value || !isRecord(value["error"]))
    return undefined;
  const { code, message } = value["error"];
  return typeof code === "number" && typeof message === "string"
    ? (value as Partial<RpcErrorMessage> as RpcErrorMessage)
    : undefined;
}
