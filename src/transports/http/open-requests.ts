/** The requests of one Streamable HTTP connection that have no response yet. */
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import { ConnectionError } from "../../errors/toolport-error.js";
import { SlotList, type Slotted } from "../../util/collections.js";
import { onSharedAbort } from "../../util/timers.js";
import type { ServerSendOptions, StreamState } from "../server-transport.js";
import type { Endpoint, Exchange } from "./endpoint.js";
import type { Discard } from "./events/event-frames.js";
import type { MessageHeaders } from "./message-headers.js";
import type { Redact } from "./network/http-errors.js";

/** A request without a response. */
export interface OpenRequest extends Slotted {
  readonly id: RequestId;
  /** Sent with a stateless revision: a broken stream cannot be resumed. */
  readonly modern: boolean;
  readonly options: ServerSendOptions | undefined;
  /** The current exchange; replaced by a resume. */
  exchange: Exchange;
  /** No caller waits any more: the request was answered, failed or was given up. */
  settled: boolean;
  /** The exchange is over; the response can only arrive through a resume. */
  streamEnded: boolean;
  /** The last event id of the stream. */
  token?: string | undefined;
  /** Why the stream broke. */
  cause?: unknown;
  /** Stops listening to the caller's signal. */
  release?: (() => void) | undefined;
}

type NewRequest = Pick<OpenRequest, "id" | "modern" | "options" | "exchange">;

/** Whether the event id can be sent in a header. */
const isHeaderSafe = (token: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(token);

/** Whether the rest of the response can be requested. */
export const isResumable = ({ modern, token }: OpenRequest): boolean =>
  !modern && token !== undefined && isHeaderSafe(token);

/**
 * Uses a `SlotList` and not a `Map`: with high churn, entries of a Map survive minor GCs. Nearly every response arrives in
 * the exchange of its request, so a search by id is rare.
 */
export class OpenRequests {
  readonly #open = new SlotList<OpenRequest>();
  readonly #onCut: (id: RequestId, error: ConnectionError) => void;

  constructor(onCut: (id: RequestId, error: ConnectionError) => void) {
    this.#onCut = onCut;
  }

  add({ id, modern, options, exchange }: NewRequest): OpenRequest {
    const own: OpenRequest = { id, modern, options, exchange, slot: -1, settled: false, streamEnded: false };
    this.#open.add(own);
    const signal = own.options?.requestSignal;
    if (signal !== undefined) {
      const giveUp = () => this.#giveUp(own, signal.reason);
      if (signal.aborted) giveUp();
      else own.release = onSharedAbort(signal, giveUp);
    }
    return own;
  }

  /** A response arrived; `likely` is the request in whose exchange it arrived. */
  answered(id: RequestId, likely?: OpenRequest): void {
    const own = likely?.id === id ? likely : this.#find(id);
    if (own !== undefined) this.settle(own);
  }

  /** Marks the request as done: nothing more is reported for it. */
  settle(own: OpenRequest): void {
    if (own.settled) return;
    own.settled = true;
    this.#open.delete(own);
    // While the stream is open, the caller's signal still has to end it.
    if (own.streamEnded) own.release?.();
  }

  /** Marks the exchange as over. */
  ended(own: OpenRequest): void {
    own.streamEnded = true;
    if (own.settled) own.release?.();
  }

  /** The caller gave up; `reason` aborts the exchange. True if the request was never sent. */
  abandon(id: RequestId, reason: unknown): boolean {
    const own = this.#find(id);
    return own !== undefined && this.#giveUp(own, reason);
  }

  /** Reports once that the response will not arrive. */
  cut(own: OpenRequest, error?: ConnectionError): void {
    if (own.settled) return;
    this.settle(own);
    own.options?.onRequestStreamEnd?.();
    this.#onCut(own.id, error ?? streamCut(own.cause));
  }

  /** Whether a caller waits for the rest of a response. */
  get isWaiting(): boolean {
    return this.#open.find(({ streamEnded }) => streamEnded) !== undefined;
  }

  clear(): void {
    for (const own of this.#open.toArray()) this.settle(own);
  }

  #find(id: RequestId): OpenRequest | undefined {
    return this.#open.find((own) => own.id === id);
  }

  #giveUp(own: OpenRequest, reason: unknown): boolean {
    // A resumed exchange was not sent yet, but its original request was.
    const isFirst = !own.streamEnded && own.token === undefined;
    this.settle(own);
    own.release?.();
    own.exchange.abort(reason);
    return isFirst && !own.exchange.isSent;
  }
}

export function streamCut(cause?: unknown): ConnectionError {
  return new ConnectionError({
    code: "STREAM_CUT",
    what: "The server's event stream ended before the response",
    next: "Call again if the call may run twice",
    retryable: true,
    outcome: "unknown",
    cause,
  });
}

export interface EndpointContext {
  readonly endpoint: Endpoint;
  readonly messageHeaders: MessageHeaders;
  readonly requests: OpenRequests;
  readonly maxMessageBytes: number;
  /** Redacts secrets in text from the server. Call it before shortening the text: half a secret is still a secret. */
  readonly redact: Redact;
  /** Called for every message; `own` is the request in whose response it arrived. Never throws. */
  readonly onMessage: (message: JSONRPCMessage, own?: OpenRequest) => void;
  /** Called for errors that concern no request. */
  readonly onError: (error: Error) => void;
  readonly onDiscard: Discard;
  readonly onStream: (state: StreamState) => void;
  readonly onSessionLost: (error: ConnectionError) => void;
}
