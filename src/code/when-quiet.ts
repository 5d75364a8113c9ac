/**
 * When a worker thread can be ended without risk for the process.
 *
 * V8 compiles hot functions of a thread in the background, and such a job may ask Node for the thread, to collect its garbage. Node 20
 * removes a thread that ends from its list before V8 waits for these jobs: then the job aborts the whole process ("Assertion failed:
 * (data.first) != nullptr"; the order is that of https://github.com/nodejs/node/pull/30909). A thread in which no JavaScript has run
 * for a while has no such jobs.
 */
import { afterNextPoll, timerMs } from "../util/timers.js";
import type { CompiledWasm } from "./worker/worker-messages.js";

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
