/** Values as a person types them: JSON, with fewer quotes. */

export interface LooseValue {
  readonly name: string | undefined;
  readonly value: unknown;
  /** The value is this text, without quotes. */
  readonly bareWord: string | undefined;
}

/**
 * Reads values with commas between them, each with or without a name. They are JSON, with three liberties: names need no quotes,
 * strings may have single quotes or backticks, and a comma may follow the last value. A word without quotes is text.
 *
 * @throws SyntaxError
 * @example
 * ```ts
 * readLooseValues("path: 'a b', [1, 2]"); // [{ name: "path", value: "a b" }, { value: [1, 2] }]
 * ```
 */
export function readLooseValues(text: string): LooseValue[] {
  const reader = new ValueReader(text);
  const values: LooseValue[] = [];
  reader.readItems(undefined, () => {
    const name = reader.readName();
    const value = reader.readValue();
    values.push({
      name,
      value: plainValue(value),
      bareWord: value instanceof BareWord ? value.text : undefined,
    });
  });
  return values;
}

/** Text without quotes that is no JSON. */
class BareWord {
  constructor(readonly text: string) {}
}

const MAX_DEPTH = 64;

class ValueReader {
  #at = 0;

  constructor(private readonly text: string) {}

  /** Items with commas between them. @param end the character after the last one; undefined: the end of the text */
  readItems(end: string | undefined, readItem: () => void): void {
    for (this.#skipBlanks(); this.text[this.#at] !== end; this.#skipBlanks()) {
      readItem();
      this.#skipBlanks();
      if (this.text[this.#at] === end) break;
      if (this.text[this.#at] !== ",") throw this.#error('"," is missing');
      this.#at += 1;
    }
    this.#at += 1;
  }

  /** A name and its colon, if the next value has one. */
  readName(): string | undefined {
    this.#skipBlanks();
    const rest = this.text.slice(this.#at);
    const [whole, plain, quoted] =
      /^(?:([A-Za-z_$][\w$.-]*)|("(?:[^"\\]|\\.)*"|'[^']*'))\s*:(?!\/\/)/.exec(rest) ?? [];
    if (whole === undefined) return undefined;
    this.#at += whole.length;
    return plain ?? (quoted!.startsWith('"') ? (JSON.parse(quoted!) as string) : quoted!.slice(1, -1));
  }

  readValue(depth = 0): unknown {
    if (depth > MAX_DEPTH) throw this.#error("the values are nested too deeply");
    this.#skipBlanks();
    const mark = this.text[this.#at] ?? "";
    if (mark === "{") return this.#readObject(depth);
    if (mark === "[") return this.#readList(depth);
    if (`"'\``.includes(mark) && mark !== "") return this.#readString(mark);
    const word = /^[^,()[\]{}]*/.exec(this.text.slice(this.#at))![0].trimEnd();
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
    this.#at += 1;
    this.readItems("}", () => {
      const name = this.readName();
      if (name === undefined) throw this.#error("a name is missing");
      fields.push([name, plainValue(this.readValue(depth + 1))]);
    });
    return Object.fromEntries(fields);
  }

  #readList(depth: number): unknown[] {
    const items: unknown[] = [];
    this.#at += 1;
    this.readItems("]", () => items.push(plainValue(this.readValue(depth + 1))));
    return items;
  }

  #readString(quote: string): string {
    let value = "";
    for (let index = this.#at + 1; index < this.text.length; index += 1) {
      const character = this.text[index]!;
      if (character === quote) {
        this.#at = index + 1;
        return value;
      }
      if (character !== "\\") value += character;
      else {
        const [written] = /^\\(?:u[0-9a-f]{4}|.)/is.exec(this.text.slice(index)) ?? ["\\"];
        value += readEscape(written);
        index += written.length - 1;
      }
    }
    throw this.#error(`${quote} is not closed`);
  }

  #skipBlanks(): void {
    while (/\s/.test(this.text[this.#at] ?? "")) this.#at += 1;
  }

  #error(what: string): SyntaxError {
    const near = this.text.slice(this.#at, this.#at + 20);
    const place = near === "" ? "at the end" : `before ${JSON.stringify(near)}`;
    return new SyntaxError(`${what} ${place}`);
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
