/**
 * An unordered list whose members store their index, so that adding and removing need no hashing.
 *
 * For what comes and goes with each request. A `Set` or `Map` reallocates its backing store every few dozen changes, each old store
 * keeps the next one alive, and entries survive until a full garbage collection. With them the rows "echo call → stdio" and "echo
 * call → HTTP" of `bench/README.md` take 30 µs more, a half and a quarter.
 */

/** A member of at most one list at a time. */
export interface Slotted {
  /** Index in the list; -1: in no list. */
  slot: number;
}

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
