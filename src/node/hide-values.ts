/** Keeps the values of a map out of logs: whoever prints a loaded configuration sees names only. */
import { inspect } from "node:util";
import { isRecord } from "../config/entry-reader.js";

/** The values themselves stay where they are; only what `console.log` and `util.inspect` show is different. */
export function hideValues(map: unknown): void {
  if (!isRecord(map)) return;
  Object.defineProperty(map, inspect.custom, {
    value: () => Object.fromEntries(Object.keys(map).map((name) => [name, "[redacted]"])),
    enumerable: false,
  });
}
