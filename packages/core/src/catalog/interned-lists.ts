/** Keeps equal lists of different users once. */

/** Maximum length of all kept texts together. Beyond it the oldest lists are no longer shared. */
const MAX_CHARS = 32 * 1024 * 1024;

export class InternedLists {
  /** By kind and text: equality is exact, because a server chooses the contents. */
  readonly #lists = new Map<string, readonly unknown[]>();
  #chars = 0;

  /**
   * Returns an equal array that was given before, or this one.
   *
   * @param kind lists of different kinds are never the same array
   */
  intern(kind: string, items: readonly unknown[]): readonly unknown[] {
    const text = `${kind} ${JSON.stringify(items)}`;
    const known = this.#lists.get(text);
    if (known !== undefined) {
      // The oldest entry comes first.
      this.#lists.delete(text);
      this.#lists.set(text, known);
      return known;
    }
    this.#lists.set(text, items);
    this.#chars += text.length;
    for (const oldest of this.#lists.keys()) {
      if (this.#chars <= MAX_CHARS || oldest === text) break;
      this.#lists.delete(oldest);
      this.#chars -= oldest.length;
    }
    return items;
  }
}
