/** The delay before a reconnect: long and random in the background, short when a call waits. */
import { onSharedAbort } from "../util/shared-abort.js";
import { pause } from "../util/sleep.js";
import type { ReconnectWaits } from "./reconnect-policy.js";

export class ReconnectWait {
  /** Ends the current delay and clears its timers. */
  #cut: AbortController | undefined;
  /** When the last delay ended and an attempt began (`performance.now()`). */
  #endedAt = Number.NEGATIVE_INFINITY;
  /** When a waiting call may end the delay (`performance.now()`). */
  #callAt = 0;

  /** Resolves when the next attempt is due; rejects with the reason of the signal. */
  async start({ backgroundMs, callPauseMs }: ReconnectWaits, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const cut = new AbortController();
    const stopListening = onSharedAbort(signal, () => cut.abort());
    this.#cut = cut;
    this.#callAt = this.#endedAt + callPauseMs;
    if (backgroundMs > 0) await pause(backgroundMs, cut.signal).catch(() => {});
    stopListening();
    cut.abort();
    if (this.#cut === cut) this.#cut = undefined;
    this.#endedAt = performance.now();
    signal.throwIfAborted();
  }

  /** The program asked for this server: the next attempt is due now. */
  end(): void {
    this.#cut?.abort();
  }

  /** A call waits for the server: the next attempt is due as soon as the policy allows. */
  needed(): void {
    const cut = this.#cut;
    if (cut === undefined) return;
    const leftMs = this.#callAt - performance.now();
    if (leftMs <= 0) return cut.abort();
    // One timer is enough for all waiting calls.
    if (leftMs === Number.POSITIVE_INFINITY) return;
    this.#callAt = Number.POSITIVE_INFINITY;
    pause(leftMs, cut.signal).then(
      () => cut.abort(),
      () => {},
    );
  }
}
