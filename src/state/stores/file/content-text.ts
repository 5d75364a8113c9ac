/** The content of a store as the JSON text of its file. */
import { StateError } from "../../../errors/state-error.js";
import { emptyContent, type FileContent } from "./file-records.js";

const FORMAT = 1;
/** Pairs instead of objects: a key may be `__proto__`. */
const PARTS = ["records", "deletions", "leases"] as const;

/** The file has an unknown format. */
export class DamagedContent extends Error {}

/** Characters at the beginning of a text within which two commits differ. */
export const HEAD_LENGTH = 64;

/** @param commit a unique UUID for this text */
export function writeContent(content: FileContent, commit: string): string {
  const parts = PARTS.map((part) => [part, [...content[part]]]);
  return JSON.stringify({ toolport: FORMAT, commit, last: content.last, ...Object.fromEntries(parts) });
}

/** Throws {@link DamagedContent}, or a `StateError` for a file of a newer Toolport. */
export function readContent(text: string, path: string): FileContent {
  // A new file is empty.
  if (text === "") return emptyContent();
  const stored = parse(text);
  const { toolport: format, last } = stored;
  if (Number.isSafeInteger(format) && Number(format) > FORMAT) throw newerFormat(path);
  if (format !== FORMAT || !Number.isSafeInteger(last)) throw new DamagedContent("It has no known format");
  const [records, deletions, leases] = PARTS.map((part) => readPairs(stored[part]));
  return { last: Number(last), records, deletions, leases } as unknown as FileContent;
}

function parse(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch (cause) {
    throw new DamagedContent("It is not JSON", { cause });
  }
}

function readPairs(value: unknown): Map<string, object> {
  const isPair = (pair: unknown): pair is [string, object] =>
    Array.isArray(pair) && typeof pair[0] === "string" && typeof pair[1] === "object" && pair[1] !== null;
  if (!Array.isArray(value) || !value.every(isPair)) throw new DamagedContent("Its records are not a list");
  return new Map(value);
}

const newerFormat = (path: string): StateError =>
  new StateError({
    code: "UNAVAILABLE",
    what: `The state file ${path} was written by a newer Toolport`,
    next: "Update Toolport, or use another file; nothing was changed",
  });
