/** Responses that match no open request: late ones are ignored, all others are counted, and the first is reported. */
import type { RequestId } from "@modelcontextprotocol/client";
import { ConnectionError } from "../errors/connection-error.js";

/** Maximum number of cancelled requests that are remembered. */
const MAX_LATE_IDS = 1_000;

/** Ids that are safe to quote in a message. */
const PLAIN_ID = /^[\w.:-]{1,64}$/;

export class DroppedResponses {
  readonly #server: string;
  readonly #report: (error: ConnectionError) => void;
  readonly #lateIds = new Set<RequestId>();
  #count = 0;

  constructor(server: string, report: (error: ConnectionError) => void) {
    this.#server = server;
    this.#report = report;
  }

  /** Number of dropped responses so far, not counting late ones. */
  get count(): number {
    return this.#count;
  }

  /** The request was cancelled or has failed; its response may still arrive, once. */
  expectLate(id: RequestId): void {
    if (this.#lateIds.size >= MAX_LATE_IDS) {
      const [oldest] = this.#lateIds;
      this.#lateIds.delete(oldest!);
    }
    this.#lateIds.add(id);
  }

  /** A response arrived that matches no open request. */
  drop(id: unknown): void {
    if (this.#lateIds.delete(id as RequestId)) return;
    this.#count += 1;
    if (this.#count === 1) this.#report(this.#warning(id));
  }

  #warning(id: unknown): ConnectionError {
    const text = String(id ?? "none");
    return new ConnectionError({
      code: "BAD_RESPONSE",
      server: this.#server,
      what: `The server sent a response to no open request (id ${PLAIN_ID.test(text) ? text : "unreadable"}): the id is unknown, or the request was answered before. The response is dropped`,
      next: "Report this to the author of the server; snapshot() counts further responses",
    });
  }
}
