/** The requests of one Streamable HTTP connection whose answers are still to come. */
import type { RequestId } from "@modelcontextprotocol/client";
import { ConnectionError } from "../../errors/connection-error.js";
import { onSharedAbort } from "../../util/shared-abort.js";
import { SlotList, type Slotted } from "../../util/slot-list.js";
import type { ServerSendOptions } from "../server-transport.js";
import type { AbortHandle } from "./network/wire-client.js";

/** One request on its way. */
export interface OpenRequest extends Slotted {
  readonly id: RequestId;
  /** Of the stateless era: a broken stream cannot be resumed. */
  readonly modern: boolean;
  readonly options: ServerSendOptions | undefined;
  /** What its exchange of the moment hangs on; another one after a resume. */
  handle: AbortHandle;
  /** Nobody waits for it any more: answered, failed or given up. */
  settled: boolean;
  /** Its exchange is over; an response can only come by a resume. */
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

/** The rest of its response can be asked for. */
export const isResumable = ({ modern, token }: OpenRequest): boolean =>
  !modern && token !== undefined && isHeaderSafe(token);

/**
 * No `Map`: of one with much coming and going the garbage collector gets rid only when it looks at the whole heap (see
 * `SlotList`). Nearly every response comes to whoever knows its request; the few others are looked for.
 */
export class OpenRequests {
  readonly #open = new SlotList<OpenRequest>();
  readonly #onCut: (id: RequestId, error: ConnectionError) => void;

  constructor(onCut: (id: RequestId, error: ConnectionError) => void) {
    this.#onCut = onCut;
  }

  add({
    id,
    modern,
    options,
    handle,
  }: Pick<OpenRequest, "id" | "modern" | "options" | "handle">): OpenRequest {
    const own: OpenRequest = {
      slot: -1,
      id,
      modern,
      options,
      handle,
      settled: false,
      streamEnded: false,
      token: undefined,
      cause: undefined,
      release: undefined,
    };
    this.#open.add(own);
    const signal = own.options?.requestSignal;
    if (signal !== undefined) {
      const giveUp = () => this.#giveUp(own, signal.reason);
      if (signal.aborted) giveUp();
      else own.release = onSharedAbort(signal, giveUp);
    }
    return own;
  }

  /** Answered; `likely` is the request whose response it was in. */
  answered(id: RequestId, likely?: OpenRequest): void {
    const own = likely?.id === id ? likely : this.#find(id);
    if (own !== undefined) this.settle(own);
  }

  /** Nothing more is to be reported about it. */
  settle(own: OpenRequest): void {
    if (own.settled) return;
    own.settled = true;
    this.#open.delete(own);
    // As long as its stream is open, the caller's signal still ends it.
    if (own.streamEnded) own.release?.();
  }

  /** Its exchange is over. */
  ended(own: OpenRequest): void {
    own.streamEnded = true;
    if (own.settled) own.release?.();
  }

  /** The caller no longer wants the response; `reason` ends its exchange. True if the request was never sent. */
  abandon(id: RequestId, reason: unknown): boolean {
    const own = this.#find(id);
    return own !== undefined && this.#giveUp(own, reason);
  }

  /** Reports that the response will not come, once. */
  cut(own: OpenRequest, error?: ConnectionError): void {
    if (own.settled) return;
    this.settle(own);
    own.options?.onRequestStreamEnd?.();
    this.#onCut(own.id, error ?? streamCut(own.cause));
  }

  /** Somebody waits for the rest of an response. */
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
    // A resumed response has a handle of its own: its request was sent long before.
    const isFirst = !own.streamEnded && own.token === undefined;
    this.settle(own);
    own.release?.();
    return own.handle.abort(reason) && isFirst;
  }
}

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
