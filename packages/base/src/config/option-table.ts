/** Tables of options: their types, how each value is read, and what is wrong with it. */
import { ConfigError, type ConfigIssue } from "../errors/toolport-error.js";
import { isRecord } from "../util/json.js";
import { orMeant } from "../util/suggest.js";
import { canParseUrl } from "../util/text.js";

/** A place in a configuration: keys and indexes, starting at the map of servers. */
export type ConfigPath = readonly (string | number)[];

/** Finds the file and line of a path. */
export type Locate = (path: ConfigPath) => { file: string; line: number } | undefined;

const MAX_SHOWN_KEY = 64;

function segment(key: string | number): string {
  if (typeof key === "number") return `[${key}]`;
  if (/^[\w$@/-]{1,64}$/.test(key)) return `.${key}`;
  const short = key.length > MAX_SHOWN_KEY ? `${key.slice(0, MAX_SHOWN_KEY)}…` : key;
  return `[${JSON.stringify(short)}]`;
}

/** Writes a path the way it is written in code: `mcpServers.files.args[1]`. */
export function formatPath(root: string, path: ConfigPath): string {
  return `${root}${path.map(segment).join("")}`;
}

/** Undoes {@link formatPath}, except that a long key stays cut. */
export function parsePath(path: string): (string | number)[] {
  const keys: (string | number)[] = [];
  for (const [, plain, index, quoted] of path.matchAll(/([^.[\]]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g)) {
    if (index !== undefined) keys.push(Number(index));
    else keys.push(quoted === undefined ? plain! : (JSON.parse(quoted) as string));
  }
  return keys;
}

/** The problems found so far. Messages contain names only, never values, which may be secrets. */
export class ConfigIssues {
  readonly #issues: ConfigIssue[] = [];

  constructor(
    private readonly root: string,
    private readonly locate?: Locate,
  ) {}

  add(path: ConfigPath, message: string): void {
    const place = this.locate?.(path);
    this.#issues.push({ ...place, path: formatPath(this.root, path), message });
  }

  get list(): readonly ConfigIssue[] {
    return this.#issues;
  }

  /** Throws one error with all problems, if there are any. */
  throwIfAny(): void {
    if (this.#issues.length === 0) return;
    throw new ConfigError({
      code: "INVALID_CONFIG",
      issues: this.#issues,
      next: "Correct the entries named above",
    });
  }
}

/** The longest delay of a timer in Node; a longer one fires at once. */
const MAX_TIMER_MS = 2_147_483_647;

interface NumberRule {
  min: number;
  /** Numbers must be greater than `min`, not equal to it. */
  above?: boolean;
  integer?: boolean;
  /** Allows `Infinity`. */
  infinite?: boolean;
}

/** One object of a configuration. The methods return undefined if a field is missing, or after they reported a problem. */
export class EntryReader {
  constructor(
    private readonly record: Readonly<Record<string, unknown>>,
    private readonly path: ConfigPath,
    private readonly issues: ConfigIssues,
  ) {}

  /** The unchecked value. Only own fields count, so that a polluted prototype adds nothing. */
  raw(key: string | symbol): unknown {
    return Object.hasOwn(this.record, key) ? Reflect.get(this.record, key) : undefined;
  }

  has(key: string): boolean {
    return this.raw(key) !== undefined;
  }

  get keys(): string[] {
    return Object.keys(this.record).filter((key) => this.has(key));
  }

  /** Reports a problem with a field, or with a value inside it. */
  report(path: string | ConfigPath, message: string): undefined {
    this.issues.add([...this.path, ...(typeof path === "string" ? [path] : path)], message);
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
    return new EntryReader(value, [...this.path, key], this.issues);
  }

  /** Reports every field that is not in `known`. `explain` may replace the message for a field. */
  rejectUnknown(known: readonly string[], explain?: (key: string) => string | undefined): void {
    for (const key of this.keys) {
      if (known.includes(key)) continue;
      this.report(key, explain?.(key) ?? `is not a known option${orMeant(key, known)}`);
    }
  }
}

/** One row of a table, under the name that users write. The interface with its TSDoc says what the option means. */
export interface Option<Value> {
  /** Returns the checked value. Returns undefined if the option is not set, or after it reported a problem. */
  readonly read: (reader: EntryReader, key: string, baseDir?: string) => Value | undefined;
  /** Used where `read` returns undefined. Without a default, the setting is optional. */
  readonly default?: Value;
  /** What to report if the option is missing. Without it, the option may be left out. */
  readonly required?: string;
  /** The name of the setting, where it is not the name of the option. */
  readonly as?: string;
}

/** A row of an option that the reader of another option reads as well. */
interface PartOfOption {
  readonly partOf: string;
}

/** `Value` without `undefined`; unlike `NonNullable`, it leaves generic and function types as they are written. */
type Given<Value> = Exclude<Value, undefined>;

/**
 * The table of all options of an interface: a missing row, an unknown row, and a reader that returns another type are type
 * errors. `Changed` names the options whose type is another one after reading.
 */
export type OptionTable<Options, Changed = object> = {
  readonly [Key in keyof Options]-?:
    | Option<Key extends keyof Changed ? Changed[Key] : Given<Options[Key]>>
    | PartOfOption;
};

type Row = Option<unknown> | PartOfOption;

type SettingName<Table, Key extends keyof Table> = Table[Key] extends PartOfOption
  ? never
  : Table[Key] extends { readonly as: infer Name extends string }
    ? Name
    : Key;

type SettingValue<Options, Changed, Key extends keyof Options> = Key extends keyof Changed
  ? Changed[Key]
  : Given<Options[Key]>;

/** Options that always have a value: those with a default, and those that users have to give. */
type SetKeys<Options, Table> = {
  [Key in keyof Options & keyof Table]-?: Table[Key] extends { readonly default: unknown }
    ? Key
    : undefined extends Options[Key]
      ? never
      : Key;
}[keyof Options & keyof Table];

/** The settings that {@link readTable} returns for a table of `Options`. */
export type SettingsOf<Options, Table, Changed = object> = {
  readonly [Key in keyof Options & keyof Table & SetKeys<Options, Table> as SettingName<
    Table,
    Key
  >]: SettingValue<Options, Changed, Key>;
} & {
  readonly [Key in Exclude<keyof Options & keyof Table, SetKeys<Options, Table>> as SettingName<Table, Key>]?:
    | SettingValue<Options, Changed, Key>
    | undefined;
};

/** Reads every option of a table and fills in the defaults. The settings may only be used if no problem was reported. */
export function readTable<Settings>(
  table: Readonly<Record<string, Row>>,
  reader: EntryReader,
  baseDir?: string,
): Settings {
  const settings: Record<string, unknown> = {};
  for (const [key, row] of Object.entries(table)) {
    if ("partOf" in row) continue;
    if (row.required !== undefined && !reader.has(key)) reader.report(key, row.required);
    settings[row.as ?? key] = row.read(reader, key, baseDir) ?? row.default;
  }
  return settings as Settings;
}

/**
 * A reader for an object that has a table of its own. It returns a frozen object of the fields that are set.
 *
 * @param or accepts values that are used as they are, in place of an object
 * @param shape the message for all other values
 */
export function readObject<Value>(
  table: Readonly<Record<string, Row>>,
  { or = () => false, shape }: { or?: (value: unknown) => boolean; shape?: string } = {},
): (reader: EntryReader, key: string) => Value | undefined {
  return (reader, key) => {
    const value = reader.raw(key);
    if (or(value)) return value as Value;
    const inner = reader.inner(key, shape);
    if (inner === undefined) return undefined;
    inner.rejectUnknown(Object.keys(table));
    const fields = Object.entries(readTable<object>(table, inner));
    return Object.freeze(Object.fromEntries(fields.filter(([, field]) => field !== undefined))) as Value;
  };
}

/** A reader for an object of numbers, under any names. */
export const readNumbers =
  (rule: NumberRule) =>
  (reader: EntryReader, key: string): Readonly<Record<string, number>> | undefined => {
    const inner = reader.inner(key);
    const numbers: Record<string, number> = Object.create(null);
    for (const name of inner?.keys ?? []) {
      const number = inner?.number(name, rule);
      if (number !== undefined) numbers[name] = number;
    }
    return inner && Object.freeze(numbers);
  };

/** A time limit. */
export const TIME_LIMIT: NumberRule = { min: 0, above: true, infinite: true };

export const readFlag = (reader: EntryReader, key: string): boolean | undefined => reader.flag(key);

export const readText = (reader: EntryReader, key: string): string | undefined => reader.text(key);

export const readTexts = (reader: EntryReader, key: string): readonly string[] | undefined =>
  reader.texts(key);

/** Milliseconds greater than 0, or `Infinity` for no limit. */
export const readTimeLimit = (reader: EntryReader, key: string): number | undefined =>
  reader.number(key, TIME_LIMIT);

/** A reader for numbers within a rule. */
export const readNumber =
  (rule: NumberRule) =>
  (reader: EntryReader, key: string): number | undefined =>
    reader.number(key, rule);

/** A number of bytes, or `Infinity` for no limit. */
export const SIZE: NumberRule = { min: 1, integer: true, infinite: true };

export const readSize = readNumber(SIZE);

/** A reader for one of several words. @param or accepts values that are used as they are, in place of a word */
export const readChoice =
  <const Value extends string>(choices: readonly Value[], or: (value: unknown) => boolean = () => false) =>
  (reader: EntryReader, key: string): Value | undefined =>
    or(reader.raw(key)) ? (reader.raw(key) as Value) : reader.choice(key, choices);

/** A reader for values that pass a test. @param shape the message for all others */
export const readIf =
  <Value>(isGood: (value: unknown) => boolean, shape: string) =>
  (reader: EntryReader, key: string): Value | undefined => {
    const value = reader.raw(key);
    if (value === undefined || isGood(value)) return value as Value | undefined;
    return reader.report(key, shape);
  };

export const isFunction = (value: unknown): boolean => typeof value === "function";

/** A field that must be a function, if it is there. */
export const readFunction = <Value>(reader: EntryReader, key: string): Value | undefined =>
  readIf<Value>(isFunction, "must be a function")(reader, key);

/** An option that is used as it is given; the module that uses it checks it. */
export function readUnchecked<Value>(reader: EntryReader, key: string): Value | undefined {
  return reader.raw(key) as Value | undefined;
}

const THIS_MACHINE = ["localhost", "127.0.0.1", "[::1]"];

/** An https URL; with `loopback`, also an http URL on this machine. */
export function readWebAddress(
  reader: EntryReader,
  key: string,
  { loopback = false, path = false }: { loopback?: boolean; path?: boolean } = {},
): string | undefined {
  const value = reader.raw(key);
  if (value === undefined) return undefined;
  const text = String(value);
  if (!canParseUrl(text)) return reader.report(key, "must be an absolute URL");
  const url = new URL(text);
  const isLocal = loopback && url.protocol === "http:" && THIS_MACHINE.includes(url.hostname);
  if (url.protocol !== "https:" && !isLocal) {
    return reader.report(key, loopback ? "must be https, or http on this machine" : "must be https");
  }
  if (url.username !== "" || url.password !== "" || url.hash !== "") {
    return reader.report(key, "must not contain a user name, a password or a fragment");
  }
  if (path && url.pathname === "/") return reader.report(key, "must have a path");
  // Not normalised: authorization servers compare the text character by character.
  return text;
}
