/** The requests of one Streamable HTTP connection whose answers are still to come. */
import type { RequestId, TransportSendOptions } from "@modelcontextprotocol/client";
import { ConnectionError } from "../../errors/connection-error.js";
import { onSharedAbort } from "../../util/shared-abort.js";
import type { Lifeline } from "./lifeline.js";

/** One request on its way. */
export interface OpenRequest {
  readonly id: RequestId;
  /** Of the stateless era: a broken stream cannot be resumed. */
  readonly modern: boolean;
  readonly options: TransportSendOptions | undefined;
  /** What its exchange of the moment hangs on; another one after a resume. */
  line: Lifeline;
  /** Nobody waits for it any more: answered, failed or given up. */
  settled: boolean;
  /** Its exchange is over; an answer can only come by a resume. */
  streamEnded: boolean;
  /** The last event id seen in its stream. */
  token?: string | undefined;
  /** Why the stream broke. */
  cause?: unknown;
  /** Stops listening to the caller's signal. */
  release?: (() => void) | undefined;
}

/** A header value that can carry this event id exists. */
const isHeaderSafe = (token: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(token);

/** The rest of its answer can be asked for. */
export const isResumable = ({ modern, token }: OpenRequest): boolean =>
  !modern && token !== undefined && isHeaderSafe(token);

export class RequestLedger {
  readonly #open = new Map<RequestId, OpenRequest>();
  readonly #onCut: (id: RequestId, error: ConnectionError) => void;

  constructor(onCut: (id: RequestId, error: ConnectionError) => void) {
    this.#onCut = onCut;
  }

  add({ id, modern, options, line }: Pick<OpenRequest, "id" | "modern" | "options" | "line">): OpenRequest {
    const own: OpenRequest = {
      id,
      modern,
      options,
      line,
      settled: false,
      streamEnded: false,
      token: undefined,
      cause: undefined,
      release: undefined,
    };
    this.#open.set(own.id, own);
    const signal = own.options?.requestSignal;
    if (signal !== undefined) {
      const giveUp = () => this.#giveUp(own, signal.reason);
      if (signal.aborted) giveUp();
      else own.release = onSharedAbort(signal, giveUp);
    }
    return own;
  }

  /** Answered. */
  answered(id: RequestId): void {
    const own = this.#open.get(id);
    if (own !== undefined) this.settle(own);
  }

  /** Nothing more is to be reported about it. */
  settle(own: OpenRequest): void {
    if (own.settled) return;
    own.settled = true;
    if (this.#open.get(own.id) === own) this.#open.delete(own.id);
    // As long as its stream is open, the caller's signal still ends it.
    if (own.streamEnded) own.release?.();
  }

  /** Its exchange is over. */
  ended(own: OpenRequest): void {
    own.streamEnded = true;
    if (own.settled) own.release?.();
  }

  /** The caller no longer wants the answer. */
  abandon(id: RequestId): void {
    const own = this.#open.get(id);
    if (own !== undefined) this.#giveUp(own, ABANDONED);
  }

  /** Reports that the answer will not come, once. */
  cut(own: OpenRequest, error?: ConnectionError): void {
    if (own.settled) return;
    this.settle(own);
    own.options?.onRequestStreamEnd?.();
    this.#onCut(own.id, error ?? streamCut(own.cause));
  }

  /** Somebody waits for the rest of an answer. */
  get isWaiting(): boolean {
    for (const own of this.#open.values()) if (own.streamEnded) return true;
    return false;
  }

  clear(): void {
    for (const own of [...this.#open.values()]) this.settle(own);
  }

  #giveUp(own: OpenRequest, reason: unknown): void {
    this.settle(own);
    own.release?.();
    own.line.abort(reason);
  }
}

/** The reason of an exchange that nobody waits for; nobody sees it, so it is built once. */
export const ABANDONED = new Error("abandoned");

export function streamCut(cause?: unknown): ConnectionError {
  return new ConnectionError({
    code: "STREAM_CUT",
    what: "The server's answer stream ended before the answer",
    next: "Call again if the call may run twice",
    retryable: true,
    outcome: "unknown",
    cause,
  });
}
