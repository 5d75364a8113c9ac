/** Reads the fields of one object of a configuration, checks their types and reports problems. */
import { isRecord } from "../util/json.js";
import { suggest } from "../util/suggest.js";
import type { ConfigIssues, ConfigPath } from "./config-issues.js";

/** The longest delay of a timer in Node; a longer one fires at once. */
const MAX_TIMER_MS = 2_147_483_647;

export interface NumberRule {
  min: number;
  /** Numbers must be greater than `min`, not equal to it. */
  above?: boolean;
  integer?: boolean;
  /** Allows `Infinity`. */
  infinite?: boolean;
}

/** One object of a configuration. The methods return undefined if a field is missing, or after they reported a problem. */
export class EntryReader {
  readonly #record: Readonly<Record<string, unknown>>;
  readonly #path: ConfigPath;
  readonly #issues: ConfigIssues;

  constructor(record: Readonly<Record<string, unknown>>, path: ConfigPath, issues: ConfigIssues) {
    this.#record = record;
    this.#path = path;
    this.#issues = issues;
  }

  /** The unchecked value. Only own fields count, so that a polluted prototype adds nothing. */
  raw(key: string | symbol): unknown {
    return Object.hasOwn(this.#record, key) ? Reflect.get(this.#record, key) : undefined;
  }

  has(key: string): boolean {
    return this.raw(key) !== undefined;
  }

  get keys(): string[] {
    return Object.keys(this.#record).filter((key) => this.has(key));
  }

  /** Reports a problem with a field, or with a value inside it. */
  report(path: string | ConfigPath, message: string): undefined {
    this.#issues.add([...this.#path, ...(typeof path === "string" ? [path] : path)], message);
    return undefined;
  }

  /** A text that is not empty and has no NUL character, which the operating system would reject. */
  text(key: string): string | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    if (typeof value !== "string") return this.report(key, "must be a string");
    if (value.trim() === "") return this.report(key, "must not be empty");
    if (value.includes("\0")) return this.report(key, "must not contain a NUL character");
    return value;
  }

  flag(key: string): boolean | undefined {
    const value = this.raw(key);
    if (value === undefined || typeof value === "boolean") return value;
    return this.report(key, "must be true or false");
  }

  number(key: string, rule: NumberRule): number | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    if (rule.infinite === true && value === Number.POSITIVE_INFINITY) return value;
    const kind = rule.integer === true ? "a whole number" : "a number";
    const bound = `${rule.above === true ? "greater than" : "of at least"} ${rule.min}`;
    if (typeof value !== "number" || Number.isNaN(value)) return this.report(key, `must be ${kind} ${bound}`);
    const tooSmall = rule.above === true ? value <= rule.min : value < rule.min;
    if (tooSmall || (rule.integer === true && !Number.isSafeInteger(value))) {
      return this.report(key, `must be ${kind} ${bound}`);
    }
    if (rule.integer !== true && value > MAX_TIMER_MS) {
      const instead = rule.infinite === true ? ", or Infinity for no limit" : "";
      return this.report(key, `must be at most ${MAX_TIMER_MS}${instead}`);
    }
    return value;
  }

  choice<Value extends string>(key: string, choices: readonly Value[]): Value | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    const found = choices.find((choice) => choice === value);
    return found ?? this.report(key, `must be one of ${choices.map((choice) => `"${choice}"`).join(", ")}`);
  }

  /** A frozen copy of a list of texts. An empty text is allowed: it is a valid argument of a program. */
  texts(key: string): readonly string[] | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) return this.report(key, "must be an array of strings");
    const items: string[] = [];
    for (const [index, item] of value.entries()) {
      if (typeof item !== "string") this.report([key, index], "must be a string");
      else if (item.includes("\0")) this.report([key, index], "must not contain a NUL character");
      else items.push(item);
    }
    return Object.freeze(items);
  }

  /** Names with text values, each checked by `problemOf`. Its message must not contain the value, which may be a secret. */
  textMap(
    key: string,
    problemOf: (name: string, value: string) => string | undefined,
  ): Record<string, string> {
    const clean: Record<string, string> = Object.create(null);
    const value = this.raw(key);
    if (value === undefined) return clean;
    if (!isRecord(value)) {
      this.report(key, "must be an object with string values");
      return clean;
    }
    for (const [name, text] of Object.entries(value)) {
      if (text === undefined) continue;
      if (typeof text !== "string") {
        this.report([key, name], "must be a string (its value is not shown)");
        continue;
      }
      const problem = problemOf(name, text);
      if (problem === undefined) clean[name] = text;
      else this.report([key, name], problem);
    }
    return clean;
  }

  /** A reader of the object in a field. */
  inner(key: string, shape = "must be an object"): EntryReader | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    if (!isRecord(value)) return this.report(key, shape);
    return new EntryReader(value, [...this.#path, key], this.#issues);
  }

  /** Reports every field that is not in `known`. `explain` may replace the message for a field. */
  rejectUnknown(known: readonly string[], explain?: (key: string) => string | undefined): void {
    for (const key of this.keys) {
      if (known.includes(key)) continue;
      const [close] = suggest(key, known, 1);
      const hint = close === undefined ? "" : `; did you mean "${close}"?`;
      this.report(key, explain?.(key) ?? `is not a known option${hint}`);
    }
  }
}
