/** One worker thread of Node, which runs one program after the other. It is ended only while it is quiet. */
import { Worker } from "node:worker_threads";
import { type RestingThread, whenQuiet } from "./when-quiet.js";
import { ThreadState } from "./worker/thread-state.js";
import type { CompiledWasm, FromWorker, ToWorker, WorkerSettings } from "./worker/worker-messages.js";

/** Tests run from the sources, but a worker needs JavaScript. */
const WORKER_PROGRAM = new URL(
  import.meta.url.endsWith(".ts") ? "../../dist/code/worker/main.js" : "./worker/main.js",
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
  /** The largest memory of a program that this thread is made for. */
  readonly memoryBytes: number;
  readonly #worker: Worker;
  readonly #state = new ThreadState();
  #listener: ThreadListener | undefined;
  #cancelUnref: () => void = () => {};
  /** The thread has ended by itself. */
  isLost = false;
  #ending: Promise<void> | undefined;

  constructor(wasm: CompiledWasm, memoryBytes: number) {
    this.memoryBytes = memoryBytes;
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
