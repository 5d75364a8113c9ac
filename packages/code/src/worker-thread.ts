/**
 * One worker thread of Node, which runs one program after the other. It is ended only while it is quiet.
 *
 * V8 compiles hot functions of a thread in the background, and such a job may ask Node for the thread, to collect its garbage. Node 20
 * removes a thread that ends from its list before V8 waits for these jobs: then the job aborts the whole process ("Assertion failed:
 * (data.first) != nullptr"; the order is that of https://github.com/nodejs/node/pull/30909). A thread in which no JavaScript has run
 * for a while has no such jobs.
 */
import { Worker } from "node:worker_threads";
import { afterNextPoll, timerMs } from "@toolport/base";
import {
  type CompiledWasm,
  type FromWorker,
  ThreadState,
  type ToWorker,
  type WorkerSettings,
} from "./worker/thread-link.js";

/** So long no JavaScript must have run. Most functions are compiled in a few milliseconds. */
const QUIET_MS = 240;
/** On a busy machine V8 needs longer: so many times the time of its smallest job, up to a limit. */
const QUIET_JOBS = 20;
const MAX_QUIET_MS = 5_000;
/** A thread that is still not quiet after this time is ended nevertheless. */
const LAST_RESORT_MS = 15_000;
/** The smallest module of WebAssembly. */
const EMPTY_MODULE = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

export const compileWasm = (bytes: Uint8Array): Promise<CompiledWasm> =>
  (
    globalThis as unknown as { WebAssembly: { compile(bytes: Uint8Array): Promise<CompiledWasm> } }
  ).WebAssembly.compile(bytes);

export interface RestingThread {
  /** A number that stays the same as long as no JavaScript runs. Undefined while JavaScript runs. */
  restMark(): number | undefined;
}

/**
 * Calls back when no JavaScript has run in the thread for a while, or at the latest after 15 s.
 *
 * @returns a function that cancels the call
 */
export function whenQuiet(thread: RestingThread, callback: () => void): () => void {
  const startedAt = performance.now();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isCancelled = false;
  const watch = (quietMs: number): void => {
    if (isCancelled) return;
    const mark = thread.restMark();
    timer = setTimeout(() => {
      const isQuiet = mark !== undefined && mark === thread.restMark();
      if (isQuiet || performance.now() - startedAt > LAST_RESORT_MS) callback();
      else watch(quietMs);
    }, quietMs);
  };
  const begin = (): void => {
    const jobMs = performance.now() - startedAt;
    watch(Math.min(Math.max(QUIET_MS, QUIET_JOBS * jobMs), MAX_QUIET_MS));
  };
  // V8 begins its jobs in their order: when this one is done, all earlier ones have begun at least.
  void compileWasm(EMPTY_MODULE).then(begin, begin);
  return () => {
    isCancelled = true;
    clearTimeout(timer);
  };
}

/** A thread that may have to be ended is watched this long before, so that it can be ended at the deadline. */
const LEAD_MS = 1_000;
/** Most programs report within this time. */
const PATIENCE_MS = 50;

/**
 * Calls back after this time if the thread is quiet by then, otherwise as soon as it is. A program that can be interrupted is not
 * quiet: the engine calls JavaScript of the thread again and again.
 *
 * @returns a function that cancels the call
 */
export function atDeadline(thread: RestingThread, ms: number, callback: () => void): () => void {
  let isDue = false;
  let quietMark: number | undefined;
  let cancelWatch: (() => void) | undefined;
  let cancelPoll = (): void => {};

  const watch = (): void => {
    cancelWatch ??= whenQuiet(thread, () => {
      cancelWatch = undefined;
      quietMark = thread.restMark();
      if (isDue) settle();
    });
  };
  // If the host itself was busy, a report of the thread may be waiting to be read.
  const settle = (): void => {
    cancelPoll = afterNextPoll(callback);
  };
  const early =
    ms > PATIENCE_MS ? setTimeout(watch, timerMs(Math.max(PATIENCE_MS, ms - LEAD_MS))) : undefined;
  const due = setTimeout(() => {
    isDue = true;
    if (quietMark !== undefined && quietMark === thread.restMark()) settle();
    else watch();
  }, timerMs(ms));
  return () => {
    clearTimeout(early);
    clearTimeout(due);
    cancelWatch?.();
    cancelPoll();
  };
}

/** Tests run from the sources, but a worker needs JavaScript. */
const WORKER_PROGRAM = new URL(
  import.meta.url.endsWith(".ts") ? "../../toolport/dist/code/worker/main.js" : "./worker/main.js",
  import.meta.url,
);

/** Nothing runs in a thread that is gone. */
const LOST = -1;
const MIB = 1024 * 1024;
/** The VM has its own memory. This is for the code around it, and for the texts that enter and leave the VM. */
const heapMb = (memoryBytes: number): number => 64 + 3 * Math.ceil(memoryBytes / MIB);

/** What a run receives from its thread. */
export interface ThreadListener {
  onMessage(message: FromWorker): void;
  /** The thread has ended by itself. */
  onLost(error: unknown): void;
}

export class WorkerThread implements RestingThread {
  readonly #worker: Worker;
  readonly #state = new ThreadState();
  #listener: ThreadListener | undefined;
  #cancelUnref: () => void = () => {};
  /** The thread has ended by itself. */
  isLost = false;
  #ending: Promise<void> | undefined;

  /** @param memoryBytes the largest memory of a program that this thread is made for */
  constructor(
    wasm: CompiledWasm,
    readonly memoryBytes: number,
  ) {
    this.#state.wake();
    this.#worker = new Worker(WORKER_PROGRAM, {
      workerData: { wasm, cells: this.#state.cells } satisfies WorkerSettings,
      env: {},
      argv: [],
      execArgv: [],
      stdin: false,
      // Not piped into the output of the host.
      stdout: true,
      stderr: true,
      resourceLimits: {
        maxOldGenerationSizeMb: heapMb(memoryBytes),
        maxYoungGenerationSizeMb: 16,
        stackSizeMb: 4,
      },
      name: "toolport-code",
    });
    this.#worker.on("message", (message: FromWorker) => this.#listener?.onMessage(message));
    this.#worker.on("error", (error) => this.#lose(error));
    this.#worker.on("messageerror", (error) => this.#lose(error));
    this.#worker.on("exit", () => this.#lose(undefined));
  }

  /** Gives the thread to a program, which keeps the process alive. */
  take(listener: ThreadListener): void {
    this.#listener = listener;
    this.#state.isStopRequested = false;
    this.#cancelUnref();
    this.#worker.ref();
  }

  /** The program of the thread is over. Until the thread is quiet, it keeps the process alive, because Node ends it with the process. */
  release(): void {
    this.#listener = undefined;
    this.#cancelUnref = whenQuiet(this, () => this.#worker.unref());
  }

  send(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  /** Tells the program to end. It reports `end` as soon as it calls no long functions of the engine. */
  requestStop(): void {
    this.#state.isStopRequested = true;
    this.send({ type: "stop" });
  }

  restMark(): number | undefined {
    return this.isLost ? LOST : this.#state.restMark;
  }

  /** Ends the thread when it is quiet. */
  end(): Promise<void> {
    this.#cancelUnref();
    this.#ending ??= new Promise<void>((resolve) => {
      whenQuiet(this, resolve);
    }).then(() => this.endNow());
    return this.#ending;
  }

  /** Ends a thread that is quiet. */
  async endNow(): Promise<void> {
    await this.#worker.terminate();
  }

  #lose(error: unknown): void {
    if (this.isLost) return;
    this.isLost = true;
    this.#listener?.onLost(error);
  }
}
