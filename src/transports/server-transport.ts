/** The shape all transports share: the SDK's `Transport`, plus what healing needs to know. */
import type {
  JSONRPCMessage,
  RequestId,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import type { TransportKind } from "../config/server-config.js";
import type { ProxyOption } from "../config/server-entry.js";
import type { ConnectionError } from "../errors/connection-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import type { AuthorizeRequests } from "./http/credentials/authorized-send.js";
import type { Resends } from "./resends.js";

/** Largest JSON-RPC message a transport accepts unless told otherwise. */
export const DEFAULT_MAX_MESSAGE_BYTES = 10 * 1024 * 1024;

/** What a transport of ours is given with a message. */
export interface ServerSendOptions extends TransportSendOptions {
  /** Limits how often the request may be sent again, with new credentials for one. @default no limit: it may run twice */
  resends?: Resends | undefined;
  /** No caller waits for the answer: the exchange does not keep the host process alive. @default false */
  background?: boolean | undefined;
}

/**
 * A transport of ours. `start()` rejects with a `ToolportError` when the way cannot be opened; `send()` rejects with
 * one (or with an error of the SDK's) when the message could not be handed over.
 */
export interface ServerTransport extends Transport {
  readonly kind: TransportKind;
  send(message: JSONRPCMessage, options?: ServerSendOptions): Promise<void>;
  /** Why the transport closed; set before `onclose` fires unless `close()` was called. */
  readonly closeError?: ToolportError | undefined;
  /**
   * An incoming message was over the cap and thrown away; the connection goes on. Without an `id` any request in
   * flight may be the one it answered.
   */
  ondiscard?: ((discarded: { id?: RequestId | undefined; error: ConnectionError }) => void) | undefined;
  /** The answer to this one request will not come: its own stream ended, was cut or was over the cap. */
  onstreamcut?: ((id: RequestId, error: ConnectionError) => void) | undefined;
  /** The server no longer knows our session (seen outside a request of ours, e.g. on the GET stream). */
  onsessionlost?: ((error: ConnectionError) => void) | undefined;
  /** Resolves at the process's first sign of life (a byte on stdout or stderr). Pipes only. */
  readonly firstSign?: Promise<void> | undefined;
  /** Process id; present only on transports that have a process (the SDK tests `'pid' in transport`). */
  readonly pid?: number | null | undefined;
  /**
   * Frees what a request still holds when its caller has given up, without a message to the server. Where it exists,
   * requests need no `requestSignal` and no `onRequestStreamEnd`: `onstreamcut` tells of every answer that will not come.
   * Returns true if it is known that the request was never sent.
   */
  abandon?(id: RequestId, why: GiveUpReason): boolean;
  /** Sends a request that is text already. For transports that would write it out as it is. */
  sendText?(text: string, id: RequestId): Promise<void>;
  /** Tell the server that the session is over, where the wire has such a message. Never throws. */
  endSession?(): Promise<void>;
}

/** Why a caller no longer waits: it aborted the request, or the request timed out. */
export type GiveUpReason = "abort" | "timeout";

/** What a transport gets from the port besides its server's configuration. */
export interface TransportContext {
  readonly maxMessageBytes: number;
  /** Access to the network over HTTP; shared by the servers of a port that have the same network options. */
  readonly http: HttpClient;
  /** Which proxy to use for connections that are not made by `http`. @default "env" */
  readonly proxy?: ProxyOption | undefined;
  /** Credentials that the port looks after. @default none */
  readonly authorize?: AuthorizeRequests | undefined;
}

/** How an `HttpClient` reaches the network. */
export interface HttpClientSettings {
  /** Makes the requests; proxies and sockets are its own part then. @default the client's own */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** @default "env" */
  readonly proxy?: ProxyOption | undefined;
  /** Sockets for requests to one origin at the same time. @default 256 */
  readonly maxSockets?: number | undefined;
}

/** Fetch-shaped access to the network with a pool behind it. */
export interface HttpClient {
  readonly fetch: typeof globalThis.fetch;
  /** Close idle and open sockets. */
  close(): Promise<void>;
}
