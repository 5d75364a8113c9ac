/** Groups what has names by the words that the names begin with. */
import { pushTo } from "./collections.js";
import { toAsciiName } from "./look-alikes.js";

/** A word that fewer names share gets no group of its own. */
const MIN_SHARED = 3;
/** Names with more words than this are split no further. */
const MAX_WORDS = 6;

interface Named<Item> {
  readonly item: Item;
  readonly words: readonly string[];
}

export interface WordGroup<Item> {
  /** The words that these names have in common, after those that all names share. */
  readonly words: readonly string[];
  readonly items: readonly Item[];
  /** The rest of each name; may be empty. */
  readonly labels: readonly string[];
}

/** One group if there are at most `most` items. */
export const groupByWords = <Item>(
  items: readonly Item[],
  nameOf: (item: Item) => string,
  most: number,
): WordGroup<Item>[] =>
  split(
    items.map((item) => ({ item, words: wordsOf(nameOf(item)) })),
    { most, common: [], depth: 0 },
  );

interface Place {
  readonly most: number;
  readonly common: readonly string[];
  readonly depth: number;
}

function split<Item>(named: readonly Named<Item>[], place: Place): WordGroup<Item>[] {
  const { most, common, depth } = place;
  if (named.length <= most || depth >= MAX_WORDS) return chunks(named, place);
  const byWord = new Map<string, Named<Item>[]>();
  for (const one of named) pushTo(byWord, one.words[depth] ?? "", one);
  const groups = [...byWord];
  // A word that all of them begin with, often the name of the server, separates nothing.
  if (groups.length === 1 && groups[0]![0] !== "") return split(named, { most, common, depth: depth + 1 });
  const isShared = ([word, { length }]: [string, unknown[]]) => word !== "" && length >= MIN_SHARED;
  const rest = groups.filter((group) => !isShared(group)).flatMap(([, alone]) => alone);
  return [
    ...groups
      .filter(isShared)
      .flatMap(([word, same]) => split(same, { most, common: [...common, word], depth: depth + 1 })),
    ...chunks(rest, place),
  ];
}

/** Groups of about the same size. */
function chunks<Item>(named: readonly Named<Item>[], { most, common, depth }: Place): WordGroup<Item>[] {
  const size = Math.ceil(named.length / Math.ceil(named.length / most));
  const groups: WordGroup<Item>[] = [];
  for (let start = 0; start < named.length; start += size) {
    const some = named.slice(start, start + size);
    groups.push({
      words: common,
      items: some.map(({ item }) => item),
      labels: some.map(({ words }) => words.slice(depth).join("_")),
    });
  }
  return groups;
}

/** `getUserById` → get, user, by, id. */
const wordsOf = (name: string): string[] =>
  toAsciiName(name.slice(0, 256))
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[_-]+/)
    .filter((word) => word !== "");
