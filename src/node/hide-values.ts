/** Hides secrets of a loaded configuration from `console.log`. */
import { inspect } from "node:util";
import { isRecord } from "../util/is-record.js";
import { redactUrl } from "../util/redact-text.js";

const MAPS = ["env", "headers", "oauth"];
const ADDRESSES = ["url", "sseUrl", "base_url"];

/** Changes only the output of `console.log` and `util.inspect`, not the values. */
export function hideValues(entry: Readonly<Record<string, unknown>>): void {
  for (const key of MAPS) {
    const map = entry[key];
    if (isRecord(map)) hideAll(map);
  }
  const addresses = ADDRESSES.filter((key) => typeof entry[key] === "string").map(
    (key) => [key, redactUrl(entry[key] as string)] as const,
  );
  if (addresses.some(([key, shown]) => shown !== entry[key]))
    show(entry, () => ({ ...entry, ...Object.fromEntries(addresses) }));
}

/** Hides all values: any unknown field may be a secret. */
export function hideAll(map: Readonly<Record<string, unknown>>): void {
  show(map, () => Object.fromEntries(Object.keys(map).map((name) => [name, "[redacted]"])));
}

function show(hidden: object, view: () => object): void {
  Object.defineProperty(hidden, inspect.custom, { value: view, enumerable: false });
}
