/** When the SDK may open a broken stream again. */
import { backoffMs } from "../../util/backoff.js";
import type { RequestLedger } from "./request-ledger.js";

/** Servers set the wait by `retry:`; this keeps it sane. */
const MIN_DELAY_MS = 100;
const MAX_DELAY_MS = 60_000;
/** Failures of the SDK's own in a row (refused authorization, an event id that is no header value). */
const MAX_ATTEMPTS = 20;

export interface ReconnectTimersOptions {
  readonly ledger: RequestLedger;
  /** Listening streams in a row that ended without an event. */
  readonly idleEnds: () => number;
}

export class ReconnectTimers {
  readonly #options: ReconnectTimersOptions;
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();

  constructor(options: ReconnectTimersOptions) {
    this.#options = options;
  }

  /** The SDK's `reconnectionScheduler`: called when it has read a stream to its end and wants to resume it. */
  readonly schedule = (reconnect: () => void, delayMs: number, attempt: number): void => {
    const { ledger } = this.#options;
    ledger.cutHopeless();
    if (attempt >= MAX_ATTEMPTS) return;
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        reconnect();
      },
      this.#delay(delayMs, attempt),
    );
    if (typeof timer === "object") timer.unref?.();
    this.#timers.add(timer);
  };

  /** The SDK remembers only the last of its timers; here all of them end. */
  clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #delay(delayMs: number, attempt: number): number {
    const asked = Math.min(Math.max(delayMs, MIN_DELAY_MS), MAX_DELAY_MS);
    // Nobody waits for an answer, and the server keeps closing a stream it has nothing to say on: ask less and less.
    const idle = this.#options.ledger.waiting().length > 0 ? 0 : this.#options.idleEnds();
    return Math.max(asked, backoffMs(Math.max(attempt, idle)));
  }
}
