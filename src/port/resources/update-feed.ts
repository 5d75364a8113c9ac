/** Passes updates of a resource to one listener, one at a time, and merges updates that wait. */

import { callSafely } from "../../util/call-safely.js";

/** A resource changed, or may have changed. */
export interface ResourceUpdate {
  readonly server: string;
  /** The URI that changed: the subscribed one, or one below it. */
  readonly uri: string;
  /**
   * The connection was interrupted, so a change may have been missed. Read the resource to find out.
   */
  readonly missed: boolean;
  readonly principal?: string | undefined;
}

/**
 * Receives updates. If it returns a promise, further updates wait until it settles and are merged: one for each URI.
 */
export type ResourceListener = (update: ResourceUpdate) => unknown;

/** Maximum number of waiting URIs. Beyond it, one update replaces all others. */
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

  /** @param subscribed the URI that is reported instead of all others when there are too many */
  add(update: ResourceUpdate, subscribed: string): void {
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
