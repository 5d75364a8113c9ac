/** Answers that no open request waits for: late ones are expected, all others are counted and reported once. */
import type { RequestId } from "@modelcontextprotocol/client";
import { ConnectionError } from "../errors/connection-error.js";

/** How many requests are remembered whose answer may still come. */
const MOST_GIVEN_UP = 1_000;

/** Ids that can be shown as they are. */
const PLAIN_ID = /^[\w.:-]{1,64}$/;

export class DroppedAnswers {
  readonly #server: string;
  readonly #report: (error: ConnectionError) => void;
  readonly #givenUp = new Set<RequestId>();
  #count = 0;

  constructor(server: string, report: (error: ConnectionError) => void) {
    this.#server = server;
    this.#report = report;
  }

  /** Answers dropped so far, late ones apart. */
  get count(): number {
    return this.#count;
  }

  /** No caller waits for this request any more. Its answer may come all the same, once. */
  giveUp(id: RequestId): void {
    if (this.#givenUp.size >= MOST_GIVEN_UP) {
      const [oldest] = this.#givenUp;
      this.#givenUp.delete(oldest!);
    }
    this.#givenUp.add(id);
  }

  /** An answer has arrived that no open request waits for. */
  drop(id: unknown): void {
    if (this.#givenUp.delete(id as RequestId)) return;
    this.#count += 1;
    if (this.#count === 1) this.#report(this.#warning(id));
  }

  #warning(id: unknown): ConnectionError {
    const text = String(id ?? "none");
    return new ConnectionError({
      code: "BAD_RESPONSE",
      server: this.#server,
      what: `The server answered a request that is not open (id ${PLAIN_ID.test(text) ? text : "unreadable"}): the id is unknown or was answered before. The answer is dropped`,
      next: "Report this to the maker of the server; snapshot() counts further ones",
    });
  }
}
