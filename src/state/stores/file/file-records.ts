/** The content of a store in a JSON file, and the steps that read and change it. */
import { StateError } from "../../../errors/toolport-error.js";
import { compareKeys } from "../../key-order.js";
import type { LeaseRequest } from "../../sql-records.js";
import type { BackendPut, BackendRecord } from "../../store-backend.js";

/** Deletions and ended leases are kept this long: watchers and late lease holders need them. */
const MEMORY_MS = 3_600_000;

interface Row {
  readonly text: string;
  readonly version: number;
  readonly writtenAt: number;
  /** Epoch milliseconds; undefined for never. */
  readonly expiresAt?: number | undefined;
}

interface LeaseRow {
  readonly fence: number;
  readonly expiresAt: number;
  readonly holder?: string | undefined;
}

/** The content of the file. */
export interface FileContent {
  /** The last version or fence. Neither is ever used twice. */
  last: number;
  readonly records: Map<string, Row>;
  readonly deletions: Map<string, Pick<Row, "version" | "writtenAt">>;
  readonly leases: Map<string, LeaseRow>;
}

export const emptyContent = (): FileContent => ({
  last: 0,
  records: new Map(),
  deletions: new Map(),
  leases: new Map(),
});

export function getRow({ records }: FileContent, key: string): BackendRecord | undefined {
  const now = Date.now();
  const row = liveRow(records.get(key), now);
  if (row === undefined) return undefined;
  const { text, version, expiresAt } = row;
  return { text, version, ttlLeftMs: expiresAt === undefined ? undefined : expiresAt - now };
}

export function putRow(
  content: FileContent,
  { key, text, ifVersion, ttlMs, lease }: Omit<BackendPut, "durable"> & { key: string; text: string },
): number | undefined {
  const now = Date.now();
  const { records, deletions, leases } = content;
  if (ifVersion !== undefined && (liveRow(records.get(key), now)?.version ?? 0) !== ifVersion)
    return undefined;
  if (lease !== undefined && leases.get(lease.name)?.fence !== lease.fence) return undefined;
  const version = ++content.last;
  const expiresAt = ttlMs === undefined ? undefined : Math.ceil(now + ttlMs);
  records.set(key, { text, version, writtenAt: now, expiresAt });
  deletions.delete(key);
  prune(content, now);
  return version;
}

export function deleteRow(content: FileContent, key: string, ifVersion: number | undefined): boolean {
  const now = Date.now();
  const row = liveRow(content.records.get(key), now);
  if (row === undefined || (ifVersion !== undefined && row.version !== ifVersion)) return false;
  content.records.delete(key);
  content.deletions.set(key, { version: ++content.last, writtenAt: now });
  return true;
}

export function listRows({ records }: FileContent, prefix: string): string[] {
  const now = Date.now();
  const live = [...records].filter(([key, row]) => key.startsWith(prefix) && liveRow(row, now) !== undefined);
  return live.map(([key]) => key).sort(compareKeys);
}

export function grantLease(content: FileContent, { name, ttlMs, holder }: LeaseRequest): number | undefined {
  const now = Date.now();
  const held = content.leases.get(name);
  const isHeld = held !== undefined && held.expiresAt > now;
  if (isHeld && (held.holder === undefined || holder?.isGone(held.holder) !== true)) return undefined;
  const fence = ++content.last;
  content.leases.set(name, { fence, expiresAt: Math.ceil(now + ttlMs), holder: holder?.id });
  return fence;
}

/** Lets the lease run `ttlMs` from now if `fence` is still the last one granted. */
export function renewLease(
  { leases }: FileContent,
  { name, fence, ttlMs }: { name: string; fence: number; ttlMs: number },
): boolean {
  const held = leases.get(name);
  if (held?.fence !== fence) return false;
  leases.set(name, { ...held, expiresAt: Math.ceil(Date.now() + ttlMs) });
  return true;
}

/** Keys written or deleted above the version `after`. */
export function changedKeys({ records, deletions }: FileContent, after: number): string[] {
  return [...records, ...deletions].filter(([, { version }]) => version > after).map(([key]) => key);
}

const liveRow = (row: Row | undefined, now: number): Row | undefined =>
  row?.expiresAt !== undefined && row.expiresAt <= now ? undefined : row;

/** Every change writes the whole file, so expired entries are removed. */
function prune({ records, deletions, leases }: FileContent, now: number): void {
  for (const [key, row] of records) if (liveRow(row, now) === undefined) records.delete(key);
  for (const [key, { writtenAt }] of deletions) if (writtenAt < now - MEMORY_MS) deletions.delete(key);
  for (const [name, { expiresAt }] of leases) if (expiresAt < now - MEMORY_MS) leases.delete(name);
}

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
