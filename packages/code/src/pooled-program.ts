/**
 * A program of a `WorkerExecutor`. It waits for a thread, runs in one, or is kept as an image: while it waits for its calls, another
 * program can have its thread.
 */
import {
  type CodeProgram,
  cpuLimit,
  type EndError,
  type ExecutorLimits,
  endError,
  memoryLimit,
  type ProgramAnswer,
  type ProgramEnd,
  type ProgramHost,
  type ProgramRun,
  stopped,
  tooLarge,
} from "./code-executor.js";
import type { FromWorker } from "./worker/thread-link.js";
import { atDeadline, type WorkerThread } from "./worker-thread.js";

interface Image {
  readonly image: Uint8Array;
  readonly cpuMs: number;
}

type State =
  /** Wants a thread, to begin or to continue with these answers. */
  | { readonly type: "queued"; readonly image?: Image; readonly answers: readonly Answer[] }
  | { readonly type: "running"; readonly run: ThreadRun }
  /** Waits for its calls, in its thread. `isLarge`: its memory was too large to leave the thread. */
  | { readonly type: "waiting"; readonly run: ThreadRun; readonly isLarge: boolean }
  /** Its image is being made. Answers wait for that. */
  | {
      readonly type: "leaving";
      readonly run: ThreadRun;
      readonly left: Promise<void>;
      readonly answers: Answer[];
    }
  /** Waits for its calls, as an image. */
  | { readonly type: "left"; readonly image: Image }
  | { readonly type: "ended" };

export interface PooledProgramPlan {
  readonly program: CodeProgram;
  readonly host: ProgramHost;
  /** The program wants a thread, or could leave its own. */
  onChange(): void;
  /** An answer waits for the program. */
  onAnswer(): void;
}

export class PooledProgram implements ProgramRun {
  readonly ended: Promise<ProgramEnd>;
  readonly owner: string;
  readonly limits: ExecutorLimits;
  /** False until the program has had a thread. */
  hasStarted = false;
  #settle!: (end: ProgramEnd) => void;
  #state: State;

  constructor(readonly plan: PooledProgramPlan) {
    const { owner = "", limits, image, usedCpuMs = 0 } = plan.program;
    this.owner = owner;
    this.limits = limits;
    this.#state = { type: "queued", answers: [], ...(image && { image: { image, cpuMs: usedCpuMs } }) };
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  get state(): State["type"] {
    return this.#state.type;
  }

  get hasThread(): boolean {
    return "run" in this.#state;
  }

  /** Waits in a thread that it cannot leave. */
  get isLarge(): boolean {
    return this.#state.type === "waiting" && this.#state.isLarge;
  }

  /** Size of the image that is kept. */
  get imageBytes(): number {
    return "image" in this.#state ? (this.#state.image?.image.length ?? 0) : 0;
  }

  /** Size of the answers that it has not taken yet. */
  get answerBytes(): number {
    if ("answers" in this.#state)
      return this.#state.answers.map(({ answer }) => bytesOf(answer)).reduce((sum, bytes) => sum + bytes, 0);
    return "run" in this.#state ? this.#state.run.answerBytes : 0;
  }

  /** Begins or continues in a thread. */
  begin(plan: ThreadPlan): void {
    if (this.#state.type !== "queued") return;
    const { image, answers } = this.#state;
    const { host, program } = this.plan;
    this.hasStarted = true;
    const run: ThreadRun = new ThreadRun(
      plan,
      { ...program, ...(image && { image: image.image, usedCpuMs: image.cpuMs }) },
      {
        onCall: (call) => host.onCall(call),
        onLog: (line) => host.onLog(line),
        onWait: (pending) => {
          this.#state = { type: "waiting", run, isLarge: false };
          host.onWait(pending);
          this.plan.onChange();
        },
      },
    );
    this.#state = { type: "running", run };
    for (const answer of answers) run.answer(answer);
    void run.ended.then((end) => {
      if ("run" in this.#state && this.#state.run === run) this.#end(end);
    });
  }

  /** Resolves when the program has the answer. */
  answer(id: number, answer: ProgramAnswer): Promise<void> {
    return new Promise((taken) => {
      this.#give({ id, answer, taken });
      this.plan.onAnswer();
    });
  }

  #give(answer: Answer): void {
    const state = this.#state;
    switch (state.type) {
      case "running":
      case "waiting":
        this.#state = { type: "running", run: state.run };
        return state.run.answer(answer);
      case "leaving":
        return void state.answers.push(answer);
      case "left":
      case "queued":
        this.#state = {
          ...state,
          type: "queued",
          answers: [...(state.type === "queued" ? state.answers : []), answer],
        };
        return this.plan.onChange();
      case "ended":
    }
  }

  /** Leaves the thread of a program that waits, unless its memory has more bytes than this. */
  leave(maxBytes: number): void {
    const state = this.#state;
    if (state.type !== "waiting") return;
    const { run } = state;
    const answers: Answer[] = [];
    const left = run.snapshot(maxBytes).then(
      (image) => {
        if (this.#state.type !== "leaving") return;
        if (image !== undefined)
          this.#state = answers.length > 0 ? { type: "queued", image, answers } : { type: "left", image };
        else {
          this.#state = { type: "waiting", run, isLarge: true };
          for (const answer of answers) this.#give(answer);
        }
        this.plan.onChange();
      },
      // The program has ended: see `begin`.
      () => {},
    );
    this.#state = { type: "leaving", run, left, answers };
  }

  async snapshot(): Promise<Image> {
    if (this.#state.type === "leaving") await this.#state.left;
    const state = this.#state;
    if (state.type === "running" || state.type === "waiting") {
      // It may not be asked to leave as well.
      this.#state = { type: "running", run: state.run };
      return (await state.run.snapshot())!;
    }
    if (!("image" in state) || state.image === undefined) throw new Error("The program has ended");
    const { image } = state;
    this.#end({ error: stopped(), cpuMs: image.cpuMs });
    return image;
  }

  stop(): Promise<void> {
    return this.fail(stopped());
  }

  /** Ends the program. Resolves when nothing of it is left. */
  async fail(error: EndError): Promise<void> {
    const state = this.#state;
    if (state.type === "ended") return;
    if (!("run" in state)) {
      const { cpuMs = 0 } = state.image ?? {};
      return this.#end({ error, cpuMs });
    }
    // The thread of a program that leaves may be free already, and then nothing reports an end.
    if (state.type === "leaving" || error.code !== "STOPPED") this.#end({ error, cpuMs: state.run.cpuMs });
    await state.run.stop();
    // Its thread is free now.
    this.plan.onChange();
  }

  #end(end: ProgramEnd): void {
    this.#state = { type: "ended" };
    this.#settle(end);
  }
}

/** Time to start a worker and to parse the program. */
const START_MS = 15_000;

/** The thread of a program, and what its owner does with it at the end. */
export interface ThreadPlan {
  readonly thread: WorkerThread;
  /** The program is over, and its thread is free. */
  onFree(): void;
  /** The program is over, but its thread runs on in a function of the engine that cannot be interrupted, or has ended. */
  onLost(): Promise<void>;
}

/** An answer that the program has not taken yet. */
interface Answer {
  readonly id: number;
  readonly answer: ProgramAnswer;
  /** The program has it. */
  taken(): void;
}

/** A character takes two bytes at most. */
const bytesOf = (answer: ProgramAnswer): number =>
  2 * ("value" in answer ? answer.value : answer.error.message).length;

interface ImageRequest {
  resolve(image: Image | undefined): void;
  reject(error: Error): void;
}

/** The messages of one program and its thread, which end the program at its limits. */
class ThreadRun {
  readonly ended: Promise<ProgramEnd>;
  readonly #limits: ExecutorLimits;
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

  constructor(
    readonly plan: ThreadPlan,
    program: CodeProgram,
    readonly host: ProgramHost,
  ) {
    this.#limits = program.limits;
    this.cpuMs = program.usedCpuMs ?? 0;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    plan.thread.take({
      onMessage: (message) => this.#receive(message),
      onLost: (error) => this.#crash(error),
    });
    plan.thread.send({ type: "start", program });
    this.#watch(START_MS, () => endError("CRASHED", "The program could not be started in time"));
  }

  /** Of the answers that the thread has not taken yet. */
  get answerBytes(): number {
    return this.#sent.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  answer({ id, answer, taken }: Answer): void {
    if (this.#isOver) return;
    this.#sent.push({ bytes: bytesOf(answer), taken });
    const isTooLarge = "value" in answer && answer.value.length > this.#limits.memoryBytes;
    const fitting = isTooLarge ? tooLarge(answer.value.length) : answer;
    this.plan.thread.send({ type: "answer", id, answer: fitting });
    this.#watchProgram();
  }

  async stop(): Promise<void> {
    if (!this.#isOver && !this.#isStopping) {
      this.#isStopping = true;
      this.plan.thread.requestStop();
      this.#watch(0, stopped);
    }
    await this.ended;
    await this.#gone;
  }

  /** Ends a waiting program and returns its image. Undefined if its memory has more bytes than this: then the program goes on. */
  snapshot(maxBytes = Number.POSITIVE_INFINITY): Promise<Image | undefined> {
    if (this.#isOver) return Promise.reject(new Error("The program has ended"));
    return new Promise((resolve, reject) => {
      this.#image = { resolve, reject };
      this.plan.thread.send({ type: "snapshot", maxBytes });
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
        return this.host.onCall(message.call);
      case "log":
        for (const line of message.lines) this.host.onLog(line);
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
        return this.host.onWait(message.pending);
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
    const { cpuMs } = this.#limits;
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
    this.#unwatch = atDeadline(this.plan.thread, ms, () => this.#lose(toError()));
  }

  #crash(error: unknown): void {
    const isFull = (error as { code?: unknown } | undefined)?.code === "ERR_WORKER_OUT_OF_MEMORY";
    this.#lose(
      isFull ? memoryLimit() : endError("CRASHED", "The worker thread of the program ended unexpectedly"),
    );
  }

  #free(end: ProgramEnd): void {
    this.#finish();
    this.plan.onFree();
    this.#settle(end);
  }

  #lose(error: EndError): void {
    if (this.#isOver) return;
    this.#finish();
    this.#gone = this.plan.onLost();
    this.#settle({ error, cpuMs: this.cpuMs });
  }

  #finish(): void {
    this.#isOver = true;
    this.#unwatch();
    if (this.#hasCut) this.host.onLog("[more output was left out]");
    this.#image?.reject(new Error("The program has ended"));
  }
}
