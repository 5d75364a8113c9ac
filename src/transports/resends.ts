/** Limits how often one call is sent again, over all layers that can resend it. */

/**
 * The resends left for one call on one server: retries, a new session, new credentials. All layers share one object, from
 * the retry step down to the credentials of a request, so that their limits do not multiply.
 */
export class Resends {
  #left: number;
  #healed = false;

  /** @param maxSends number of sends, including the first */
  constructor(maxSends: number) {
    this.#left = maxSends - 1;
  }

  /** Takes one resend; false if none is left. */
  take(): boolean {
    if (this.#left <= 0) return false;
    this.#left -= 1;
    return true;
  }

  /**
   * Takes one resend for a new session or new credentials, at most once per call. A server that rejects every send, but runs
   * the call each time, must not receive it more often.
   */
  takeHealing(): boolean {
    if (this.#healed || !this.take()) return false;
    this.#healed = true;
    return true;
  }
}
