/** A FIFO queue with removal of any entry; all operations take constant time. */

export interface QueueEntry<T> {
  readonly value: T;
}

interface Link<T> extends QueueEntry<T> {
  queue: LinkedQueue<T> | undefined;
  before: Link<T> | undefined;
  after: Link<T> | undefined;
}

/** Replaces a `Set`: V8 walks over all deleted entries at the front of a `Set` to find the first remaining one. */
export class LinkedQueue<T> {
  #first: Link<T> | undefined;
  #last: Link<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Returns the entry for {@link remove}. */
  push(value: T): QueueEntry<T> {
    const link: Link<T> = { value, queue: this, before: this.#last, after: undefined };
    if (this.#last === undefined) this.#first = link;
    else this.#last.after = link;
    this.#last = link;
    this.#size++;
    return link;
  }

  /** Removes and returns the oldest value. */
  shift(): T | undefined {
    const first = this.#first;
    if (first !== undefined) this.remove(first);
    return first?.value;
  }

  /** False if the entry is not in the queue. */
  remove(entry: QueueEntry<T>): boolean {
    const link = entry as Link<T>;
    if (link.queue !== this) return false;
    if (link.before === undefined) this.#first = link.after;
    else link.before.after = link.after;
    if (link.after === undefined) this.#last = link.before;
    else link.after.before = link.before;
    link.queue = link.before = link.after = undefined;
    this.#size--;
    return true;
  }
}
