/** Reads changed lists again: one read at a time, with growing pauses while changes continue. */
import type { ListName } from "../protocol/change-watch.js";

/** Changes within this time are read together. */
const GATHER_MS = 50;
/** Minimum pause after a read; every recent read doubles it. */
const PAUSE_MS = 250;
/** Maximum pause: while changes continue, the lists are never older than this. */
const MAX_PAUSE_MS = 5_000;
/** After this time, one recent read no longer counts. */
const FORGET_MS = 5_000;
/** After this many failed reads in a row, wait for the next change. */
const MAX_FAILURES = 5;

export interface ListRefresherParts {
  /** Reads these lists; resolves with those that could not be read. Never rejects. */
  read: (lists: readonly ListName[]) => Promise<readonly ListName[]>;
  /** These lists were read again. */
  onRead: (lists: readonly ListName[]) => void;
}

/**
 * At most one read is under way and one more is queued. A single change is read at once. Continuous changes are read after
 * growing pauses, and a read always follows the last change.
 */
export class ListRefresher {
  readonly #parts: ListRefresherParts;
  /** Lists that changed since they were last requested. */
  readonly #changed = new Set<ListName>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;
  #isClosed = false;
  /** Recent reads that still count, and when they were counted. */
  #recent = 0;
  #countedAt = 0;
  #endedAt = Number.NEGATIVE_INFINITY;
  #failures = 0;

  constructor(parts: ListRefresherParts) {
    this.#parts = parts;
  }

  /** The server reported a change of this list. */
  changed(list: ListName): void {
    this.#failures = 0;
    this.#changed.add(list);
    this.#schedule();
  }

  /** Clears the timer; a read under way ends with its session. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#isReading || this.#isClosed || this.#changed.size === 0) return;
    const pauseMs = this.#endedAt + this.#pauseMs() - performance.now();
    this.#timer = setTimeout(() => void this.#run(), Math.max(GATHER_MS, pauseMs));
    // Timers are objects with unref() on Node, and numbers on Workers and in browsers.
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

  /** Otherwise a list that failed after the last change would stay outdated. */
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
