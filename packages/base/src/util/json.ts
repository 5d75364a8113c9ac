/** JSON: plain objects, parsing within limits, sizes. */
import { utf8Length } from "./text.js";

export type Fields = Readonly<Record<string, unknown>>;

/** Whether a value is an object and no array. Its prototype must be known to be plain, as that of parsed JSON. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value if it is an object and no array. */
export const toRecord = (value: unknown): Record<string, unknown> | undefined =>
  isRecord(value) ? value : undefined;

/** Whether a value is an object that is not an instance of a class. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The fields of an object that may be undefined are optional. */
type Defined<Value> = {
  [Key in keyof Value as undefined extends Value[Key] ? never : Key]: Value[Key];
} & {
  [Key in keyof Value as undefined extends Value[Key] ? Key : never]?: Exclude<Value[Key], undefined>;
};

/** A copy without the fields that are undefined. */
export const definedFields = <Value extends object>(fields: Value): Defined<Value> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Value>;

/** Copies plain objects and lists; functions and instances of classes stay as they are. */
export function copyPlain<Value>(value: Value): Value;
export function copyPlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => copyPlain(item));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyPlain(item)]));
}

/** Undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a value has more than `levels` levels. Stops at the limit, so it cannot overflow the stack. Skips members in `except`. */
export function isNestedDeeper(value: unknown, levels: number, except?: ReadonlySet<string>): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  // Faster than `for…in`, which converts every index to a string.
  if (Array.isArray(value)) {
    for (const item of value) if (isNestedDeeper(item, levels - 1)) return true;
    return false;
  }
  for (const key in value) {
    const child = (value as Record<string, unknown>)[key];
    if (typeof child !== "object" || child === null || except?.has(key)) continue;
    if (isNestedDeeper(child, levels - 1)) return true;
  }
  return false;
}

interface JsonLimits {
  readonly levels: number;
  /** Objects and arrays. */
  readonly containers: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * The number of objects and arrays in a JSON text, or the limit that it goes beyond. Reads only brackets, and stops at the limit:
 * parsing 4 MiB of brackets would take half a second.
 */
export function countContainers(text: string, { levels, containers }: JsonLimits): number | keyof JsonLimits {
  let level = 0;
  let count = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) isInString = !isInString;
    else if (isInString) {
      // The next character is escaped.
      if (char === BACKSLASH) at += 1;
    } else if (char === 0x5b || char === 0x7b) {
      level += 1;
      count += 1;
      if (level > levels) return "levels";
      if (count > containers) return "containers";
    } else if (char === 0x5d || char === 0x7d) level -= 1;
  }
  return count;
}

/** Whether two JSON values have the same text. False for values that are nested too deep to be written. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  try {
    return JSON.stringify(one) === JSON.stringify(other);
  } catch {
    return false;
  }
}

/** Characters that JSON escapes, or that take more than one byte. */
const UNUSUAL = /["\\\0-\x1f\x7f-\uffff]/;

/** The size of what `JSON.stringify` would write, in half its time: the text itself is not made. 0 if it would write nothing. */
export function jsonBytes(value: unknown): number {
  switch (typeof value) {
    case "string":
      return textBytes(value);
    case "number":
      return Number.isFinite(value) ? String(value).length : 4;
    case "boolean":
      return value ? 4 : 5;
    case "object":
      if (value === null) return 4;
      if (Array.isArray(value)) return listBytes(value);
      return isPlainObject(value) ? recordBytes(value) : utf8Length(JSON.stringify(value) ?? "");
    default:
      return 0;
  }
}

const textBytes = (text: string): number =>
  UNUSUAL.test(text) ? utf8Length(JSON.stringify(text)) : text.length + 2;

function listBytes(list: readonly unknown[]): number {
  // Brackets, and a comma between items.
  let bytes = list.length === 0 ? 2 : list.length + 1;
  // `null` stands for an item that JSON cannot express.
  for (const item of list) bytes += jsonBytes(item) || 4;
  return bytes;
}

function recordBytes(record: Readonly<Record<string, unknown>>): number {
  let bytes = 1;
  // Faster than `Object.keys`; plain records inherit nothing that this would visit.
  for (const key in record) {
    const inner = jsonBytes(record[key]);
    // A colon and a comma, or the last brace.
    if (inner > 0) bytes += textBytes(key) + inner + 2;
  }
  return bytes === 1 ? 2 : bytes;
}
