/** Bounds the time of calls to a database server, and the durations that are sent to it. */
import type { StateError } from "../../errors/state-error.js";
import { withDeadline } from "../../util/with-deadline.js";

/** Maximum time of one call: connecting, waiting in the driver's queue and the response together. */
const CALL_LIMIT_MS = 4_000;
/** The part of it for opening a connection. */
export const CONNECT_LIMIT_MS = 3_000;
/** Calls that ran out of time and are still in a driver's queue. With more, further calls fail, so that the queue stays bounded. */
const MAX_ABANDONED = 100;

/** Runs a call. The signal aborts when no caller waits for the result any longer. */
export type LimitedCall = <T>(call: (signal: AbortSignal) => Promise<T>) => Promise<T>;

/** Creates the limit for one database. `tooSlow` creates the error of a call that timed out; `closing` ends pending calls. */
export function limitCalls(tooSlow: () => StateError, closing: AbortSignal): LimitedCall {
  let abandoned = 0;
  return async (call) => {
    if (abandoned >= MAX_ABANDONED) throw tooSlow();
    const over = new AbortController();
    const promise = call(over.signal);
    try {
      return await withDeadline(promise, {
        timeoutMs: CALL_LIMIT_MS,
        signal: closing,
        onTimeout() {
          abandoned++;
          const settled = () => {
            abandoned--;
          };
          promise.then(settled, settled);
          return tooSlow();
        },
      });
    } finally {
      over.abort();
    }
  };
}

/** About three thousand years. */
const LONGEST_MS = 1e14;

/** The duration rounded up. */
export const wholeMs = (ms: number): number => Math.min(Math.max(Math.ceil(ms), 0), LONGEST_MS);
