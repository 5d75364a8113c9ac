/**
 * Calls of modern clients to legacy servers that ask something: the call stays open at the server, while the client gets the
 * question as a result and answers with its next request.
 */
import { type Fields, isRecord, pause, unrefTimer } from "@toolport/base";
import { INTERNAL_ERROR } from "../faults.js";
import type { ClientResponse } from "../message.js";

/** Key in `_meta` of a question: the name under which the client should answer it. */
const INPUT_KEY_META_KEY = "toolport/inputKey";
const MAX_KEY = 64;
/** A server may ask several questions at once; they reach the client together. */
const GATHER_MS = 25;

/** A question of a server during a call. */
export interface Question {
  readonly method: string;
  readonly params: Fields | undefined;
  answer(response: Fields): void;
  /** False once the server no longer waits. */
  isOpen(): boolean;
}

/** What happens next in a call: questions, or its end. */
export type CallStep<Result> =
  | { readonly questions: Readonly<Record<string, Question>> }
  | { readonly result: Result }
  | { readonly error: unknown };

/** One call whose questions are answered in later requests. */
export class InterruptibleCall<Result> {
  readonly #questions: Question[] = [];
  #end: CallStep<Result> | undefined;
  #wake: (() => void) | undefined;

  /** @param early answers that the client sent before it was asked */
  constructor(private readonly early: Fields = {}) {}

  /** Runs the call. Its questions go through {@link ask}. */
  start(run: () => Promise<Result>): void {
    run().then(
      (result) => this.#finish({ result }),
      (error: unknown) => this.#finish({ error }),
    );
  }

  /** Asks the client. Resolves with the answer of a later request. */
  ask(method: string, params: Fields | undefined, signal: AbortSignal): Promise<Fields> {
    const key = keyOf(params);
    const early = key === undefined ? undefined : this.early[key];
    if (isRecord(early)) return Promise.resolve(early);
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const question: Question = { method, params, answer: resolve, isOpen: () => !signal.aborted };
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      this.#questions.push(question);
      this.#wake?.();
    });
  }

  /** The client gave no answer, so it is asked once more. */
  askAgain(question: Question): void {
    if (question.isOpen()) this.#questions.push(question);
  }

  /** Waits for the next question or the end. One caller at a time. */
  async next(): Promise<CallStep<Result>> {
    for (;;) {
      if (this.#questions.some((question) => question.isOpen())) {
        await pause(GATHER_MS);
        return { questions: named(this.#questions.splice(0).filter((question) => question.isOpen())) };
      }
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

const keyOf = (params: Fields | undefined): string | undefined => {
  const key = isRecord(params?.["_meta"]) ? params["_meta"][INPUT_KEY_META_KEY] : undefined;
  return typeof key === "string" && key !== "" && key.length <= MAX_KEY ? key : undefined;
};

/** Questions by the name that the server chose, or by their number. */
function named(questions: readonly Question[]): Record<string, Question> {
  const byKey: Record<string, Question> = {};
  questions.forEach((question, index) => {
    const wanted = keyOf(question.params);
    const isFree = wanted !== undefined && !Object.hasOwn(byKey, wanted);
    byKey[isFree ? wanted : `question${index + 1}`] = question;
  });
  return byKey;
}

/** The parameters of a question as clients get them. */
export function shownParams(params: Fields | undefined): Fields | undefined {
  if (keyOf(params) === undefined) return params;
  const { _meta, ...rest } = params!;
  const { [INPUT_KEY_META_KEY]: _, ...meta } = _meta as Fields;
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}

/** A call that waits for its client. */
export interface ParkedCall<Open> {
  readonly open: Open;
  readonly questions: Readonly<Record<string, Question>>;
  readonly principal: string | undefined;
  /** Called when the call is no longer parked. */
  readonly onTaken: () => void;
}

/** The parked calls of this replica, by their ids. Each is taken once. */
export class ParkedCalls<Open extends { abandon(reason: unknown): void }> {
  readonly #parked = new Map<string, { parked: ParkedCall<Open>; timer: ReturnType<typeof setTimeout> }>();

  constructor(private readonly questionTimeoutMs: number) {}

  get size(): number {
    return this.#parked.size;
  }

  has(id: string): boolean {
    return this.#parked.has(id);
  }

  add(id: string, parked: ParkedCall<Open>): void {
    const timer = setTimeout(() => {
      this.take(id, parked.principal);
      parked.open.abandon(new Error("The client did not answer in time"));
    }, this.questionTimeoutMs);
    this.#parked.set(id, { parked, timer: unrefTimer(timer) });
  }

  /** Undefined for a call of another user as for one that is not parked. */
  take(id: string, principal: string | undefined): ParkedCall<Open> | undefined {
    const entry = this.#parked.get(id);
    if (entry === undefined || entry.parked.principal !== principal) return undefined;
    clearTimeout(entry.timer);
    this.#parked.delete(id);
    entry.parked.onTaken();
    return entry.parked;
  }

  close(): void {
    for (const [id, { parked }] of [...this.#parked])
      this.take(id, parked.principal)?.open.abandon(new Error("The gateway is closing"));
  }
}

/** The result in a client's answer, or an error with the code that the client sent. */
export function resultOf({ result, error }: ClientResponse): Record<string, unknown> {
  if (result !== undefined) return { ...result };
  const { code, message, data } = isRecord(error) ? error : {};
  const text = typeof message === "string" ? message : "The client refused the request";
  throw Object.assign(new Error(text), { code: typeof code === "number" ? code : INTERNAL_ERROR, data });
}

export const cannotAsk = (): Error =>
  Object.assign(new Error("The client cannot be asked"), { code: INTERNAL_ERROR });
