/** Converts any text to unique, valid identifiers for generated code. */

/** Words that cannot name a variable or a type. */
const RESERVED = new Set(
  (
    "break case catch class const continue debugger default delete do else enum export extends false finally for function " +
    "if import in instanceof new null return super switch this throw true try typeof var void while with yield let static " +
    "implements interface package private protected public await async of any unknown never object string number boolean " +
    "symbol bigint undefined constructor prototype"
  ).split(" "),
);

/** `listOpen-orders` → `list`, `Open`, `orders`. */
export const wordsOf = (text: string): string[] =>
  text
    .normalize("NFKD")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== "");

const capital = (word: string): string => `${word[0]!.toUpperCase()}${word.slice(1)}`;

const startingWell = (name: string): string => (/^[A-Za-z]/.test(name) ? name : `n${name}`);

/** `get-sum` → `GetSum`. */
export function typeName(...texts: readonly string[]): string {
  return startingWell(texts.flatMap(wordsOf).map(capital).join("")).replace(/^n(?=\d|$)/, "N");
}

/** `get-sum` → `getSum`. */
export function memberName(text: string): string {
  const [first = "", ...rest] = wordsOf(text);
  const start =
    first === first.toUpperCase()
      ? first.toLowerCase()
      : `${first.slice(0, 1).toLowerCase()}${first.slice(1)}`;
  const name = startingWell([start, ...rest.map(capital)].join(""));
  return RESERVED.has(name) ? `${name}_` : name;
}

/** Returns each name only once; adds a number to a name that is taken. */
export class NameSet {
  readonly #taken = new Set<string>();

  constructor(taken: readonly string[] = []) {
    for (const name of taken) this.#taken.add(name);
  }

  take(wanted: string): string {
    for (let count = 1; ; count += 1) {
      const name = count === 1 ? wanted : `${wanted}${count}`;
      if (this.#taken.has(name)) continue;
      this.#taken.add(name);
      return name;
    }
  }
}

/** A property name for a type, quoted where necessary. */
export const propertyName = (name: string): string =>
  /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : literal(name);

/** A value as an ASCII-only literal. */
export const literal = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
