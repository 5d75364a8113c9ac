/** Sessions and transports of one connection that are on their way out. */
import type { Session } from "../protocol/session.js";

export class Departures {
  readonly #closings = new Set<Promise<void>>();
  readonly #sessions = new Set<Session>();

  /** `closeAll()` waits for it. */
  track(closing: Promise<void>): void {
    const tracked: Promise<void> = closing
      .catch(() => {})
      .finally(() => {
        this.#closings.delete(tracked);
      });
    this.#closings.add(tracked);
  }

  /** Others may still wait for an answer on a session that one call has found lost: it is closed after the last of them. */
  retire(session: Session): void {
    this.track(session.retire().finally(this.hold(session)));
  }

  /** `closeAll()` closes the session, until the returned function is called. */
  hold(session: Session): () => void {
    this.#sessions.add(session);
    return () => void this.#sessions.delete(session);
  }

  /** Waits until all are gone. */
  async settled(): Promise<void> {
    await Promise.all(this.#closings);
  }

  /** Ends at once whatever is left, and waits for it. */
  async closeAll(): Promise<void> {
    for (const session of this.#sessions) this.track(session.close());
    await this.settled();
  }
}
