/** Reads changed lists again: one read at a time, with growing pauses while changes continue. */
import type { ListName } from "../protocol/change-watch.js";
import { unrefTimer } from "../util/timers.js";

/** Changes within this time are read together. */
const GATHER_MS = 50;
/** Minimum pause after a read; every recent read of the same reason doubles it. */
const PAUSE_MS = 250;
/** Maximum pause: while changes or checks continue, the lists are never older than this. */
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
  /** The timer is set, and no change was reported. */
  #awaitsCheck = false;
  #isReading = false;
  #isClosed = false;
  readonly #changes = new GrowingPause();
  /** A server that closes its stream again and again makes its lists unsure as often. */
  readonly #checks = new GrowingPause();
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
    if (this.#isReading || this.#isClosed || this.#due.size === 0) return;
    const isCheck = ![...this.#due.values()].includes("changed");
    if (this.#timer !== undefined && (isCheck || !this.#awaitsCheck)) return;
    // A check right after a stream is open must not delay the first change that the stream reports.
    clearTimeout(this.#timer);
    this.#awaitsCheck = isCheck;
    const [changeMs, checkMs] = [this.#changes.restMs(), this.#checks.restMs()];
    const pauseMs = isCheck ? Math.max(changeMs, checkMs) : changeMs;
    this.#timer = unrefTimer(setTimeout(() => void this.#run(), Math.max(GATHER_MS, pauseMs)));
  }

  async #run(): Promise<void> {
    this.#timer = undefined;
    this.#isReading = true;
    const due = new Map(this.#due);
    this.#due.clear();
    const { failed, same } = await this.#parts.read(due);
    this.#isReading = false;
    const isCheck = failed.length === 0 && ![...due.values()].includes("changed");
    (isCheck ? this.#checks : this.#changes).begin();
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
}

/** The pause after a read, which every recent read doubles. */
class GrowingPause {
  /** Recent reads that still count, and when they were counted. */
  #recent = 0;
  #countedAt = 0;
  #begunAt = Number.NEGATIVE_INFINITY;

  /** A read has ended. */
  begin(): void {
    this.#recent += 1;
    this.#begunAt = performance.now();
  }

  /** What is left of the pause; not positive if it is over. */
  restMs(): number {
    const now = performance.now();
    if (this.#recent === 0) this.#countedAt = now;
    const forgotten = Math.min(this.#recent, Math.floor((now - this.#countedAt) / FORGET_MS));
    this.#recent -= forgotten;
    this.#countedAt += forgotten * FORGET_MS;
    const pauseMs = this.#recent === 0 ? 0 : Math.min(PAUSE_MS * 2 ** (this.#recent - 1), MAX_PAUSE_MS);
    return this.#begunAt + pauseMs - now;
  }
}
