/** Collections with one purpose each: slots, chunks, a queue, a bounded map, groups, one value for each object. */

/** A member of at most one list at a time. */
export interface Slotted {
  /** Index in the list; -1: in no list. */
  slot: number;
}

/**
 * An unordered list whose members store their index, so that adding and removing need no hashing.
 *
 * For what comes and goes with each request. A `Set` or `Map` reallocates its backing store every few dozen changes, each old store
 * keeps the next one alive, and entries survive until a full garbage collection. With them the rows "echo call → stdio" and "echo
 * call → HTTP" of `bench/README.md` take 30 µs more, a half and a quarter.
 */
export class SlotList<Member extends Slotted> {
  readonly #members: Member[] = [];

  get size(): number {
    return this.#members.length;
  }

  add(member: Member): void {
    member.slot = this.#members.push(member) - 1;
  }

  /** False if the member is not in the list. */
  delete(member: Member): boolean {
    const { slot } = member;
    if (this.#members[slot] !== member) return false;
    const last = this.#members.pop()!;
    member.slot = -1;
    // The last member takes the free slot.
    if (last !== member) {
      this.#members[slot] = last;
      last.slot = slot;
    }
    return true;
  }

  find(fits: (member: Member) => boolean): Member | undefined {
    return this.#members.find(fits);
  }

  /** A copy: the list may change during the iteration. */
  toArray(): Member[] {
    return [...this.#members];
  }

  clear(): void {
    for (const member of this.#members) member.slot = -1;
    this.#members.length = 0;
  }
}

/** This many small chunks in a row are merged: every chunk has a fixed overhead of about 100 bytes. */
const JOIN_AT = 256;
const SMALL_BYTES = 1_024;

export class ChunkList {
  #pieces: Uint8Array[] = [];
  /** Number of small chunks at the end of the list that are not merged yet. */
  #loose = 0;
  #looseBytes = 0;
  byteLength = 0;

  push(bytes: Uint8Array): void {
    this.#pieces.push(bytes);
    this.byteLength += bytes.byteLength;
    if (bytes.byteLength > SMALL_BYTES) {
      this.#loose = this.#looseBytes = 0;
      return;
    }
    this.#loose++;
    this.#looseBytes += bytes.byteLength;
    if (this.#loose < JOIN_AT) return;
    this.#pieces.push(joinBytes(this.#pieces.splice(-this.#loose), this.#looseBytes));
    this.#loose = this.#looseBytes = 0;
  }

  /** Removes and returns all chunks. */
  takePieces(): Uint8Array[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.byteLength = this.#loose = this.#looseBytes = 0;
    return pieces;
  }

  /** Removes all chunks and returns at most `maxBytes` of them as one block. */
  takeBlock(maxBytes = Number.POSITIVE_INFINITY): Uint8Array {
    const length = Math.min(this.byteLength, maxBytes);
    return joinBytes(this.takePieces(), length);
  }
}

/** Uses uninitialized memory where available: zeroing is half the cost of a large block. */
const allocate: (length: number) => Uint8Array =
  typeof Buffer === "undefined" ? (length) => new Uint8Array(length) : Buffer.allocUnsafe;

/** The first `length` bytes. Copies nothing if there is one piece. */
function joinBytes(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) {
    return first.byteLength === length ? first : first.subarray(0, length);
  }
  const whole = allocate(length);
  let offset = 0;
  for (const piece of pieces) {
    const left = length - offset;
    whole.set(piece.byteLength <= left ? piece : piece.subarray(0, left), offset);
    offset += Math.min(piece.byteLength, left);
  }
  return whole;
}

interface QueueEntry<T> {
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

/** A map with a maximum number of entries: a new one replaces the one that was set the longest ago. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  constructor(private readonly max: number) {
    super();
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    if (this.size > this.max) this.delete(this.keys().next().value as Key);
    return this;
  }
}

/** Returns a function that calls `make` once for each object, and remembers the result as long as the object lives. */
export function oncePerObject<Key extends object, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const values = new WeakMap<Key, Value>();
  return (key) => {
    const value = values.get(key);
    if (value !== undefined || values.has(key)) return value as Value;
    const made = make(key);
    values.set(key, made);
    return made;
  };
}

/** The value of a key, made and kept if there is none. */
export function getOrMake<Key, Value>(
  map: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  make: () => Value,
): Value {
  const kept = map.get(key);
  if (kept !== undefined) return kept;
  const made = make();
  map.set(key, made);
  return made;
}

/** Appends a value to the list of its key. */
export function pushTo<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value): void {
  getOrMake(map, key, () => []).push(value);
}
