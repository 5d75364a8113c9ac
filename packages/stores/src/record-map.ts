/** The records and leases of a store as maps, and the steps that read and change them: those of the memory store and the JSON file. */
import {
  type BackendPut,
  type BackendRecord,
  compareKeys,
  type LeaseHolder,
  type LeaseRequest,
  type StoreBackend,
} from "./store-backend.js";

type RunStep = <T>(step: (content: StoreContent) => T) => Promise<T>;

/**
 * The methods of a store that read and write records and leases.
 *
 * @param write runs a step that changed nothing if it returns undefined or false
 */
export const recordMethods = (
  read: RunStep,
  write: RunStep,
  holder: () => LeaseHolder | undefined = () => undefined,
): Omit<StoreBackend, "durabilityRisk" | "watch" | "close"> => ({
  get: (key) => read((content) => getRow(content, key)),
  put: (key, text, conditions) => write((content) => putRow(content, { key, text, ...conditions })),
  delete: (key, { ifVersion }) => write((content) => deleteRow(content, key, ifVersion)),
  list: (prefix) => read((content) => listRows(content, prefix)),
  acquireLease: (name, ttlMs) => write((content) => grantLease(content, { name, ttlMs, holder: holder() })),
  renewLease: (name, fence, ttlMs) => write((content) => renewLease(content, { name, fence, ttlMs })),
});

/** Deletions and ended leases stay this long: watchers and late lease holders need them. */
const MEMORY_MS = 3_600_000;

interface Row {
  readonly text: string;
  readonly version: number;
  readonly writtenAt: number;
  /** Epoch milliseconds; undefined for never. */
  readonly expiresAt?: number | undefined;
}

/** The content of a store. */
export interface StoreContent {
  /** The last version or fence. Neither is ever used twice. */
  last: number;
  readonly records: Map<string, Row>;
  /** Undefined if no other process has to detect them. */
  readonly deletions?: Map<string, Pick<Row, "version" | "writtenAt">> | undefined;
  readonly leases: Map<string, { fence: number; expiresAt: number; holder?: string | undefined }>;
}

export const emptyContent = (): StoreContent => ({
  last: 0,
  records: new Map(),
  deletions: new Map(),
  leases: new Map(),
});

function getRow({ records }: StoreContent, key: string): BackendRecord | undefined {
  const now = Date.now();
  const row = liveRow(records.get(key), now);
  if (row === undefined) return undefined;
  const { text, version, expiresAt } = row;
  return { text, version, ttlLeftMs: expiresAt === undefined ? undefined : expiresAt - now };
}

function putRow(
  content: StoreContent,
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
  deletions?.delete(key);
  return version;
}

function deleteRow(content: StoreContent, key: string, ifVersion: number | undefined): boolean {
  const now = Date.now();
  const row = liveRow(content.records.get(key), now);
  if (row === undefined || (ifVersion !== undefined && row.version !== ifVersion)) return false;
  content.records.delete(key);
  content.deletions?.set(key, { version: ++content.last, writtenAt: now });
  return true;
}

function listRows({ records }: StoreContent, prefix: string): string[] {
  const now = Date.now();
  const live = [...records].filter(([key, row]) => key.startsWith(prefix) && liveRow(row, now) !== undefined);
  return live.map(([key]) => key).sort(compareKeys);
}

function grantLease(content: StoreContent, { name, ttlMs, holder }: LeaseRequest): number | undefined {
  const now = Date.now();
  const held = content.leases.get(name);
  const isHeld = held !== undefined && held.expiresAt > now;
  if (isHeld && (held.holder === undefined || holder?.isGone(held.holder) !== true)) return undefined;
  const fence = ++content.last;
  content.leases.set(name, { fence, expiresAt: Math.ceil(now + ttlMs), holder: holder?.id });
  return fence;
}

/** Lets the lease run `ttlMs` from now if `fence` is still the last one granted. */
function renewLease(
  { leases }: StoreContent,
  { name, fence, ttlMs }: { name: string; fence: number; ttlMs: number },
): boolean {
  const held = leases.get(name);
  if (held?.fence !== fence) return false;
  leases.set(name, { ...held, expiresAt: Math.ceil(Date.now() + ttlMs) });
  return true;
}

/** Keys written or deleted above the version `after`. */
export function changedKeys({ records, deletions }: StoreContent, after: number): string[] {
  return [...records, ...(deletions ?? [])].filter(([, { version }]) => version > after).map(([key]) => key);
}

const liveRow = (row: Row | undefined, now: number): Row | undefined =>
  row?.expiresAt !== undefined && row.expiresAt <= now ? undefined : row;

/** Removes what expired. */
export function prune({ records, deletions, leases }: StoreContent): void {
  const now = Date.now();
  for (const [key, row] of records) if (liveRow(row, now) === undefined) records.delete(key);
  for (const [key, { writtenAt }] of deletions ?? []) if (writtenAt < now - MEMORY_MS) deletions?.delete(key);
  for (const [name, { expiresAt }] of leases) if (expiresAt < now - MEMORY_MS) leases.delete(name);
}
