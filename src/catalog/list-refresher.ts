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

/** Why a list is read again: the server reported a change, or a change may have been missed. */
export type RereadReason = "changed" | "unsure";

/** The lists to read. */
export type DueLists = ReadonlyMap<ListName, RereadReason>;

export interface RereadOutcome {
  /** Lists that could not be read. */
  readonly failed: readonly ListName[];
  /** Lists about which Toolport was unsure, and which have not changed. */
  readonly same: readonly ListName[];
}

export interface ListRefresherParts {
  /** Reads these lists. Never rejects. */
  read: (due: DueLists) => Promise<RereadOutcome>;
  /** These lists were read again, and the server reported a change or they differ. */
  onRead: (lists: readonly ListName[]) => void;
}

/**
 * At most one read is under way and one more is queued. A single change is read at once. Continuous changes are read after
 * growing pauses, and a read always follows the last change.
 */
export class ListRefresher {
  readonly #parts: ListRefresherParts;
  /** Lists that changed, or may have, since they were last requested. */
  readonly #due = new Map<ListName, RereadReason>();
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
    this.#due.set(list, "changed");
    this.#schedule();
  }

  /** A change of this list may have been missed. */
  unsure(list: ListName): void {
    this.#failures = 0;
    if (!this.#due.has(list)) this.#due.set(list, "unsure");
    this.#schedule();
  }

  /** Clears the timer; a read under way ends with its session. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#isReading || this.#isClosed || this.#due.size === 0) return;
    const pauseMs = this.#endedAt + this.#pauseMs() - performance.now();
    this.#timer = setTimeout(() => void this.#run(), Math.max(GATHER_MS, pauseMs));
    // Timers are objects with unref() on Node, and numbers on Workers and in browsers.
    if (typeof this.#timer === "object") this.#timer.unref?.();
  }

  async #run(): Promise<void> {
    this.#timer = undefined;
    this.#isReading = true;
    const due = new Map(this.#due);
    this.#due.clear();
    const { failed, same } = await this.#parts.read(due);
    this.#isReading = false;
    // A check right after a stream is open must not delay the first change that the stream reports.
    if (failed.length > 0 || [...due.values()].includes("changed")) {
      this.#recent += 1;
      this.#endedAt = performance.now();
    }
    if (this.#isClosed) return;
    const read = [...due.keys()].filter((list) => !failed.includes(list) && !same.includes(list));
    if (read.length > 0) this.#parts.onRead(read);
    this.#retry(failed, due);
    this.#schedule();
  }

  /** Otherwise a list that failed after the last change would stay outdated. */
  #retry(failed: readonly ListName[], due: DueLists): void {
    this.#failures = failed.length === 0 ? 0 : this.#failures + 1;
    if (this.#failures > MAX_FAILURES) return;
    for (const list of failed) {
      const reason = due.get(list) ?? "unsure";
      if (reason === "changed" || !this.#due.has(list)) this.#due.set(list, reason);
    }
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
