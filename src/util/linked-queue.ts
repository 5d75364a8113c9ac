/** First in, first out, and anything in between may leave: every operation takes the same time, however long it is. */

export interface QueueEntry<T> {
  readonly value: T;
}

interface Link<T> extends QueueEntry<T> {
  queue: LinkedQueue<T> | undefined;
  before: Link<T> | undefined;
  after: Link<T> | undefined;
}

/** A Set would do but for V8, which walks over all it has deleted from the front to find the first that is left. */
export class LinkedQueue<T> {
  #first: Link<T> | undefined;
  #last: Link<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Returns the entry with which the value can be taken out of the middle. */
  push(value: T): QueueEntry<T> {
    const link: Link<T> = { value, queue: this, before: this.#last, after: undefined };
    if (this.#last === undefined) this.#first = link;
    else this.#last.after = link;
    this.#last = link;
    this.#size++;
    return link;
  }

  /** Takes out the value that waited longest. */
  shift(): T | undefined {
    const first = this.#first;
    if (first !== undefined) this.remove(first);
    return first?.value;
  }

  /** False if it was not in the queue any more. */
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
