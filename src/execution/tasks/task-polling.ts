/** When to poll a task: at the interval that its server asks for, within limits. */
import { onSharedAbort } from "../../util/shared-abort.js";

const MIN_PACE_MS = 100;
const MAX_PACE_MS = 60_000;
/** Default interval if the server gives none; it grows with every poll. */
const FIRST_PACE_MS = 250;
const LAST_PACE_MS = 5_000;
const GROWTH = 1.5;
/** Added at random, so that many clients do not poll at the same time. Never less than the server asks for. */
const JITTER = 0.1;

/** @param polls number of polls so far */
export function taskPaceMs(
  wishMs: number | undefined,
  polls: number,
  random: () => number = Math.random,
): number {
  const ownMs = Math.min(FIRST_PACE_MS * GROWTH ** polls, LAST_PACE_MS);
  const paceMs = Math.min(Math.max(wishMs ?? ownMs, MIN_PACE_MS), MAX_PACE_MS);
  return paceMs * (1 + random() * JITTER);
}

export interface RestParts<Result> {
  ms: number;
  signal: AbortSignal;
  /** Registers a listener for notifications about the task; returns a function that removes it. */
  onNews: (listener: () => void) => () => void;
  /** May settle before the next poll is due. */
  result?: Promise<Result> | undefined;
}

/**
 * Resolves after `ms`, or earlier after a notification, or with the result. The timer keeps the process alive, because a
 * caller waits for the task.
 */
export function restFromTask<Result>({
  ms,
  signal,
  onNews,
  result,
}: RestParts<Result>): Promise<Result | undefined> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const startedAt = performance.now();
    const settle = (finish: () => void) => {
      clearTimeout(timer);
      stopNews();
      stopAbort();
      finish();
    };
    const done = () => settle(() => resolve(undefined));
    let timer = setTimeout(done, ms);
    const stopNews = onNews(() => {
      clearTimeout(timer);
      // Frequent notifications must not cause more frequent polls than the minimum interval.
      timer = setTimeout(done, Math.max(0, startedAt + MIN_PACE_MS - performance.now()));
    });
    const stopAbort = onSharedAbort(signal, () => settle(() => reject(signal.reason)));
    result?.then((value) => settle(() => resolve(value)));
  });
}
