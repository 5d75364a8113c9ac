/** A hash of an entry as it is written: what a user agrees to. */
import { createHash } from "node:crypto";
import { isRecord } from "../config/entry-reader.js";

/**
 * A hash of every field and every value of an entry, as they are written. The order of fields does not count. Pass the
 * entry before its variables are expanded (`sources[name].written`): then values from the user's environment do not
 * count, and everything that the file says does.
 *
 * @example
 * ```ts
 * configFingerprint({ command: "npx", env: { HOME: "." } }) === configFingerprint({ command: "npx", env: { HOME: ".." } }); // false
 * ```
 */
export const configFingerprint = (entry: object): string =>
  createHash("sha256").update(canonical(entry)).digest("hex");

/** One text for one value: fields in alphabetical order, every type told apart. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value instanceof Date) return `date ${value.toISOString()}`;
  if (isRecord(value)) {
    const fields = Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join()}}`;
  }
  // Numbers that JSON does not have would all become null.
  return typeof value === "string" ? JSON.stringify(value) : `${typeof value} ${String(value)}`;
}
