/** The wait between two questions about a task. */
import { onSharedAbort } from "../../util/shared-abort.js";
import { MIN_PACE_MS } from "./task-pace.js";

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
