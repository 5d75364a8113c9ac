/** The request, response and client types of Toolport's own HTTP layers, lighter than those of the fetch API. */
import type { AbortSource } from "../../../util/timers.js";
import type { HttpClient } from "../../server-transport.js";

/** Checks an address that a host name resolved to; returns the error to fail with, or undefined. */
export type AddressCheck = (address: string) => Error | undefined;

export interface WireRequest {
  readonly url: URL;
  readonly method: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  /** Aborts the exchange. The caller fails with its reason. */
  readonly signal?: AbortSource | null | undefined;
  /** Called when the socket is open: from then on it is unknown what the server has read. */
  readonly onSent?: (() => void) | undefined;
  /** A long-lived stream that does not keep the host process alive. @default false */
  readonly background?: boolean | undefined;
  /** Sent regardless of the socket limit: requests that hold sockets may wait for this message. @default false */
  readonly isControl?: boolean | undefined;
  /** The request is sent when this promise resolves; its socket may be opened before. Must not reject. @default at once */
  readonly sendAfter?: Promise<void> | undefined;
  /** Called for every address before a connection is opened, if the runtime lets us resolve names ourselves. */
  readonly checkAddress?: AddressCheck | undefined;
}

/** Receives a body. Nothing is called after `end`, `fail` or the body's `cancel`. */
export interface BodySink {
  /** Returns false to pause the body until `resume()`. */
  chunk(bytes: Uint8Array): boolean;
  end(): void;
  fail(error: unknown): void;
}

/** The body of a response. It does not flow before `pipe()`. */
export interface ResponseBody {
  pipe(sink: BodySink): void;
  resume(): void;
  /** Stops the flow. The connection is destroyed if the body is incomplete. */
  cancel(): void;
}

/** The part of `Headers` that the SDK uses. */
export interface ResponseHeaders extends Iterable<[string, string]> {
  get(name: string): string | null;
  has(name: string): boolean;
}

export interface WireResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: ResponseHeaders;
  readonly body: ResponseBody;
}

/** An `HttpClient` with a faster method, which creates no `Request`, `Response` or web stream. */
export interface WireClient extends HttpClient {
  /** Never follows redirects. */
  open(request: WireRequest): Promise<WireResponse>;
}

/** Abort reason of an exchange whose caller gave up. No caller sees it, so one object is enough. */
export const ABANDONED = new Error("abandoned");
/** The same after a timeout. Idle sockets to that server are closed too, because they may be dead. */
export const NO_RESPONSE = new Error("no response in time");

/** Whether the exchange was aborted because its caller gave up. */
export const isAbandoned = (reason: unknown): boolean => reason === ABANDONED || reason === NO_RESPONSE;
