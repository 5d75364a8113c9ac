/** The request, response and client types of Toolport's own HTTP layers, lighter than those of the fetch API. */

import type { Slotted } from "../../../util/slot-list.js";
import type { HttpClient } from "../../server-transport.js";

/** Checks an address that a host name resolved to; returns the error to fail with, or undefined. */
export type AddressCheck = (address: string) => Error | undefined;

export interface WireRequest {
  readonly url: URL;
  readonly method: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | null | undefined;
  /** Aborts the exchange like a signal. */
  readonly handle?: AbortHandle | undefined;
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

/** What an {@link AbortHandle} aborts. */
export interface Abortable {
  /** The caller fails with `reason` itself. Returns true if nothing was sent. Does nothing if the exchange is over. */
  abort(reason: unknown): unknown;
}

/** Aborts one exchange, like an `AbortSignal` but cheaper. */
export class AbortHandle implements Slotted {
  slot = -1;
  #aborted: { readonly reason: unknown } | undefined;
  #exchange: Abortable | undefined;
  #controller: AbortController | undefined;

  get aborted(): boolean {
    return this.#aborted !== undefined;
  }

  /** For APIs that accept only a signal; created on first use. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    return this.#controller.signal;
  }

  /** Sets the exchange to abort. */
  attach(exchange: Abortable): void {
    this.#exchange = exchange;
    if (this.#aborted !== undefined) exchange.abort(this.#aborted.reason);
  }

  /** Returns true if nothing was sent. */
  abort(reason: unknown): boolean {
    if (this.#aborted !== undefined) return false;
    this.#aborted = { reason };
    const isUnsent = this.#exchange === undefined || this.#exchange.abort(reason) === true;
    this.#controller?.abort(reason);
    return isUnsent;
  }

  throwIfAborted(): void {
    if (this.#aborted !== undefined) throw this.#aborted.reason;
  }
}
