/** A table of options: how each option is read and what its default is. */
import type { EntryReader, NumberRule } from "./entry-reader.js";

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
export interface PartOfOption {
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

/** A reader for one of several words. */
export const readChoice =
  <Value extends string>(choices: readonly Value[]) =>
  (reader: EntryReader, key: string): Value | undefined =>
    reader.choice(key, choices);

/** A field that must be a function, if it is there. */
export function readFunction<Value>(reader: EntryReader, key: string): Value | undefined {
  const value = reader.raw(key);
  if (value === undefined || typeof value === "function") return value as Value | undefined;
  return reader.report(key, "must be a function");
}

/** An option that is used as it is given; the module that uses it checks it. */
export function readUnchecked<Value>(reader: EntryReader, key: string): Value | undefined {
  return reader.raw(key) as Value | undefined;
}
