/** The requests of one Streamable HTTP connection whose answers are still to come. */
import type { RequestId } from "@modelcontextprotocol/client";
import { ConnectionError } from "../../errors/connection-error.js";

/** One request on its way. */
export interface OpenRequest {
  readonly id: RequestId;
  /** Goes with the request as a header that never leaves the process. */
  readonly key: string;
  /** Of the stateless era: a broken stream cannot be resumed. */
  readonly modern: boolean;
  /** An `authorization` of this request's own; the SDK sends only the connection's. */
  authorization?: string | undefined;
  /** The last event id seen in its stream. */
  token?: string | undefined;
  /** Its stream ended or broke; an answer can only come by a resume. */
  streamEnded: boolean;
  /** Called when nothing more is to be reported about it. */
  release?: (() => void) | undefined;
  /** A resume was answered by a demand for authorization. */
  challenged?: boolean;
  /** Why the stream broke, where we know better than the SDK. */
  cause?: unknown;
}

const MAX_DEAD = 256;

/** A header value that can carry this event id exists. */
const isHeaderSafe = (token: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(token);

export class RequestLedger {
  readonly #open = new Map<string, OpenRequest>();
  readonly #keys = new Map<RequestId, string>();
  /** Event ids after which nobody waits any more; the SDK may still ask to resume there. */
  readonly #dead = new Set<string>();
  readonly #onCut: (id: RequestId, error: ConnectionError) => void;
  #next = 0;

  constructor(onCut: (id: RequestId, error: ConnectionError) => void) {
    this.#onCut = onCut;
  }

  add(id: RequestId, modern: boolean): OpenRequest {
    const request: OpenRequest = { id, key: String(++this.#next), modern, streamEnded: false };
    this.#open.set(request.key, request);
    this.#keys.set(id, request.key);
    return request;
  }

  byKey(key: string | undefined): OpenRequest | undefined {
    return key === undefined ? undefined : this.#open.get(key);
  }

  /** Answered, cancelled or failed: nothing more is to be reported about it. */
  settle(id: RequestId): void {
    const key = this.#keys.get(id);
    if (key === undefined) return;
    this.#keys.delete(id);
    const request = this.#open.get(key);
    this.#open.delete(key);
    request?.release?.();
  }

  /** The caller no longer wants the answer. */
  forget(id: RequestId): void {
    const request = this.byKey(this.#keys.get(id));
    if (request?.token !== undefined) this.#bury(request.token);
    this.settle(id);
  }

  /** Reports that the answer will not come, once. */
  cut(request: OpenRequest, error?: ConnectionError): void {
    if (this.#open.get(request.key) !== request) return;
    this.forget(request.id);
    this.#onCut(request.id, error ?? streamCut(request.cause));
  }

  /** Requests whose stream is over and that wait to be resumed, all or those that saw this event last. */
  waiting(token?: string): OpenRequest[] {
    const found: OpenRequest[] = [];
    for (const request of this.#open.values()) {
      if (request.streamEnded && (token === undefined || request.token === token)) found.push(request);
    }
    return found;
  }

  /** Reports those that wait for a resume that cannot be: it is not in their era, or their event id is no header value. */
  cutHopeless(): void {
    for (const request of this.waiting()) {
      if (request.modern || (request.token !== undefined && !isHeaderSafe(request.token))) this.cut(request);
    }
  }

  /** Whether nobody waits for what comes after this event. Good for one question: the SDK asks once. */
  takeDead(token: string): boolean {
    return this.#dead.delete(token);
  }

  clear(): void {
    for (const request of [...this.#open.values()]) this.settle(request.id);
    this.#dead.clear();
  }

  #bury(token: string): void {
    this.#dead.add(token);
    const [oldest] = this.#dead;
    if (this.#dead.size > MAX_DEAD && oldest !== undefined) this.#dead.delete(oldest);
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
