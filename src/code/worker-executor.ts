/**
 * Runs programs in worker threads of Node, with QuickJS inside. Chosen by the package's `#code-executor` conditions. Nothing of a program
 * runs on the thread of the host: it compiles QuickJS and never instantiates it. A thread runs one program at a time, each in a new VM.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { ConfigError } from "../errors/config-error.js";
import { timerMs } from "../util/timers.js";
import type { CodeExecutor, CodeProgram, ProgramHost, ProgramRun } from "./code-executor.js";
import { compileWasm } from "./when-quiet.js";
import { GUEST_SOURCE } from "./worker/guest.js";
import type { CompiledWasm } from "./worker/worker-messages.js";
import { WorkerRun } from "./worker-run.js";
import { WorkerThread } from "./worker-thread.js";

/** More unused threads are not kept. */
const MAX_IDLE_THREADS = 4;

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
  return new WorkerExecutor(wasm, { version, idleTimeoutMs });
}

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

interface IdleThread {
  readonly thread: WorkerThread;
  readonly timer: ReturnType<typeof setTimeout>;
}

class WorkerExecutor implements CodeExecutor {
  readonly version: string;
  readonly #wasm: CompiledWasm;
  readonly #idleTimeoutMs: number;
  readonly #running = new Set<WorkerRun>();
  /** The one used last is at the end, and is taken first. */
  #idle: IdleThread[] = [];
  /** Threads that are about to end. */
  readonly #ending = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(wasm: CompiledWasm, { version, idleTimeoutMs }: { version: string; idleTimeoutMs: number }) {
    this.#wasm = wasm;
    this.version = version;
    this.#idleTimeoutMs = idleTimeoutMs;
  }

  start(program: CodeProgram, host: ProgramHost): ProgramRun {
    const { memoryBytes } = program.limits;
    const thread = this.#take(memoryBytes) ?? new WorkerThread(this.#wasm, memoryBytes);
    const run = new WorkerRun(thread, host, {
      program,
      onFree: () => {
        thread.release();
        this.#keep(thread, memoryBytes);
      },
      onLost: () => {
        this.#replace(memoryBytes);
        return this.#track(thread.endNow());
      },
    });
    this.#running.add(run);
    void run.ended.then(() => this.#running.delete(run));
    return run;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#running].map((run) => run.stop()));
    for (const { thread } of [...this.#idle]) this.#drop(thread);
    await Promise.all(this.#ending);
  }

  #take(memoryBytes: number): WorkerThread | undefined {
    const fits = ({ thread }: IdleThread) => thread.memoryBytes >= memoryBytes && !thread.isLost;
    const found = this.#idle.findLast(fits)?.thread;
    if (found !== undefined) this.#forget(found);
    return found;
  }

  /** Makes the thread ready for a program like the last one. */
  #keep(thread: WorkerThread, memoryBytes: number): void {
    if (this.#isClosed || this.#idleTimeoutMs === 0 || this.#idle.length >= MAX_IDLE_THREADS)
      return void this.#track(thread.end());
    thread.send({ type: "prepare", memoryBytes });
    const timer = setTimeout(() => this.#drop(thread), timerMs(this.#idleTimeoutMs));
    timer.unref();
    this.#idle.push({ thread, timer });
  }

  /** A thread was lost: starts another one, so that the next program need not wait for that. */
  #replace(memoryBytes: number): void {
    if (this.#isClosed || this.#idleTimeoutMs === 0 || this.#idle.length > 0) return;
    const thread = new WorkerThread(this.#wasm, memoryBytes);
    thread.release();
    this.#keep(thread, memoryBytes);
  }

  #drop(thread: WorkerThread): void {
    this.#forget(thread);
    void this.#track(thread.end());
  }

  #forget(thread: WorkerThread): void {
    clearTimeout(this.#idle.find((each) => each.thread === thread)?.timer);
    this.#idle = this.#idle.filter((each) => each.thread !== thread);
  }

  #track(end: Promise<void>): Promise<void> {
    const ending = end.finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
    return ending;
  }
}
