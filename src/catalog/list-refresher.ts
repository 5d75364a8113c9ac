/** Reads the lists again that a server says it has changed: one reading at a time, paced when the changes do not stop. */
import type { ListName } from "../protocol/change-watch.js";

/** Changes that come close together are read together. */
const GATHER_MS = 50;
/** Least time between the end of a reading and the next one; doubled by every recent reading. */
const PAUSE_MS = 250;
/** Longest pause: under a storm the lists are read this often, and are out of date for no longer. */
const MAX_PAUSE_MS = 5_000;
/** One recent reading is forgotten after this time. */
const FORGET_MS = 5_000;
/** Failed readings in a row before the next change is waited for. */
const MAX_FAILURES = 5;

export interface ListRefresherParts {
  /** Reads these lists; resolves with those that could not be read, and never rejects. */
  read: (lists: readonly ListName[]) => Promise<readonly ListName[]>;
  /** These lists were read again. */
  onRead: (lists: readonly ListName[]) => void;
}

/**
 * At most one reading is under way and at most one more is queued, whatever the server sends. A single change is read at
 * once. Changes that do not stop are read after growing pauses, and the last one is always followed by a reading.
 */
export class ListRefresher {
  readonly #parts: ListRefresherParts;
  /** Lists that changed since they were last asked for. */
  readonly #changed = new Set<ListName>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;
  #isClosed = false;
  /** Readings not forgotten yet, and when that was counted. */
  #recent = 0;
  #countedAt = 0;
  #endedAt = Number.NEGATIVE_INFINITY;
  #failures = 0;

  constructor(parts: ListRefresherParts) {
    this.#parts = parts;
  }

  /** The server says that this list changed. */
  changed(list: ListName): void {
    this.#failures = 0;
    this.#changed.add(list);
    this.#schedule();
  }

  /** Ends the timer; a reading under way ends with its session. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#isReading || this.#isClosed || this.#changed.size === 0) return;
    const pauseMs = this.#endedAt + this.#pauseMs() - performance.now();
    this.#timer = setTimeout(() => void this.#run(), Math.max(GATHER_MS, pauseMs));
    // Timers are objects with unref() on Node, plain numbers on Workers and in browsers.
    if (typeof this.#timer === "object") this.#timer.unref?.();
  }

  async #run(): Promise<void> {
    this.#timer = undefined;
    this.#isReading = true;
    const lists = [...this.#changed];
    this.#changed.clear();
    this.#recent += 1;
    const failed = await this.#parts.read(lists);
    this.#isReading = false;
    this.#endedAt = performance.now();
    if (this.#isClosed) return;
    const read = lists.filter((list) => !failed.includes(list));
    if (read.length > 0) this.#parts.onRead(read);
    this.#retry(failed);
    this.#schedule();
  }

  /** Without this, a list that failed after the last change would stay out of date. */
  #retry(failed: readonly ListName[]): void {
    this.#failures = failed.length === 0 ? 0 : this.#failures + 1;
    if (this.#failures <= MAX_FAILURES) for (const list of failed) this.#changed.add(list);
  }

  #pauseMs(): number {
    const now = performance.now();
    if (this.#recent === 0) this.#countedAt = now;
    const forgotten = Math.min(this.#recent, Math.floor((now - this.#countedAt) / FORGET_MS));
    this.#recent -= forgotten;
    this.#countedAt += forgotten * FORGET_MS;
    return this.#recent === 0 ? 0 : Math.min(PAUSE_MS * 2 ** (this.#recent - 1), MAX_PAUSE_MS);
  }
}
