/** What our own HTTP layers say to each other: one request, one response, a body that is pushed and can be stopped. */

import type { Slotted } from "../../../util/slot-list.js";
import type { HttpClient } from "../../server-transport.js";

/** Says no to an address a host name resolved to, by returning the error to fail with. */
export type AddressCheck = (address: string) => Error | undefined;

export interface WireRequest {
  readonly url: URL;
  readonly method: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | null | undefined;
  /** Ends it as a signal does. */
  readonly handle?: AbortHandle | undefined;
  /** A stream for whatever the server may have to say, which keeps no host process alive. @default false */
  readonly background?: boolean | undefined;
  /** Sent at once, whatever the limit on sockets: requests that hold sockets may wait for what it says. @default false */
  readonly isControl?: boolean | undefined;
  /** Asked about every address before a connection is opened, where the runtime lets us resolve names ourselves. */
  readonly checkAddress?: AddressCheck | undefined;
}

/** Where a body goes. Nothing is called after `end`, `fail` or the body's `cancel`. */
export interface BodySink {
  /** Returns false to be left alone until `resume()`. */
  chunk(bytes: Uint8Array): boolean;
  end(): void;
  fail(error: unknown): void;
}

/** The body of an response, which waits until somebody takes it. */
export interface ResponseBody {
  pipe(sink: BodySink): void;
  resume(): void;
  /** Stops the flow; a connection in mid-response is destroyed. */
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

/** An `HttpClient` with the light way in: no `Request`, no `Response`, no web stream. */
export interface WireClient extends HttpClient {
  /** Redirects are never followed. */
  open(request: WireRequest): Promise<WireResponse>;
}

/** Reason of an exchange whose caller gave up. No caller sees it, so one object serves all. */
export const ABANDONED = new Error("abandoned");
/** The same, because no response came in time. Kept sockets to that server may be dead, so those that are idle are closed. */
export const NO_RESPONSE = new Error("no answer in time");

/** The exchange ended because no caller waits for it any more. */
export const isAbandoned = (reason: unknown): boolean => reason === ABANDONED || reason === NO_RESPONSE;

/** What a lifeline ends. */
export interface Abortable {
  /** The caller fails with the reason as it is. Returns true if it is known that nothing was sent. Does nothing if it is over. */
  abort(reason: unknown): unknown;
}

export class AbortHandle implements Slotted {
  slot = -1;
  #aborted: { readonly reason: unknown } | undefined;
  #exchange: Abortable | undefined;
  #controller: AbortController | undefined;

  get aborted(): boolean {
    return this.#aborted !== undefined;
  }

  /** For those who take nothing but a signal; made when it is asked for. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    return this.#controller.signal;
  }

  /** This is what hangs on it now. */
  attach(exchange: Abortable): void {
    this.#exchange = exchange;
    if (this.#aborted !== undefined) exchange.abort(this.#aborted.reason);
  }

  /** Returns true if it is known that nothing was sent. */
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
