/** Things under way, found by ids that are given out in order. */

/** Something that knows its id. */
export interface Identified {
  readonly id: string;
}

/** Always a power of two, so that whoever has a place of its own still has one when there are twice as many. */
const FEWEST_PLACES = 64;
const MOST_PLACES_KEPT = 4_096;

/**
 * Members in one array, at the place that the number in their id says.
 *
 * It stands in for a `Map`, which lays itself out anew for every few dozen members that come and go. Each layout keeps the
 * next one alive, so once one has grown old, all that was ever in the map stays until the whole heap is collected.
 */
export class IdTable<Member extends Identified> {
  readonly #prefix: string;
  #members: (Member | undefined)[] = emptyPlaces(FEWEST_PLACES);
  #lastNumber = 0;
  #size = 0;

  /** @param prefix what all ids begin with */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  get size(): number {
    return this.#size;
  }

  /** An id that nobody had before, for whoever is put in next, before the next one is asked for. */
  nextId(): string {
    if (this.#size * 2 >= this.#members.length) this.#grow();
    // Whoever stays for long keeps the place: numbers that would lead there are left out.
    do this.#lastNumber += 1;
    while (this.#members[this.#lastNumber & (this.#members.length - 1)] !== undefined);
    return this.#prefix + this.#lastNumber;
  }

  put(member: Member): void {
    this.#members[this.#lastNumber & (this.#members.length - 1)] = member;
    this.#size += 1;
  }

  get(id: string): Member | undefined {
    const member = this.#members[this.#placeOf(id)];
    return member?.id === id ? member : undefined;
  }

  /** Takes it out; undefined if it was not in it. */
  take(id: string): Member | undefined {
    const place = this.#placeOf(id);
    const member = this.#members[place];
    if (member?.id !== id) return undefined;
    this.#members[place] = undefined;
    this.#size -= 1;
    // What a rush needed is not kept for ever.
    if (this.#size === 0 && this.#members.length > MOST_PLACES_KEPT)
      this.#members = emptyPlaces(FEWEST_PLACES);
    return member;
  }

  toArray(): Member[] {
    return this.#members.filter((member) => member !== undefined);
  }

  /** Ids that are not ours lead anywhere; there, nobody has them. */
  #placeOf(id: string): number {
    return Number(id.slice(this.#prefix.length)) & (this.#members.length - 1);
  }

  #grow(): void {
    const members = this.toArray();
    this.#members = emptyPlaces(this.#members.length * 2);
    for (const member of members) this.#members[this.#placeOf(member.id)] = member;
  }
}

const emptyPlaces = (count: number): undefined[] => new Array(count).fill(undefined);
