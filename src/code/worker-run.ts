/** A program that runs in a worker thread: passes messages, and ends the program at its limits. */

import type { CodeProgram, ProgramAnswer, ProgramEnd, ProgramHost } from "./code-executor.js";
import { cpuLimit, crashed, type EndError, memoryLimit, stopped, tooLarge } from "./program-ends.js";
import { atDeadline } from "./when-quiet.js";
import type { FromWorker } from "./worker/worker-messages.js";
import type { WorkerThread } from "./worker-thread.js";

/** Time to start a worker and to parse the program. */
const START_MS = 15_000;

export interface WorkerRunPlan {
  readonly program: CodeProgram;
  /** The program is over, and its thread is free. */
  onFree(): void;
  /** The program is over, but its thread runs on in a function of the engine that cannot be interrupted, or has ended. */
  onLost(): Promise<void>;
}

/** An answer that the program has not taken yet. */
export interface Answer {
  readonly id: number;
  readonly answer: ProgramAnswer;
  /** The program has it. */
  taken(): void;
}

/** A character takes two bytes at most. */
export const bytesOf = (answer: ProgramAnswer): number =>
  2 * ("value" in answer ? answer.value : answer.error.message).length;

interface ImageRequest {
  resolve(image: { image: Uint8Array; cpuMs: number } | undefined): void;
  reject(error: Error): void;
}

export class WorkerRun {
  readonly ended: Promise<ProgramEnd>;
  readonly #thread: WorkerThread;
  readonly #host: ProgramHost;
  readonly #plan: WorkerRunPlan;
  #settle!: (end: ProgramEnd) => void;
  #isOver = false;
  /** Resolves when nothing of the program runs any more. */
  #gone: Promise<void> = Promise.resolve();
  /** Processor time, as the program last reported it. */
  cpuMs: number;
  /** Sizes of the answers that were sent to the thread, until the program has them. */
  #sent: (Pick<Answer, "taken"> & { readonly bytes: number })[] = [];
  #taken = 0;
  #isRunning = false;
  #isStopping = false;
  #hasCut = false;
  #unwatch: () => void = () => {};
  #image: ImageRequest | undefined;

  constructor(thread: WorkerThread, host: ProgramHost, plan: WorkerRunPlan) {
    this.#thread = thread;
    this.#host = host;
    this.#plan = plan;
    this.cpuMs = plan.program.usedCpuMs ?? 0;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    thread.take({
      onMessage: (message) => this.#receive(message),
      onLost: (error) => this.#crash(error),
    });
    thread.send({ type: "start", program: plan.program });
    this.#watch(START_MS, () => crashed("The program could not be started in time"));
  }

  /** Of the answers that the thread has not taken yet. */
  get answerBytes(): number {
    return this.#sent.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  answer({ id, answer, taken }: Answer): void {
    if (this.#isOver) return;
    this.#sent.push({ bytes: bytesOf(answer), taken });
    const isTooLarge = "value" in answer && answer.value.length > this.#plan.program.limits.memoryBytes;
    const fitting = isTooLarge ? tooLarge(answer.value.length) : answer;
    this.#thread.send({ type: "answer", id, answer: fitting });
    this.#watchProgram();
  }

  async stop(): Promise<void> {
    if (!this.#isOver && !this.#isStopping) {
      this.#isStopping = true;
      this.#thread.requestStop();
      this.#watch(0, stopped);
    }
    await this.ended;
    await this.#gone;
  }

  /** Ends a waiting program and returns its image. Undefined if its memory has more bytes than this: then the program goes on. */
  snapshot(
    maxBytes = Number.POSITIVE_INFINITY,
  ): Promise<{ readonly image: Uint8Array; readonly cpuMs: number } | undefined> {
    if (this.#isOver) return Promise.reject(new Error("The program has ended"));
    return new Promise((resolve, reject) => {
      this.#image = { resolve, reject };
      this.#thread.send({ type: "snapshot", maxBytes });
    });
  }

  #receive(message: FromWorker): void {
    if (this.#isOver) return;
    if ("cpuMs" in message) this.cpuMs = message.cpuMs;
    switch (message.type) {
      case "running":
        this.#isRunning = true;
        return this.#watchProgram();
      case "call":
        this.#watchProgram();
        return this.#host.onCall(message.call);
      case "log":
        for (const line of message.lines) this.#host.onLog(line);
        return;
      case "cut":
        this.#hasCut = true;
        return;
      case "wait":
        for (const { taken } of this.#sent.splice(0, message.answered - this.#taken)) taken();
        this.#taken = message.answered;
        // An answer is on its way: the program does not wait any more.
        if (this.#sent.length > 0 || this.#isStopping) return;
        this.#unwatch();
        return this.#host.onWait(message.pending);
      case "image": {
        const { image, cpuMs } = message;
        this.#image?.resolve(image && { image, cpuMs });
        this.#image = undefined;
        // The image counts what is left out, and the program reports it at its end.
        this.#hasCut &&= image === undefined;
        if (image !== undefined) this.#free({ error: stopped(), cpuMs });
        return;
      }
      case "end":
        this.#hasCut = false;
        return this.#free(message.end);
    }
  }

  #watchProgram(): void {
    const { cpuMs } = this.#plan.program.limits;
    if (this.#isRunning && !this.#isStopping)
      this.#watch(Math.max(0, cpuMs - this.cpuMs), () => {
        this.cpuMs = Math.max(this.cpuMs, cpuMs);
        return cpuLimit(cpuMs);
      });
  }

  /**
   * Ends the thread if the worker does not report within this time, and then runs nothing that could report. A program ends itself at
   * its limits, but functions of the engine such as `indexOf` run to their end.
   */
  #watch(ms: number, toError: () => EndError): void {
    this.#unwatch();
    this.#unwatch = atDeadline(this.#thread, ms, () => this.#lose(toError()));
  }

  #crash(error: unknown): void {
    const isFull = (error as { code?: unknown } | undefined)?.code === "ERR_WORKER_OUT_OF_MEMORY";
    this.#lose(isFull ? memoryLimit() : crashed("The worker thread of the program ended unexpectedly"));
  }

  #free(end: ProgramEnd): void {
    this.#finish();
    this.#plan.onFree();
    this.#settle(end);
  }

  #lose(error: EndError): void {
    if (this.#isOver) return;
    this.#finish();
    this.#gone = this.#plan.onLost();
    this.#settle({ error, cpuMs: this.cpuMs });
  }

  #finish(): void {
    this.#isOver = true;
    this.#unwatch();
    if (this.#hasCut) this.#host.onLog("[more output was left out]");
    this.#image?.reject(new Error("The program has ended"));
  }
}
