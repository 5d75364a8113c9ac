/** Regular expressions of JSON Schemas, which servers write for Python, Go and Java too: reads them as JavaScript, and finds those that may be slow. */

/** Character sets of one letter. `b` and `B` are assertions, and `b` is a backspace in a class. */
const SETS = "dDwWsS";
/** Escapes that mean the same everywhere. */
const SAME = `${SETS}bBnrtfv`;
/** ASCII classes of POSIX, in the brackets of a class. */
const POSIX = new Map(
  Object.entries({
    alnum: "0-9A-Za-z",
    alpha: "A-Za-z",
    ascii: "\\x00-\\x7f",
    blank: "\\t ",
    cntrl: "\\x00-\\x1f\\x7f",
    digit: "0-9",
    graph: "!-~",
    lower: "a-z",
    print: " -~",
    punct: "!-\\/:-@\\[-`\\{-~",
    space: "\\t\\n\\v\\f\\r ",
    upper: "A-Z",
    word: "0-9A-Za-z_",
    xdigit: "0-9A-Fa-f",
  }),
);
/** Letters that more than one other letter equals if case is ignored. */
const MORE_CASES: Readonly<Record<string, string>> = { i: "\u0130\u0131", k: "\u212a", s: "\u017f" };

/** Longer patterns are not translated: that takes time, and no person wrote them. */
const MAX_LENGTH = 5_000;
/** Patterns with more properties are not read: JavaScript builds the set of characters of each one, in about 0.1 ms. */
const MAX_PROPERTIES = 20;

/**
 * The pattern as JavaScript reads it with the flag `u`, as JSON Schema asks; undefined if it has no exact equivalent there.
 *
 * Without the flag, JavaScript would read `\Z` and `\pL` as letters: such patterns are translated, not merely tried without it.
 */
export function readPattern(pattern: string): string | undefined {
  if (pattern.split(/\\[pP]/, MAX_PROPERTIES + 2).length > MAX_PROPERTIES + 1) return undefined;
  if (compiles(pattern)) return pattern;
  if (pattern.length > MAX_LENGTH) return undefined;
  const translated = new PatternReader(pattern).read();
  return translated !== undefined && compiles(translated) ? translated : undefined;
}

/** Whether JavaScript reads the pattern. It never builds the set of a property twice: a list may contain thousands of them. */
function compiles(pattern: string): boolean {
  const isKnown = (property: string) => properties.has(property) || isReadable(`\\p{${property}}`);
  const cheap = pattern.replace(/\\(?:[pP]\{([\w=]+)\}|[\s\S])/g, (whole, property?: string) => {
    if (property === undefined || !isKnown(property)) return whole;
    properties.add(property);
    return "\\w";
  });
  return isReadable(cheap);
}

/** Properties that JavaScript knows. There are about a thousand. */
const properties = new Set<string>();

function isReadable(pattern: string): boolean {
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}

/** The construct has no exact equivalent. */
class NoEquivalent extends Error {}

class PatternReader {
  #at = 0;
  #ignoresCase = false;
  #dot = ".";

  constructor(readonly pattern: string) {}

  read(): string | undefined {
    try {
      const [start, flags] = this.#take(/\^?\(\?([isu]+)\)/y) ?? ["", ""];
      if (flags!.includes("i")) this.#ignoresCase = true;
      if (flags!.includes("s")) this.#dot = "[^]";
      let out = start.startsWith("^") ? "^" : "";
      while (this.#at < this.pattern.length) out += this.#readPart();
      return out;
    } catch (error) {
      if (error instanceof NoEquivalent) return undefined;
      throw error;
    }
  }

  #take(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.pattern);
    if (found === null) return undefined;
    this.#at = expression.lastIndex;
    return found;
  }

  #readPart(): string {
    const character = this.pattern[this.#at]!;
    if (character === "\\") return this.#readEscape(false);
    if (character === "[") return this.#readClass();
    if (character === "(") return this.#readGroup();
    if (character === "{") return this.#readBrace();
    this.#at++;
    if (character === ".") return this.#dot;
    return "}]".includes(character) ? `\\${character}` : this.#foldOutside(character);
  }

  #readBrace(): string {
    const quantifier = this.#take(/\{\d+(?:,\d*)?\}/y);
    if (quantifier !== undefined) return quantifier[0];
    // Python repeats up to five times, Go and JavaScript read five characters.
    if (this.#take(/\{,\d+\}/y) !== undefined) throw new NoEquivalent();
    this.#at++;
    return "\\{";
  }

  #readGroup(): string {
    if (this.#take(/\(\?#[^)]*\)/y) !== undefined) return "";
    const named = this.#take(/\(\?P<(\w+)>/y);
    if (named !== undefined) return `(?<${named[1]}>`;
    const again = this.#take(/\(\?P=(\w+)\)/y);
    if (again !== undefined) return this.#repeat(`\\k<${again[1]}>`);
    const known = this.#take(/\((?:\?(?::|=|!|<=|<!|<\w+>)|(?!\?|\*))/y);
    // Atomic and conditional groups, flags inside the pattern, recursion.
    if (known === undefined) throw new NoEquivalent();
    return known[0];
  }

  /** A back-reference compares letters, so it cannot ignore case. */
  #repeat(reference: string): string {
    if (this.#ignoresCase) throw new NoEquivalent();
    return reference;
  }

  #readEscape(inClass: boolean): string {
    const code = this.#take(
      /\\(?:x\{([\da-fA-F]{1,6})\}|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8}))/y,
    );
    if (code !== undefined) {
      if (this.#ignoresCase) throw new NoEquivalent();
      return `\\u{${code[1] ?? code[2] ?? code[3] ?? code[4]}}`;
    }
    const property = this.#take(/\\([pP])(?:([A-Z])|\{(\w+)\})/y);
    if (property !== undefined) return this.#readProperty(property[1]!, property[2] ?? property[3]!);
    const next = this.pattern[this.#at + 1];
    if (next === undefined) throw new NoEquivalent();
    this.#at += 2;
    if (SAME.includes(next) && !(inClass && next === "B")) return `\\${next}`;
    if (next === "a") return "\\x07";
    if (!inClass && next === "A") return "^";
    if (!inClass && (next === "Z" || next === "z")) return "$";
    if (!inClass && /[1-9]/.test(next) && !/\d/.test(this.pattern[this.#at] ?? ""))
      return this.#repeat(`\\${next}`);
    if (/[a-zA-Z0-9]/.test(next)) throw new NoEquivalent();
    return /[$()*+./?[\\\]^{|}]/.test(next) || (inClass && next === "-") ? `\\${next}` : this.#fold(next);
  }

  /** `\pL` and `\p{Greek}` are short for `\p{L}` and `\p{Script=Greek}`. */
  #readProperty(letter: string, name: string): string {
    if (this.#ignoresCase) throw new NoEquivalent();
    const found = [name, `Script=${name}`].map((each) => `\\${letter}{${each}}`).find(compiles);
    if (found === undefined) throw new NoEquivalent();
    return found;
  }

  #readClass(): string {
    let out = this.#take(/\[\^?/y)![0];
    // A bracket at the start is a character; JavaScript would close the class.
    if (this.#take(/\]/y) !== undefined) out += "\\]";
    if (this.#take(/-/y) !== undefined) out += "\\-";
    let isAfterSet = false;
    while (this.pattern[this.#at] !== "]") {
      if (this.#at >= this.pattern.length || this.#take(/&&|--|~~|\|\|/y) !== undefined)
        throw new NoEquivalent();
      const range = isAfterSet ? undefined : this.#take(/([^\\[\]])-([^\\[\]])/y);
      if (range !== undefined) {
        out += this.#foldRange(range[1]!, range[2]!);
        continue;
      }
      const isSet = /\[:|\\[pPdDwWsS]/y;
      isSet.lastIndex = this.#at;
      if (isSet.test(this.pattern)) {
        out += this.#readSet();
        isAfterSet = true;
      } else if (this.#take(/-(?=\\[pPdDwWsS])/y) !== undefined) out += "\\-";
      else {
        out += this.#readMember(isAfterSet);
        isAfterSet = false;
      }
    }
    this.#at++;
    return `${out}]`;
  }

  /** A set in a class, like `\w` and `[:alpha:]`. */
  #readSet(): string {
    const posix = this.#take(/\[:(\w+):\]/y);
    if (posix === undefined && this.pattern[this.#at] === "\\") return this.#readEscape(true);
    const set = posix && POSIX.get(posix[1]!);
    if (!set || (this.#ignoresCase && /lower|upper/.test(posix[1]!))) throw new NoEquivalent();
    return set;
  }

  #readMember(isAfterSet: boolean): string {
    const character = this.pattern[this.#at]!;
    if (character === "\\") return this.#readEscape(true);
    // Python reads a character, Java a class inside the class.
    if (character === "[") throw new NoEquivalent();
    this.#at++;
    if (character === "-" && isAfterSet) return "\\-";
    // A range between other characters than two letters: it may contain letters of one case only.
    if (character === "-" && this.#ignoresCase && this.pattern[this.#at] !== "]") throw new NoEquivalent();
    return this.#fold(character);
  }

  /** All cases of a character, if case is ignored. */
  #fold(character: string): string {
    if (!this.#ignoresCase) return character;
    if (character > "\x7f") throw new NoEquivalent();
    const lower = character.toLowerCase();
    return lower === character.toUpperCase()
      ? character
      : `${lower}${character.toUpperCase()}${MORE_CASES[lower] ?? ""}`;
  }

  #foldOutside(character: string): string {
    const all = this.#fold(character);
    return all.length > 1 ? `[${all}]` : all;
  }

  #foldRange(first: string, last: string): string {
    const range = `${first}-${last}`;
    if (!this.#ignoresCase || /^[0-9]-[0-9]$/.test(range)) return range;
    if (!/^(?:[a-z]-[a-z]|[A-Z]-[A-Z])$/.test(range)) throw new NoEquivalent();
    const more = Object.entries(MORE_CASES).map(([letter, others]) =>
      letter >= first.toLowerCase() && letter <= last.toLowerCase() ? others : "",
    );
    return `${range.toLowerCase()}${range.toUpperCase()}${more.join("")}`;
  }
}

/** Maximum number of ways to match one position in a simple pattern, with and without an unbounded quantifier. */
const MAX_WAYS = 256;
const MAX_WAYS_ENDLESS = 16;
/** Longer patterns are not analysed: that would cost more than the time limit. */
const MAX_ANALYSED = 1_000;
/** JavaScript builds the set of characters of each property, in about 0.1 ms. */
const MAX_SIMPLE_PROPERTIES = 3;

const QUANTIFIER = /^(?:[*+?]|\{(\d+)(,(\d*))?\})\??/;
const CLASS = /^\[(?:\\[\s\S]|[^\]\\])*\]/;
const ESCAPE = /^\\(?:u\{[^}]*\}|[pP]\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[a-zA-Z]|[\s\S])/;
const GROUP = /^\((?:\?:|\?<[^=!>][^>]*>)?/;

/**
 * Whether a pattern is simple: no group under a quantifier, no look-around, no back-reference, at most one
 * unbounded quantifier and then only anchored at the start, few alternatives and properties. Its cost is linear in the length of the
 * text. False does not mean that a pattern is slow, only that it is not known to be fast.
 */
export function isSimplePattern(pattern: string): boolean {
  if (pattern.length > MAX_ANALYSED || pattern.split(/\\[pP]/).length > MAX_SIMPLE_PROPERTIES + 1)
    return false;
  const anchored = pattern.startsWith("^");
  let rest = pattern;
  let ways = 1;
  let alternatives = 1;
  let endless = 0;
  let last: "atom" | "group" | "none" = "none";
  while (rest !== "") {
    const quantifier = QUANTIFIER.exec(rest);
    if (quantifier !== null) {
      if (last !== "atom") return false;
      const [text, least, range, most] = quantifier;
      if (text.startsWith("*") || text.startsWith("+") || (range !== undefined && most === "")) endless++;
      else if (range !== undefined) ways *= Number(most) - Number(least) + 1;
      else if (least !== undefined) ways *= anchored ? 1 : Math.max(1, Number(least));
      else ways *= 2;
      // The minimum of an unbounded quantifier costs as much as a fixed one.
      if (range !== undefined && !anchored) ways *= Math.max(1, Number(least));
      last = "none";
      rest = rest.slice(text.length);
      continue;
    }
    const token = (CLASS.exec(rest) ?? ESCAPE.exec(rest) ?? GROUP.exec(rest))?.[0] ?? rest[0]!;
    if (token.startsWith("(")) {
      if (token === "(" && rest.startsWith("(?")) return false;
      last = "none";
    } else if (token === ")") last = "group";
    else if (token === "|") alternatives++;
    else if (/^\\[1-9k]/.test(token)) return false;
    else last = token === "^" || token === "$" ? "none" : "atom";
    rest = rest.slice(token.length);
  }
  if (endless > 1 || (endless === 1 && (!anchored || alternatives > 1))) return false;
  // Alternatives of groups that follow each other multiply; two to the power of their number is never less.
  const branching = alternatives > 1 && /\).*\(/s.test(pattern) ? 2 ** alternatives : alternatives;
  return ways * branching <= (endless === 1 ? MAX_WAYS_ENDLESS : MAX_WAYS);
}
