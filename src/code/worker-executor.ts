/**
 * Runs programs in worker threads of Node, one thread for each program, with QuickJS inside. Chosen by the package's `#code-executor`
 * conditions. Nothing of a program runs on the thread of the host: it compiles QuickJS and never instantiates it.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { ConfigError } from "../errors/config-error.js";
import { afterNextPoll, timerMs } from "../util/timers.js";
import type {
  CodeExecutor,
  CodeProgram,
  ProgramAnswer,
  ProgramEnd,
  ProgramHost,
  ProgramRun,
} from "./code-executor.js";
import { GUEST_SOURCE } from "./worker/guest.js";
import type { CompiledWasm, FromWorker, ToWorker, WorkerSettings } from "./worker/worker-messages.js";

/** Tests run from the sources, but a worker needs JavaScript. */
const WORKER_PROGRAM = new URL(
  import.meta.url.endsWith(".ts") ? "../../dist/code/worker/main.js" : "./worker/main.js",
  import.meta.url,
);

/** Native functions of the VM cannot be interrupted. A worker that is late by this time is ended. */
const GRACE_MS = 250;
/**
 * An idle worker is ended after this time. Node 20 once aborted the whole process, after about 1,700 programs on a busy machine, under a
 * job of V8 that compiled functions of a thread. Probably Node had already removed that thread from its platform; see
 * https://github.com/nodejs/node/issues/30846 for the order. A thread that does nothing has no such jobs left.
 */
const QUIET_MS = 250;
/** Time to start a worker and to parse the program. */
const START_MS = 15_000;

/** The VM has its own memory; this limits the code around it. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

export interface WorkerExecutorOptions {
  /** How long an unused worker is kept ready. */
  readonly idleTimeoutMs: number;
}

/** Loads QuickJS. Throws a `ConfigError` if the package is missing. */
export async function createExecutor({ idleTimeoutMs }: WorkerExecutorOptions): Promise<CodeExecutor> {
  const bytes = await readQuickJs();
  const wasm = await compileWasm(bytes);
  // An image holds the memory of the engine and the functions of the guest.
  const version = createHash("sha256").update(bytes).update(GUEST_SOURCE).digest("hex").slice(0, 32);
  return new WorkerExecutor({ wasm }, { version, idleTimeoutMs });
}

const compileWasm = (bytes: Uint8Array): Promise<CompiledWasm> =>
  (
    globalThis as unknown as { WebAssembly: { compile(bytes: Uint8Array): Promise<CompiledWasm> } }
  ).WebAssembly.compile(bytes);

async function readQuickJs(): Promise<Uint8Array<ArrayBuffer>> {
  let path: string;
  try {
    path = createRequire(import.meta.url).resolve("quickjs-wasi/quickjs.wasm");
  } catch (cause) {
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: "Programs run in the package quickjs-wasi, which is not installed",
      next: "Run: npm install quickjs-wasi sucrase",
      cause,
    });
  }
  return new Uint8Array(await readFile(path));
}

class WorkerExecutor implements CodeExecutor {
  readonly version: string;
  readonly #settings: WorkerSettings;
  readonly #idleTimeoutMs: number;
  readonly #running = new Set<WorkerRun>();
  #spare: Worker | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;
  /** Ends workers at once that are ended later otherwise. */
  readonly #quiet = new Set<() => void>();
  /** Workers that are on their way out. */
  readonly #ending = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(
    settings: WorkerSettings,
    { version, idleTimeoutMs }: { version: string; idleTimeoutMs: number },
  ) {
    this.#settings = settings;
    this.version = version;
    this.#idleTimeoutMs = idleTimeoutMs;
  }

  start(program: CodeProgram, host: ProgramHost): ProgramRun {
    const worker = this.#take();
    const run = new WorkerRun(worker, host, {
      program,
      // The next worker starts while this program works, but does not slow its start.
      onRunning: () => this.#prepare(program.limits.memoryBytes),
      end: (isIdle) => (isIdle && !this.#isClosed ? this.#endLater(worker) : this.#end(worker)),
    });
    this.#running.add(run);
    void run.ended.then(() => this.#running.delete(run));
    return run;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const endNow of this.#quiet) endNow();
    await Promise.all([...this.#running].map((run) => run.stop()));
    this.#dropSpare();
    await Promise.all(this.#ending);
  }

  #take(): Worker {
    clearTimeout(this.#idle);
    const worker = this.#spare ?? this.#open(this.#settings);
    this.#spare = undefined;
    worker.ref();
    return worker;
  }

  #open(settings: WorkerSettings): Worker {
    return new Worker(WORKER_PROGRAM, {
      workerData: settings,
      env: {},
      argv: [],
      execArgv: [],
      stdin: false,
      // Not piped into the output of the host.
      stdout: true,
      stderr: true,
      resourceLimits: RESOURCE_LIMITS,
      name: "toolport-code",
    });
  }

  /** Makes a worker ready for a program like the last one. */
  #prepare(memoryBytes: number): void {
    if (this.#isClosed || this.#spare !== undefined || this.#idleTimeoutMs === 0) return;
    const worker = this.#open({ ...this.#settings, memoryBytes });
    this.#spare = worker;
    // A spare that dies is replaced by the next program.
    const forget = () => {
      if (this.#spare === worker) this.#spare = undefined;
    };
    worker.on("error", forget);
    worker.on("exit", forget);
    worker.unref();
    this.#idle = setTimeout(() => this.#dropSpare(), timerMs(this.#idleTimeoutMs));
    this.#idle.unref();
  }

  #dropSpare(): void {
    clearTimeout(this.#idle);
    if (this.#spare !== undefined) void this.#end(this.#spare);
    this.#spare = undefined;
  }

  #endLater(worker: Worker): Promise<unknown> {
    return new Promise((resolve) => {
      const endNow = () => {
        clearTimeout(timer);
        this.#quiet.delete(endNow);
        resolve(this.#end(worker));
      };
      const timer = setTimeout(endNow, QUIET_MS);
      this.#quiet.add(endNow);
    });
  }

  #end(worker: Worker): Promise<unknown> {
    const ending: Promise<unknown> = worker.terminate().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
    return ending;
  }
}

interface RunPlan {
  readonly program: CodeProgram;
  onRunning(): void;
  /** Ends the worker. @param isIdle its program has ended by itself */
  end(isIdle: boolean): Promise<unknown>;
}

const stopped: ProgramEnd = {
  error: { code: "STOPPED", name: "Error", message: "The program was stopped" },
  cpuMs: 0,
};

class WorkerRun implements ProgramRun {
  readonly ended: Promise<ProgramEnd>;
  readonly #worker: Worker;
  readonly #host: ProgramHost;
  readonly #plan: RunPlan;
  #settle!: (end: ProgramEnd) => void;
  #ending: Promise<unknown> | undefined;
  #cpuMs: number;
  #answers = 0;
  #isRunning = false;
  #hasCut = false;
  #watchdog: ReturnType<typeof setTimeout> | undefined;
  #lastCheck: (() => void) | undefined;
  #image:
    | { resolve(image: { image: Uint8Array; cpuMs: number }): void; reject(error: Error): void }
    | undefined;

  constructor(worker: Worker, host: ProgramHost, plan: RunPlan) {
    this.#worker = worker;
    this.#host = host;
    this.#plan = plan;
    this.#cpuMs = plan.program.usedCpuMs ?? 0;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    worker.on("message", (message: FromWorker) => this.#receive(message));
    worker.on("error", (error) => this.#crash(error));
    worker.on("messageerror", (error) => this.#crash(error));
    worker.on("exit", () => this.#crash(undefined));
    this.#send({ type: "start", program: plan.program });
    this.#watch(START_MS);
  }

  answer(id: number, answer: ProgramAnswer): void {
    if (this.#ending !== undefined) return;
    this.#answers += 1;
    this.#send({ type: "answer", id, answer });
    this.#watchProgram();
  }

  async stop(): Promise<void> {
    this.#finish({ ...stopped, cpuMs: this.#cpuMs });
    await this.#ending;
  }

  snapshot(): Promise<{ readonly image: Uint8Array; readonly cpuMs: number }> {
    if (this.#ending !== undefined) return Promise.reject(new Error("The program has ended"));
    return new Promise((resolve, reject) => {
      this.#image = { resolve, reject };
      this.#send({ type: "snapshot" });
    });
  }

  #send(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  #receive(message: FromWorker): void {
    if (this.#ending !== undefined) return;
    if ("cpuMs" in message) this.#cpuMs = message.cpuMs;
    switch (message.type) {
      case "running":
        this.#isRunning = true;
        this.#plan.onRunning();
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
        // An answer is on its way: the program does not wait any more.
        if (message.answered < this.#answers) return;
        this.#unwatch();
        return this.#host.onWait(message.pending);
      case "image":
        this.#image?.resolve({ image: message.image, cpuMs: message.cpuMs });
        this.#image = undefined;
        return this.#finish({ ...stopped, cpuMs: message.cpuMs }, true);
      case "end":
        this.#hasCut = false;
        return this.#finish(message.end, true);
    }
  }

  #watchProgram(): void {
    if (this.#isRunning) this.#watch(Math.max(0, this.#plan.program.limits.cpuMs - this.#cpuMs) + GRACE_MS);
  }

  /** Ends the program unless the worker reports within this time. */
  #watch(ms: number): void {
    this.#unwatch();
    this.#watchdog = setTimeout(() => {
      // If the host itself was busy, a report may be waiting to be read.
      this.#lastCheck = afterNextPoll(() => this.#expire());
    }, timerMs(ms));
  }

  #unwatch(): void {
    clearTimeout(this.#watchdog);
    this.#lastCheck?.();
    this.#lastCheck = undefined;
  }

  #expire(): void {
    const { cpuMs } = this.#plan.program.limits;
    const message = this.#isRunning
      ? `The program computed for more than ${cpuMs} ms`
      : "The program could not be started in time";
    const code = this.#isRunning ? "CPU_LIMIT" : "CRASHED";
    this.#finish({
      error: { code, name: "Error", message },
      cpuMs: Math.max(this.#cpuMs, this.#isRunning ? cpuMs : 0),
    });
  }

  #crash(error: unknown): void {
    const isFull = (error as { code?: unknown } | undefined)?.code === "ERR_WORKER_OUT_OF_MEMORY";
    this.#finish({
      error: isFull
        ? { code: "MEMORY_LIMIT", name: "Error", message: "The program needs more memory than it may use" }
        : { code: "CRASHED", name: "Error", message: "The worker thread of the program ended unexpectedly" },
      cpuMs: this.#cpuMs,
    });
  }

  #finish(end: ProgramEnd, isIdle = false): void {
    if (this.#ending !== undefined) return;
    this.#unwatch();
    if (this.#hasCut) this.#host.onLog("[more output was left out]");
    this.#image?.reject(new Error("The program has ended"));
    // Resolves when the thread is gone.
    this.#ending = this.#plan.end(isIdle);
    this.#settle(end);
  }
}
