/** When a broken stream is opened again. */
import { backoffMs, fullJitterMs } from "../../util/backoff.js";

/** Where the server does not say. */
const DEFAULT_DELAY_MS = 1_000;
/** Servers set the wait by `retry:`; this keeps it sane. */
const MIN_DELAY_MS = 100;
const MAX_DELAY_MS = 60_000;
/** Failures in a row that are not the network's: refused credentials. */
export const MAX_ATTEMPTS = 20;

export class ReconnectTimers {
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  /** The wait that the server asked for last. */
  retryMs = DEFAULT_DELAY_MS;

  /**
   * @param attempt how many in a row came to nothing; the wait grows with it
   * @param spreadMs a random part of up to this much is added, never taken from what the server asked for
   */
  schedule(reconnect: () => void, { attempt = 0, spreadMs = 0 } = {}): void {
    const asked = Math.min(Math.max(this.retryMs, MIN_DELAY_MS), MAX_DELAY_MS);
    const spread = fullJitterMs(1, { baseMs: spreadMs });
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        reconnect();
      },
      Math.max(asked, backoffMs(attempt)) + spread,
    );
    if (typeof timer === "object") timer.unref?.();
    this.#timers.add(timer);
  }

  clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
