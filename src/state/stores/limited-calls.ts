/** Calls to a database server that end in time, whatever the server or its driver does. */
import type { StateError } from "../../errors/state-error.js";
import { withDeadline } from "../../util/with-deadline.js";

/** Longest time for one call: connecting, waiting in the driver's queue and the answer together. */
const CALL_LIMIT_MS = 4_000;
/** Time of it for opening a connection. */
export const CONNECT_LIMIT_MS = 3_000;
/** Calls that ran out of time and are still in a driver's queue. Beyond that no more are made: queues do not grow for ever. */
const MAX_ABANDONED = 100;

/** Runs a call; the signal tells it that nobody waits for it any longer. */
export type LimitedCall = <T>(call: (signal: AbortSignal) => Promise<T>) => Promise<T>;

/** Makes the limit for one database; `tooSlow` is the error of a call that did not end. `closing` ends those in the background. */
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
