/** Hands updates of a resource to one listener: one after the other, and a flood of them as few. */

import { callSafely } from "../../util/call-safely.js";

/** A resource changed, or may have. */
export interface ResourceUpdate {
  readonly server: string;
  /** What changed: the address subscribed to, or one below it. */
  readonly uri: string;
  /**
   * The connection was gone for a while and is back: the resource may have changed unseen. Read it again to know.
   */
  readonly missed: boolean;
  readonly principal?: string | undefined;
}

/**
 * Told of updates. Nothing waits for it, except the next update: while its promise is not settled, what changes is
 * gathered and told afterwards, each address once.
 */
export type ResourceListener = (update: ResourceUpdate) => unknown;

/** Addresses that can wait; beyond that it is only said that something changed. */
const MAX_WAITING = 100;

export class UpdateFeed {
  readonly #listener: ResourceListener;
  readonly #report: (error: unknown) => void;
  readonly #waiting = new Map<string, ResourceUpdate>();
  #busy = false;
  #closed = false;

  constructor(listener: ResourceListener, report: (error: unknown) => void) {
    this.#listener = listener;
    this.#report = report;
  }

  /** @param subscribed the address that stands for all others when there are too many */
  tell(update: ResourceUpdate, subscribed: string): void {
    if (this.#closed) return;
    if (this.#waiting.size >= MAX_WAITING && !this.#waiting.has(update.uri)) {
      this.#waiting.clear();
      this.#waiting.set(subscribed, { ...update, uri: subscribed, missed: true });
    } else {
      const missed = update.missed || (this.#waiting.get(update.uri)?.missed ?? false);
      this.#waiting.set(update.uri, { ...update, missed });
    }
    if (!this.#busy) this.#drain().catch(this.#report);
  }

  close(): void {
    this.#closed = true;
    this.#waiting.clear();
  }

  async #drain(): Promise<void> {
    this.#busy = true;
    for (const [uri, update] of this.#waiting) {
      this.#waiting.delete(uri);
      const ending = callSafely(() => this.#listener(Object.freeze(update)), this.#report);
      if (ending !== undefined) await ending;
    }
    this.#busy = false;
  }
}
