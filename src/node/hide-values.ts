/** Keeps secrets out of logs: whoever prints a loaded configuration sees names and addresses only. */
import { inspect } from "node:util";
import { isRecord } from "../config/entry-reader.js";
import { redactUrl } from "../util/redact-text.js";

const MAPS = ["env", "headers", "oauth"];
const ADDRESSES = ["url", "sseUrl", "base_url"];

/** The values themselves stay where they are; only what `console.log` and `util.inspect` show is different. */
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

/** Of fields that nobody here knows, any may be a secret. */
export function hideAll(map: Readonly<Record<string, unknown>>): void {
  show(map, () => Object.fromEntries(Object.keys(map).map((name) => [name, "[redacted]"])));
}

function show(hidden: object, view: () => object): void {
  Object.defineProperty(hidden, inspect.custom, { value: view, enumerable: false });
}
