/** Reads changed lists again: one read at a time, with growing pauses while changes continue. */

import { unrefTimer } from "@toolport/base";
import type { ListName } from "../protocol/change-watch.js";

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

/** The lists to read: the server reported a change, or a change may have been missed. */
export type DueLists = ReadonlyMap<ListName, "changed" | "unsure">;

/**
 * At most one read is under way and one more is queued. A single change is read at once. Continuous changes are read after
 * growing pauses, and a read always follows the last change.
 */
export class ListRefresher {
  /** Lists that changed, or may have, since they were last requested. */
  readonly #due = new Map<ListName, "changed" | "unsure">();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The timer is set, and no change was reported. */
  #awaitsCheck = false;
  #isReading = false;
  #isClosed = false;
  readonly #changes = new GrowingPause();
  /** A server that closes its stream again and again makes its lists unsure as often. */
  readonly #checks = new GrowingPause();
  #failures = 0;

  /** @param read reads these lists, and resolves with those that could not be read; never rejects */
  constructor(private readonly read: (due: DueLists) => Promise<readonly ListName[]>) {}

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
    const isCheck = isUnsure(this.#due);
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
    const failed = await this.read(due);
    this.#isReading = false;
    (failed.length === 0 && isUnsure(due) ? this.#checks : this.#changes).begin();
    this.#failures = failed.length === 0 ? 0 : this.#failures + 1;
    // Otherwise a list that failed after the last change would stay outdated.
    for (const list of this.#failures > MAX_FAILURES ? [] : failed)
      if (due.get(list) === "changed" || !this.#due.has(list)) this.#due.set(list, due.get(list)!);
    this.#schedule();
  }
}

const isUnsure = (due: DueLists): boolean => ![...due.values()].includes("changed");

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
