/** Parses calls in the form of a function: `weather.forecast(city: "Oslo", days: 3)`. */
import { CliError } from "./cli-error.js";

export interface CallExpression {
  /** `server.tool`, as before the parenthesis. */
  readonly selector: string;
  /** Named values. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Values without a name, in order. */
  readonly positional: readonly unknown[];
  /** Named values without quotes, as `key=text`: the schema of the tool decides about their type. */
  readonly words: readonly string[];
}

/**
 * Values are JSON, with three liberties: names need no quotes, strings may have single quotes or backticks, and a comma may
 * follow the last value. A word without quotes is text.
 *
 * @returns undefined if the text is no call in this form
 * @throws CliError `USAGE` if the part in parentheses is not valid
 * @example
 * ```ts
 * parseCallExpression("files.read(path: 'a b', lines: [1, 2])"); // { values: { path: "a b", lines: [1, 2] }, … }
 * ```
 */
export function parseCallExpression(text: string): CallExpression | undefined {
  const [, selector, inner] = /^([^\s(]+)\((.*)\)\s*$/s.exec(text) ?? [];
  if (selector === undefined || inner === undefined) return undefined;
  const reader = new ValueReader(inner);
  const values: [string, unknown][] = [];
  const positional: unknown[] = [];
  const words: string[] = [];
  while (!reader.isAtEnd()) {
    const name = reader.readName();
    const value = reader.readValue();
    if (name === undefined) positional.push(value instanceof BareWord ? value.text : value);
    else if (value instanceof BareWord) words.push(`${name}=${value.text}`);
    else values.push([name, value]);
    if (!reader.isAtEnd()) reader.expect(",");
  }
  // A single object without a name contains all arguments.
  const [only] = positional;
  if (positional.length === 1 && values.length + words.length === 0 && isPlainObject(only))
    return { selector, values: only, positional: [], words };
  return { selector, values: Object.fromEntries(values), positional, words };
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Text without quotes that is no JSON. */
class BareWord {
  constructor(readonly text: string) {}
}

const MAX_DEPTH = 64;

class ValueReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  isAtEnd(): boolean {
    this.#skipBlanks();
    return this.#at >= this.#text.length;
  }

  expect(mark: string): void {
    this.#skipBlanks();
    if (this.#text[this.#at] !== mark) throw this.#error(`"${mark}" is missing`);
    this.#at += 1;
  }

  /** A name and its colon, if the next value has one. */
  readName(): string | undefined {
    this.#skipBlanks();
    const rest = this.#text.slice(this.#at);
    const [whole, plain, quoted] =
      /^(?:([A-Za-z_$][\w$.-]*)|("(?:[^"\\]|\\.)*"|'[^']*'))\s*:(?!\/\/)/.exec(rest) ?? [];
    if (whole === undefined) return undefined;
    this.#at += whole.length;
    return plain ?? (quoted!.startsWith('"') ? (JSON.parse(quoted!) as string) : quoted!.slice(1, -1));
  }

  readValue(depth = 0): unknown {
    if (depth > MAX_DEPTH) throw this.#error("the values are nested too deeply");
    this.#skipBlanks();
    const mark = this.#text[this.#at] ?? "";
    if (mark === "{") return this.#readObject(depth);
    if (mark === "[") return this.#readList(depth);
    if (`"'\``.includes(mark) && mark !== "") return this.#readString(mark);
    const word = /^[^,()[\]{}]*/.exec(this.#text.slice(this.#at))![0].trimEnd();
    if (word === "") throw this.#error("a value is missing");
    this.#at += word.length;
    try {
      return JSON.parse(word) as unknown;
    } catch {
      return new BareWord(word);
    }
  }

  #readObject(depth: number): Record<string, unknown> {
    const fields: [string, unknown][] = [];
    this.#readItems("}", () => {
      const name = this.readName();
      if (name === undefined) throw this.#error("a name is missing");
      fields.push([name, plainValue(this.readValue(depth + 1))]);
    });
    return Object.fromEntries(fields);
  }

  #readList(depth: number): unknown[] {
    const items: unknown[] = [];
    this.#readItems("]", () => items.push(plainValue(this.readValue(depth + 1))));
    return items;
  }

  #readItems(end: string, readItem: () => void): void {
    this.#at += 1;
    for (;;) {
      this.#skipBlanks();
      if (this.#text[this.#at] === end) break;
      readItem();
      this.#skipBlanks();
      if (this.#text[this.#at] !== end) this.expect(",");
    }
    this.#at += 1;
  }

  #readString(quote: string): string {
    let value = "";
    for (let index = this.#at + 1; index < this.#text.length; index += 1) {
      const character = this.#text[index]!;
      if (character === quote) {
        this.#at = index + 1;
        return value;
      }
      if (character !== "\\") value += character;
      else {
        const [written] = /^\\(?:u[0-9a-f]{4}|.)/is.exec(this.#text.slice(index)) ?? ["\\"];
        value += readEscape(written);
        index += written.length - 1;
      }
    }
    throw this.#error(`${quote} is not closed`);
  }

  #skipBlanks(): void {
    while (/\s/.test(this.#text[this.#at] ?? "")) this.#at += 1;
  }

  #error(what: string): CliError {
    const near = this.#text.slice(this.#at, this.#at + 20);
    return new CliError({
      message: `The arguments in parentheses cannot be read: ${what}${near === "" ? " at the end" : ` before ${JSON.stringify(near)}`}`,
      next: "toolport call --help",
    });
  }
}

const plainValue = (value: unknown): unknown => (value instanceof BareWord ? value.text : value);

function readEscape(written: string): string {
  if (/^\\[bfnrtu/\\"]/.test(written)) {
    try {
      return JSON.parse(`"${written}"`) as string;
    } catch {
      // `\u` without four digits: taken as written.
    }
  }
  return written.slice(1);
}
