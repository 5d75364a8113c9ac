/**
 * A list whose members know their place in it: nothing is hashed to put one in or take it out, and order means nothing.
 *
 * It also stands in for a `Set` or `Map` with much coming and going. These lay themselves out anew for every few dozen
 * members; each layout keeps the next one alive, so once one has grown old, all that was ever in it stays until the whole
 * heap is collected.
 */

/** Somebody who can be in one such list at a time. */
export interface Slotted {
  /** Its place; -1: in none. */
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

  /** False if it was not in it. */
  delete(member: Member): boolean {
    const { slot } = member;
    if (this.#members[slot] !== member) return false;
    const last = this.#members.pop()!;
    member.slot = -1;
    // The last takes its place.
    if (last !== member) {
      this.#members[slot] = last;
      last.slot = slot;
    }
    return true;
  }

  find(fits: (member: Member) => boolean): Member | undefined {
    return this.#members.find(fits);
  }

  /** As it stands now; whoever goes through it may change the list. */
  toArray(): Member[] {
    return [...this.#members];
  }

  clear(): void {
    for (const member of this.#members) member.slot = -1;
    this.#members.length = 0;
  }
}
