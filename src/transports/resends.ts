/** How often one call may be sent again. Every layer that can send it again asks here, so that their rules do not multiply. */

/**
 * The resends of one call on one server: retries, a new session, new credentials. One object for all layers, from the
 * retry step down to the credentials of a request.
 */
export class Resends {
  #left: number;
  #healed = false;

  /** @param maxSends sends in all, the first one included */
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
   * Takes one resend for a new session or new credentials: once in all. A server that refuses every send, and runs the
   * call each time, must not get it more often.
   */
  takeHealing(): boolean {
    if (this.#healed || !this.take()) return false;
    this.#healed = true;
    return true;
  }
}
