/**
 * Finds the lists that may have changed unnoticed: those that were read before the server reported their changes.
 *
 * A list is current if its request was sent after that for the stream of changes, and its response arrived after the stream
 * was open. Every other list has to be read again.
 */

/** The lists of a server. */
export type ListKey = "tools" | "resources" | "resourceTemplates" | "prompts";

export const LIST_KEYS: readonly ListKey[] = ["tools", "resources", "resourceTemplates", "prompts"];

/** One reading of a list, with all its pages. */
export interface ListRead {
  /** The response with the first page arrived. Calls for further pages are ignored. */
  responded(): void;
  succeeded(): void;
  failed(): void;
}

interface Read {
  readonly requestedAt: number;
  /** Infinity until the response arrives. */
  respondedAt: number;
}

/** When changes of a list began to be reported. */
interface Coverage {
  readonly requestedAt: number;
  readonly openedAt: number;
  /** Whether the list was reported since then. Who reads it again because of that also repeats reads that fail. */
  isReported: boolean;
}

export class ListReads {
  readonly #onGap: (lists: readonly ListKey[]) => void;
  /** The last successful reading of each list, and those under way, in the order of their requests. */
  readonly #reads = new Map<ListKey, readonly Read[]>();
  /** The lists whose changes the server reports now. */
  readonly #covered = new Map<ListKey, Coverage>();
  /** Orders requests and responses. */
  #clock = 0;
  #requestedAt = 0;
  #openedAt = 0;

  /** @param onGap called with lists that have to be read again */
  constructor(onGap: (lists: readonly ListKey[]) => void) {
    this.#onGap = onGap;
  }

  /** A list is about to be requested. */
  begin(list: ListKey): ListRead {
    const read: Read = { requestedAt: this.#tick(), respondedAt: Number.POSITIVE_INFINITY };
    this.#reads.set(list, [...this.#of(list), read]);
    return {
      responded: () => {
        if (read.respondedAt === Number.POSITIVE_INFINITY) read.respondedAt = this.#tick();
      },
      succeeded: () => {
        const reads = this.#of(list);
        // Results of earlier requests are not used any more.
        if (reads.includes(read)) this.#reads.set(list, reads.slice(reads.indexOf(read)));
      },
      failed: () => {
        const others = this.#of(list).filter((each) => each !== read);
        this.#reads.set(list, others);
        // Reporting it once more would read a list that keeps failing again and again.
        if (others.length > 0 && this.#covered.get(list)?.isReported === false) this.#report([list]);
      },
    };
  }

  /** The stream of changes is about to be requested. */
  streamRequested(): void {
    this.#requestedAt = this.#tick();
  }

  /** The server has confirmed the stream. Must be called when the message arrives, before later responses are handled. */
  streamConfirmed(): void {
    this.#openedAt = this.#tick();
  }

  /** From {@link streamConfirmed} on, the server reports changes of these lists, and of no others. */
  streamOpened(lists: readonly ListKey[]): void {
    for (const list of this.#covered.keys()) if (!lists.includes(list)) this.#covered.delete(list);
    const added = lists.filter((list) => !this.#covered.has(list));
    const coverage = { requestedAt: this.#requestedAt, openedAt: this.#openedAt, isReported: false };
    for (const list of added) this.#covered.set(list, { ...coverage });
    this.#report(added);
  }

  streamLost(): void {
    this.#covered.clear();
  }

  /** Whether the server reports changes of this list now. */
  isCovered(list: ListKey): boolean {
    return this.#covered.has(list);
  }

  /** Reports all lists again that were not read since their changes are reported. */
  recheck(): void {
    this.#report([...this.#covered.keys()]);
  }

  #report(lists: readonly ListKey[]): void {
    const old = lists.filter((list) => this.#covered.has(list) && !this.#isCurrent(list));
    for (const list of old) this.#covered.get(list)!.isReported = true;
    if (old.length > 0) this.#onGap(old);
  }

  #isCurrent(list: ListKey): boolean {
    const read = this.#of(list).at(-1);
    const coverage = this.#covered.get(list);
    if (read === undefined || coverage === undefined) return false;
    return read.requestedAt > coverage.requestedAt && read.respondedAt > coverage.openedAt;
  }

  #of(list: ListKey): readonly Read[] {
    return this.#reads.get(list) ?? [];
  }

  #tick(): number {
    this.#clock += 1;
    return this.#clock;
  }
}
