/** Sessions and transports of one connection that are closing. */
import type { Session } from "../protocol/session.js";

export class Departures {
  readonly #closings = new Set<Promise<void>>();
  readonly #sessions = new Set<Session>();

  /** `closeAll()` waits for this promise. */
  track(closing: Promise<void>): void {
    const tracked: Promise<void> = closing
      .catch(() => {})
      .finally(() => {
        this.#closings.delete(tracked);
      });
    this.#closings.add(tracked);
  }

  /** Closes a lost session after its last request: other calls may still receive their responses on it. */
  retire(session: Session): void {
    this.track(session.retire().finally(this.hold(session)));
  }

  /** Registers a session that `closeAll()` closes, until the returned function is called. */
  hold(session: Session): () => void {
    this.#sessions.add(session);
    return () => void this.#sessions.delete(session);
  }

  /** Waits until all have closed. */
  async settled(): Promise<void> {
    await Promise.all(this.#closings);
  }

  /** Closes everything at once, and waits for it. */
  async closeAll(): Promise<void> {
    for (const session of this.#sessions) this.track(session.close());
    await this.settled();
  }
}
