/** Repeats work that fails for a while, such as a call to a store that is restarting. */
import { backoffMs, pause } from "./timers.js";

/**
 * Repeats `work`, with growing pauses, until it succeeds or fails after `ms` milliseconds: then it rejects with the last error. An
 * abort ends the pauses with the signal's reason. Does not keep the process alive.
 */
export async function retryFor<T>(ms: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const until = performance.now() + ms;
  for (let attempt = 2; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() >= until) throw error;
      await pause(backoffMs(attempt, { baseMs: 200, maxMs: 2_000 }), signal);
    }
  }
}
