/**
 * Calls of modern clients to legacy servers that ask something: the call stays open at the server, while the client gets the
 * question as a result and answers with its next request.
 */
import type { ClientResponse, Fields } from "../message.js";

/** A question of a server during a call. */
export interface Question {
  readonly method: string;
  readonly params: Fields | undefined;
  answer(response: Fields): void;
}

/** What happens next in a call: a question, or its end. */
export type CallStep<Result> =
  | { readonly question: Question }
  | { readonly result: Result }
  | { readonly error: unknown };

/** One call whose questions are answered in later requests. */
export class InterruptibleCall<Result> {
  readonly #questions: Question[] = [];
  #end: CallStep<Result> | undefined;
  #wake: (() => void) | undefined;

  /** Runs the call. Its questions go through {@link ask}. */
  start(run: () => Promise<Result>): void {
    run().then(
      (result) => this.#finish({ result }),
      (error: unknown) => this.#finish({ error }),
    );
  }

  /** Asks the client. Resolves with the answer of a later request. */
  ask(method: string, params: Fields | undefined, signal: AbortSignal): Promise<Fields> {
    return new Promise((resolve, reject) => {
      const question: Question = { method, params, answer: resolve };
      const onAbort = () => {
        const index = this.#questions.indexOf(question);
        if (index >= 0) this.#questions.splice(index, 1);
        reject(signal.reason);
      };
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      this.#questions.push(question);
      this.#wake?.();
    });
  }

  /** Waits for the next question or the end. One caller at a time. */
  async next(): Promise<CallStep<Result>> {
    for (;;) {
      const question = this.#questions.shift();
      if (question !== undefined) return { question };
      if (this.#end !== undefined) return this.#end;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  #finish(end: CallStep<Result>): void {
    this.#end = end;
    this.#wake?.();
  }
}

/** A call that waits for its client. */
export interface ParkedCall<Result> {
  readonly call: InterruptibleCall<Result>;
  readonly question: Question;
  readonly principal: string | undefined;
  /** Ends the call. */
  readonly abandon: (reason: unknown) => void;
  /** Called when the call is no longer parked. */
  readonly onTaken: () => void;
}

/** The parked calls of this replica, by their ids. Each is taken once. */
export class ParkedCalls<Result> {
  readonly #parked = new Map<string, { parked: ParkedCall<Result>; timer: ReturnType<typeof setTimeout> }>();
  readonly #parkMs: number;

  constructor(parkMs: number) {
    this.#parkMs = parkMs;
  }

  get size(): number {
    return this.#parked.size;
  }

  add(id: string, parked: ParkedCall<Result>): void {
    const timer = setTimeout(() => {
      this.take(id, parked.principal);
      parked.abandon(new Error("The client did not answer in time"));
    }, this.#parkMs);
    if (typeof timer === "object") timer.unref?.();
    this.#parked.set(id, { parked, timer });
  }

  /** Undefined for a call of another user as for one that is not parked. */
  take(id: string, principal: string | undefined): ParkedCall<Result> | undefined {
    const entry = this.#parked.get(id);
    if (entry === undefined || entry.parked.principal !== principal) return undefined;
    clearTimeout(entry.timer);
    this.#parked.delete(id);
    entry.parked.onTaken();
    return entry.parked;
  }

  close(): void {
    for (const { parked, timer } of this.#parked.values()) {
      clearTimeout(timer);
      parked.onTaken();
      parked.abandon(new Error("The gateway is closing"));
    }
    this.#parked.clear();
  }
}

/** The result in a client's answer, or an error with the code that the client sent. */
export function resultOf({ result, error }: ClientResponse): Record<string, unknown> {
  if (result !== undefined) return { ...result };
  const { code, message, data } = (typeof error === "object" && error !== null ? error : {}) as {
    code?: unknown;
    message?: unknown;
    data?: unknown;
  };
  throw Object.assign(new Error(typeof message === "string" ? message : "The client refused the request"), {
    code: typeof code === "number" ? code : -32603,
    data,
  });
}
