/** Schedules when a broken stream is opened again. */
import { backoffMs, fullJitterMs } from "../../util/backoff.js";
import { unrefTimer } from "../../util/timers.js";

/** Delay if the server does not set one. */
const DEFAULT_DELAY_MS = 1_000;
/** Bounds for the delay that servers set with `retry:`. */
const MIN_DELAY_MS = 100;
const MAX_DELAY_MS = 60_000;
/** Maximum number of consecutive failures other than network errors, such as rejected credentials. */
export const MAX_ATTEMPTS = 20;

export class ReconnectTimers {
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  /** The last delay that the server set. */
  retryMs = DEFAULT_DELAY_MS;

  /**
   * @param attempt number of consecutive failures; the delay grows with it
   * @param spreadMs maximum of a random delay that is added to the one the server set
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
    unrefTimer(timer);
    this.#timers.add(timer);
  }

  clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
