/**
 * Runs programs in worker threads of Node, with QuickJS inside. Chosen by the package's `#code-executor` conditions. Nothing of a program
 * runs on the thread of the host: it compiles QuickJS and never instantiates it. A thread runs one program at a time, each in a new VM.
 * There are few threads: programs wait for one, and owners take turns.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { ConfigError, timerMs } from "@toolport/base";
import {
  type CodeExecutor,
  type CodeProgram,
  endError,
  type ProgramHost,
  type ProgramRun,
} from "./code-executor.js";
import type { CodeCapacity } from "./code-mode.js";
import { PooledProgram } from "./pooled-program.js";
import { GUEST_SOURCE } from "./worker/guest.js";
import type { CompiledWasm } from "./worker/thread-link.js";
import { compileWasm, WorkerThread } from "./worker-thread.js";

const MIB = 1024 * 1024;
/** As much as one program may use by default. */
const THREAD_MEMORY_BYTES = 64 * MIB;
/** Programs with more memory stay in their thread. */
const MAX_LEAVING_BYTES = 16 * MIB;
const MAX_WAITING = 1_000;

/** Loads QuickJS. Throws a `ConfigError` if the package is missing. */
export async function createExecutor({
  idleTimeoutMs,
  capacity = {},
}: {
  /** How long an unused worker is kept ready. */
  readonly idleTimeoutMs: number;
  readonly capacity?: CodeCapacity | undefined;
}): Promise<CodeExecutor> {
  const bytes = await readQuickJs();
  const wasm = await compileWasm(bytes);
  // An image holds the memory of the engine and the functions of the guest.
  const version = createHash("sha256").update(bytes).update(GUEST_SOURCE).digest("hex").slice(0, 32);
  const { threads = availableParallelism() + 2, waiting = MAX_WAITING } = capacity;
  const { memoryBytes = threads * THREAD_MEMORY_BYTES } = capacity;
  return new WorkerExecutor(wasm, version, { idleTimeoutMs, capacity: { threads, memoryBytes, waiting } });
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
  /** Of the program that it ran last. */
  readonly memoryBytes: number;
  /** Has a VM for the next program. */
  isReady: boolean;
}

class WorkerExecutor implements CodeExecutor {
  /** All that have not ended, in the order of their start. */
  readonly #programs = new Set<PooledProgram>();
  /** All threads, until they are gone. */
  readonly #threads = new Set<WorkerThread>();
  /** The one used last is at the end, and is taken first. */
  #idle: IdleThread[] = [];
  /** Threads that are about to end. */
  readonly #ending = new Set<Promise<unknown>>();
  /** When an owner got a thread last. */
  readonly #turns = new Map<string, number>();
  #turn = 0;
  #isClosed = false;

  constructor(
    readonly wasm: CompiledWasm,
    readonly version: string,
    readonly settings: {
      idleTimeoutMs: number;
      capacity: { readonly [Key in keyof CodeCapacity]-?: number };
    },
  ) {}

  start(program: CodeProgram, host: ProgramHost): ProgramRun {
    const started = new PooledProgram({
      program,
      host,
      onChange: () => this.#schedule(),
      onAnswer: () => this.#limitAnswers(),
    });
    this.#programs.add(started);
    void started.ended.then(() => {
      this.#programs.delete(started);
      if (![...this.#programs].some(({ owner }) => owner === started.owner))
        this.#turns.delete(started.owner);
      this.#schedule();
    });
    this.#schedule();
    this.#refuseExcess();
    return started;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#programs].map((program) => program.stop()));
    for (const { thread } of [...this.#idle]) this.#drop(thread);
    await Promise.all(this.#ending);
  }

  /** Gives threads to the programs that want one. Called whenever something changes. */
  #schedule(): void {
    for (;;) {
      const next = this.#nextInTurn();
      if (next === undefined) return this.#prepareIdle();
      const thread = this.#threadFor(next);
      if (thread === undefined) return this.#makeRoom(next);
      this.#begin(next, thread);
    }
  }

  #inState(state: PooledProgram["state"]): PooledProgram[] {
    return [...this.#programs].filter((program) => program.state === state);
  }

  /** The first program of the owner with the fewest threads; of several, the one whose turn is longest ago. */
  #nextInTurn(): PooledProgram | undefined {
    const threads = this.#sumByOwner(({ hasThread }) => hasThread);
    const rank = ({ owner }: PooledProgram) =>
      [threads.get(owner) ?? 0, this.#turns.get(owner) ?? 0] as const;
    let [next, ...others] = this.#inState("queued");
    for (const other of others) {
      const [[count, turn], [otherCount, otherTurn]] = [rank(next!), rank(other)];
      if (otherCount < count || (otherCount === count && otherTurn < turn)) next = other;
    }
    return next;
  }

  /** The sum of a number for each owner where it is not 0; `true` is 1. */
  #sumByOwner(numberOf: (program: PooledProgram) => number | boolean): Map<string, number> {
    const sums = new Map<string, number>();
    for (const program of this.#programs) {
      const number = Number(numberOf(program));
      if (number > 0) sums.set(program.owner, (sums.get(program.owner) ?? 0) + number);
    }
    return sums;
  }

  #threadFor({ limits: { memoryBytes } }: PooledProgram): WorkerThread | undefined {
    const { capacity } = this.settings;
    const used = [...this.#programs]
      .filter(({ hasThread }) => hasThread)
      .map(({ limits }) => limits.memoryBytes);
    const usedBytes = used.reduce((sum, bytes) => sum + bytes, 0);
    if (used.length > 0 && usedBytes + memoryBytes > capacity.memoryBytes) return undefined;
    for (const { thread } of this.#idle.filter((each) => each.thread.isLost)) this.#drop(thread);
    const idleThread = this.#idle.findLast(({ thread }) => thread.memoryBytes >= memoryBytes)?.thread;
    if (idleThread === undefined)
      return this.#threads.size < capacity.threads ? this.#open(memoryBytes) : undefined;
    this.#forget(idleThread);
    return idleThread;
  }

  /** Lets programs that wait for their calls leave their threads, as many as are wanted. */
  #makeRoom(next: PooledProgram): void {
    const { memoryBytes } = next.limits;
    const small = this.#idle.find(({ thread }) => thread.memoryBytes < memoryBytes);
    if (small !== undefined && this.#threads.size >= this.settings.capacity.threads)
      return this.#drop(small.thread);
    const programs = [...this.#programs];
    // Threads whose programs have ended, and that are not free yet.
    const soonFree =
      this.#threads.size - this.#idle.length - programs.filter(({ hasThread }) => hasThread).length;
    let missing = this.#inState("queued").length - this.#inState("leaving").length - soonFree;
    for (const program of this.#inState("waiting")) {
      if (missing <= 0) return;
      if (program.isLarge) continue;
      program.leave(this.#roomForImage(program.owner));
      missing -= 1;
    }
    // An owner without a thread would wait as long as the calls of programs that are too large to leave.
    const threads = this.#sumByOwner(({ hasThread }) => hasThread);
    if (missing <= 0 || threads.has(next.owner) || this.#inState("running").length > 0) return;
    const most = Math.max(...threads.values());
    const message =
      "The program holds too much data to wait for its calls while other programs wait for their turn";
    void this.#inState("waiting")
      .find(({ owner }) => threads.get(owner) === most)
      ?.fail(endError("MEMORY_LIMIT", message));
  }

  /** The images may take half the memory of running programs, and those of one owner half of that. */
  #roomForImage(owner: string): number {
    const all = this.settings.capacity.memoryBytes / 2;
    const bytesOf = (programs: readonly PooledProgram[]) =>
      programs.reduce((sum, { imageBytes }) => sum + imageBytes, 0);
    const programs = [...this.#programs];
    const own = bytesOf(programs.filter((program) => program.owner === owner));
    return Math.min(MAX_LEAVING_BYTES, all - bytesOf(programs), all / 2 - own);
  }

  #begin(next: PooledProgram, thread: WorkerThread): void {
    const { memoryBytes } = next.limits;
    this.#turns.set(next.owner, ++this.#turn);
    next.begin({
      thread,
      onFree: () => this.#free(thread, memoryBytes),
      onLost: () => {
        this.#replace(memoryBytes);
        return this.#track(thread, thread.endNow());
      },
    });
  }

  #open(memoryBytes: number): WorkerThread {
    const thread = new WorkerThread(this.wasm, memoryBytes);
    this.#threads.add(thread);
    return thread;
  }

  /** The thread has no program any more. What ended the program calls `#schedule`. */
  #free(thread: WorkerThread, memoryBytes: number): void {
    thread.release();
    const { idleTimeoutMs } = this.settings;
    const isWanted = idleTimeoutMs > 0 || this.#inState("queued").length > 0;
    if (this.#isClosed || !isWanted) return void this.#track(thread, thread.end());
    const timer = setTimeout(() => this.#drop(thread), timerMs(idleTimeoutMs)).unref();
    this.#idle.push({ thread, timer, memoryBytes, isReady: false });
  }

  /** Makes unused threads ready for programs like their last ones. */
  #prepareIdle(): void {
    for (const idle of this.#idle) {
      if (!idle.isReady) idle.thread.send({ type: "prepare", memoryBytes: idle.memoryBytes });
      idle.isReady = true;
    }
  }

  /** A thread was lost: starts another one, so that the next program need not wait for that. */
  #replace(memoryBytes: number): void {
    const { idleTimeoutMs, capacity } = this.settings;
    const isFull = this.#idle.length > 0 || this.#threads.size >= capacity.threads;
    if (!this.#isClosed && idleTimeoutMs > 0 && !isFull) this.#free(this.#open(memoryBytes), memoryBytes);
  }

  #drop(thread: WorkerThread): void {
    this.#forget(thread);
    void this.#track(thread, thread.end());
  }

  #forget(thread: WorkerThread): void {
    clearTimeout(this.#idle.find((each) => each.thread === thread)?.timer);
    this.#idle = this.#idle.filter((each) => each.thread !== thread);
  }

  #track(thread: WorkerThread, end: Promise<void>): Promise<void> {
    const ending = end.finally(() => {
      this.#ending.delete(ending);
      this.#threads.delete(thread);
      this.#schedule();
    });
    this.#ending.add(ending);
    return ending;
  }

  /** Answers that wait may take half the memory of running programs. Ends the program with most of the owner that has most. */
  #limitAnswers(): void {
    for (;;) {
      const owners = this.#sumByOwner(({ answerBytes }) => answerBytes);
      const all = [...owners.values()].reduce((sum, bytes) => sum + bytes, 0);
      if (all <= this.settings.capacity.memoryBytes / 2) return;
      const most = Math.max(...owners.values());
      const message = "The answers to calls that wait for the program have too much data together";
      const programs = [...this.#programs].filter(({ owner }) => owners.get(owner) === most);
      void programs
        .reduce((one, other) => (other.answerBytes > one.answerBytes ? other : one))
        .fail(endError("MEMORY_LIMIT", message));
    }
  }

  /** Refuses the newest program of the owner that has most in the queue. */
  #refuseExcess(): void {
    const { waiting } = this.settings.capacity;
    const isNew = (program: PooledProgram) => program.state === "queued" && !program.hasStarted;
    const queued = [...this.#programs].filter(isNew);
    if (queued.length <= waiting) return;
    const counts = this.#sumByOwner(isNew);
    const most = Math.max(...counts.values());
    void queued
      .findLast(({ owner }) => counts.get(owner) === most)
      ?.fail(endError("OVERLOADED", `More than ${waiting} programs wait for their turn`));
  }
}
