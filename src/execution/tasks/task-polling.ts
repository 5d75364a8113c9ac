/** How long to wait before a task is asked about again: as its server wants it, within reason. */
import { onSharedAbort } from "../../util/shared-abort.js";

export const MIN_PACE_MS = 100;
const MAX_PACE_MS = 60_000;
/** Where the server does not say: soon at first, then less and less often. */
const FIRST_PACE_MS = 250;
const LAST_PACE_MS = 5_000;
const GROWTH = 1.5;
/** On top, so that many clients do not ask in step; never below what the server wants. */
const JITTER = 0.1;

/** @param polls how often it was asked about so far */
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
  /** Calls back when the server says by itself that something changed; returns what stops it. */
  onNews: (listener: () => void) => () => void;
  /** The result itself may come first. */
  result?: Promise<Result> | undefined;
}

/**
 * Ends after `ms`, or sooner by news of the server's, or with the result. Somebody waits for the call at the other end,
 * so it keeps the process alive.
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
      // A server that tells much does not set the pace.
      timer = setTimeout(done, Math.max(0, startedAt + MIN_PACE_MS - performance.now()));
    });
    const stopAbort = onSharedAbort(signal, () => settle(() => reject(signal.reason)));
    result?.then((value) => settle(() => resolve(value)));
  });
}
