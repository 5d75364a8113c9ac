/** Finds parts of JSON in its text. Parts keep their spelling: parsing would round large numbers. */

const QUOTE = 34;
const COMMA = 44;
const OPEN_LIST = 91;
const CLOSE_LIST = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/** Each level of a path is read once more. */
const MAX_LEVELS = 20;

/** The children of a list or an object. */
export interface JsonSpans {
  readonly isList: boolean;
  /** Where each item, or the name of each member, begins. */
  readonly starts: readonly number[];
  /** The place of the closing bracket. */
  readonly end: number;
}

/** The place of the quotation mark that ends a text. @param open the place of the one that begins it */
export function endOfText(json: string, open: number): number {
  let from = open + 1;
  for (;;) {
    const quote = json.indexOf('"', from);
    let before = quote - 1;
    while (json[before] === "\\") before -= 1;
    const isEscaped = (quote - 1 - before) % 2 === 1;
    if (!isEscaped || quote === -1) return quote;
    from = quote + 1;
  }
}

/** Removes white space between the tokens of valid JSON. */
export function compactJson(json: string): string {
  const parts: string[] = [];
  let from = 0;
  for (let index = 0; index < json.length; index += 1) {
    const unit = json.charCodeAt(index);
    if (unit === QUOTE) index = endOfText(json, index);
    if (unit > 32) continue;
    parts.push(json.slice(from, index));
    while (json.charCodeAt(index + 1) <= 32) index += 1;
    from = index + 1;
  }
  return from === 0 ? json : parts.join("") + json.slice(from);
}

/** The children of the value at this place of valid, compact JSON; undefined for a scalar. */
export function childrenOf(json: string, at: number): JsonSpans | undefined {
  const opening = json.charCodeAt(at);
  if (opening !== OPEN_LIST && opening !== OPEN_OBJECT) return undefined;
  const isList = opening === OPEN_LIST;
  const starts: number[] = [];
  let depth = 0;
  for (let index = at + 1; ; index += 1) {
    const unit = json.charCodeAt(index);
    const isEnd = unit === CLOSE_LIST || unit === CLOSE_OBJECT;
    if (isEnd && depth === 0) return { isList, starts, end: index };
    if (starts.length === 0) starts.push(index);
    if (unit === QUOTE) index = endOfText(json, index);
    else if (unit === OPEN_LIST || unit === OPEN_OBJECT) depth += 1;
    else if (isEnd) depth -= 1;
    else if (unit === COMMA && depth === 0) starts.push(index + 1);
  }
}

/** Where a child ends. */
export const endOfChild = ({ starts, end }: JsonSpans, index: number): number =>
  index + 1 < starts.length ? starts[index + 1]! - 1 : end;

/** Where the value of a child begins. */
export const startOfValue = (json: string, { isList, starts }: JsonSpans, index: number): number =>
  isList ? starts[index]! : endOfText(json, starts[index]!) + 2;

/** The name of a member. */
export function nameOf(json: string, { starts }: JsonSpans, index: number): string {
  const start = starts[index]!;
  return JSON.parse(json.slice(start, endOfText(json, start) + 1)) as string;
}

/** Finds values in compact JSON by paths. All searches of one finder share a limit, because each level of a path is read once more. */
export class ValueFinder {
  #left: number;

  /** @param characters how many it reads at most */
  constructor(characters: number) {
    this.#left = characters;
  }

  /** True if the limit was reached: a value that was not found may exist. */
  get isExhausted(): boolean {
    return this.#left < 0;
  }

  /**
   * The JSON of the value at a path such as `user.login`. In a list, a name selects that member of every item, and a number selects an
   * item.
   */
  find(json: string, path: string, levels = MAX_LEVELS): string | undefined {
    if (path === "") return json;
    this.#left -= json.length;
    if (this.isExhausted || levels === 0) return undefined;
    const spans = childrenOf(json, 0);
    if (spans === undefined) return undefined;
    const childAt = (index: number) => json.slice(startOfValue(json, spans, index), endOfChild(spans, index));
    if (!spans.isList) {
      for (const { name, index } of membersOnPath(json, spans, path)) {
        const found = this.find(childAt(index), path.slice(name.length + 1), levels - 1);
        if (found !== undefined) return found;
      }
      return undefined;
    }
    const [first = "", ...rest] = path.split(".");
    if (/^\d+$/.test(first)) {
      const index = Number(first);
      return index < spans.starts.length ? this.find(childAt(index), rest.join("."), levels - 1) : undefined;
    }
    const picked = spans.starts.flatMap((_, index) => this.find(childAt(index), path, levels - 1) ?? []);
    return picked.length === 0 ? undefined : `[${picked.join(",")}]`;
  }
}

/** The members that the path begins with, the longest name first: a name may contain dots. */
function membersOnPath(json: string, spans: JsonSpans, path: string): { name: string; index: number }[] {
  // The last member of a name counts, as for `JSON.parse`.
  const found = new Map<string, number>();
  for (const [index, start] of spans.starts.entries()) {
    // A letter of the name, a quotation mark, or the start of an escape.
    const unit = json[start + 1];
    if (unit !== path[0] && unit !== "\\" && unit !== '"') continue;
    const name = nameOf(json, spans, index);
    if (path === name || path.startsWith(`${name}.`)) found.set(name, index);
  }
  return [...found].map(([name, index]) => ({ name, index })).sort((a, b) => b.name.length - a.name.length);
}
