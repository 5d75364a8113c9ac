/** One request on an undici dispatcher: its answer, its body, its abort. */
import type { Dispatcher } from "undici";
import { onSharedAbort } from "../../util/shared-abort.js";
import type { Endable } from "./lifeline.js";
import { toNetworkError } from "./network-error.js";
import type { AnswerBody, AnswerHeaders, BodySink, WireAnswer, WireRequest } from "./wire.js";

type RawHeaders = Record<string, string | string[] | undefined>;

/** Bytes that may wait for somebody who takes the body, before the socket is told to wait. */
const WAITING_BYTES = 64 * 1024;

/** Header fields as undici gives them (names in lower case). */
class LightHeaders implements AnswerHeaders {
  readonly #fields: RawHeaders;

  constructor(fields: RawHeaders) {
    this.#fields = fields;
  }

  get(name: string): string | null {
    const value = this.#fields[name.toLowerCase()];
    return value === undefined ? null : Array.isArray(value) ? value.join(", ") : value;
  }

  has(name: string): boolean {
    return this.#fields[name.toLowerCase()] !== undefined;
  }

  *[Symbol.iterator](): Iterator<[string, string]> {
    for (const [name, value] of Object.entries(this.#fields)) {
      if (typeof value === "string") yield [name, value];
      else for (const one of value ?? []) yield [name, one];
    }
  }
}

export interface ExchangeHooks {
  /** Host and port, for errors. */
  readonly host: string;
  readonly onAnswer: (() => void) | undefined;
  readonly onDone?: (() => void) | undefined;
}

/** Takes undici's callbacks for one request. The promise in `answer` settles with the headers. */
export class UndiciExchange implements Dispatcher.DispatchHandler, AnswerBody, Endable {
  readonly answer: Promise<WireAnswer>;
  #resolve!: (answer: WireAnswer | Promise<WireAnswer>) => void;
  #reject!: (error: unknown) => void;
  readonly #hooks: ExchangeHooks;
  #stopWaiting: (() => void) | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #phase: "queued" | "sent" | "answered" | "done" = "queued";
  #sink: BodySink | undefined;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  /** How the body ended before anybody took it. */
  #ending: { error?: unknown } | undefined;

  constructor({ signal, line }: WireRequest, hooks: ExchangeHooks) {
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#hooks = hooks;
    line?.attach(this);
    if (signal?.aborted) this.abort(signal.reason);
    else if (signal) this.#stopWaiting = onSharedAbort(signal, () => this.abort(signal.reason));
  }

  /** Over before it was dispatched. */
  get done(): boolean {
    return this.#phase === "done";
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#phase === "done") {
      controller.abort(ABANDONED);
      return;
    }
    this.#controller = controller;
    this.#phase = "sent";
  }

  onResponseStart(_: unknown, status: number, headers: RawHeaders, statusText?: string): void {
    if (status < 200 || this.#phase !== "sent") return;
    this.#phase = "answered";
    this.#hooks.onAnswer?.();
    const answer = { status, statusText: statusText ?? "", headers: new LightHeaders(headers), body: this };
    this.#resolve(headers["content-encoding"] === undefined ? answer : unpacked(answer));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.#phase === "done") return;
    if (this.#sink !== undefined) {
      if (!this.#sink.chunk(chunk)) controller.pause();
      return;
    }
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.byteLength;
    if (this.#waitingBytes > WAITING_BYTES) controller.pause();
  }

  onResponseEnd(): void {
    this.#finish({});
  }

  onResponseError(_: unknown, error: unknown): void {
    this.#finish({
      error: toNetworkError(error, { host: this.#hooks.host, sent: this.#phase !== "queued" }),
    });
  }

  pipe(sink: BodySink): void {
    this.#sink = sink;
    const waiting = this.#waiting;
    this.#waiting = [];
    let room = true;
    for (const chunk of waiting) {
      // A sink that cancels while it is fed gets nothing more.
      if (this.#sink === undefined) return;
      room = sink.chunk(chunk);
    }
    if (this.#ending !== undefined) this.#tell(this.#ending);
    else if (room) this.#controller?.resume();
    else this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  cancel(): void {
    this.#sink = undefined;
    this.#waiting = [];
    if (this.#phase === "done") return;
    this.#settle();
    this.#controller?.abort(ABANDONED);
  }

  /** The reason goes through untouched. */
  abort(reason: unknown): void {
    if (this.#phase === "done") return;
    this.#finish({ error: reason });
    this.#controller?.abort(ABANDONED);
  }

  #finish(ending: { error?: unknown }): void {
    if (this.#phase === "done") return;
    const answered = this.#phase === "answered";
    this.#settle();
    if (!answered) this.#reject(ending.error);
    else if (this.#sink === undefined) this.#ending = ending;
    else this.#tell(ending);
  }

  #settle(): void {
    this.#phase = "done";
    // The same signal is given to every request of a connection: nothing may pile up on it.
    this.#stopWaiting?.();
    this.#hooks.onDone?.();
  }

  #tell(ending: { error?: unknown }): void {
    const sink = this.#sink;
    this.#sink = undefined;
    if ("error" in ending) sink?.fail(ending.error);
    else sink?.end();
  }
}

/** We ask for plain bodies, so that hardly anybody ever needs this. */
async function unpacked(answer: WireAnswer): Promise<WireAnswer> {
  const { decompress } = await import("./decompress.js");
  return decompress(answer);
}

/** undici wants a reason for every abort; nobody ever sees this one, so it is built once. */
const ABANDONED = new Error("abandoned");
