/** The default store, in the memory of the process, and the maps of records and leases that the JSON file has too. */
import { createStore } from "./create-store.js";
import { unkeyedSealer } from "./sealing.js";
import type { Store } from "./store.js";
import { compareKeys, type LeaseHolder, type RecordMethods, type StoreBackend } from "./store-backend.js";

/**
 * A store in memory. Ports with the same store share its records.
 *
 * @example
 * ```ts
 * const store = memoryStore();
 * const toolport = createToolport({ mcpServers, store });
 * ```
 */
export const memoryStore = (): Store => ({
  ...createStore(createMemoryBackend(), { sealer: unkeyedSealer }),
  sealed: undefined,
});

/** Number of writes after which expired records are deleted. */
const SWEEP_EVERY = 256;

/** Every call is synchronous, and therefore atomic. */
export function createMemoryBackend(): StoreBackend {
  const content: StoreContent = { ...emptyContent(), deletions: undefined };
  return {
    durabilityRisk: async () => ({
      what: "the store is in the memory of this process",
      next: "Use sqliteStore, redisStore or postgresStore",
      isExpected: true,
    }),
    ...recordMethods(
      async (step) => step(content),
      async (step) => {
        const result = step(content);
        if (content.last % SWEEP_EVERY === 0) prune(content);
        return result;
      },
    ),
    // The store reports its own writes, and no other process can write here.
    watch: () => () => {},
    async close() {
      content.records.clear();
      content.leases.clear();
    },
  };
}

type RunStep = <T>(step: (content: StoreContent) => T) => Promise<T>;

/**
 * The methods of a store that read and write records and leases.
 *
 * @param write runs a step that changed nothing if it returns undefined or false
 */
export const recordMethods = (
  read: RunStep,
  write: RunStep,
  holderOf: () => LeaseHolder | undefined = () => undefined,
): RecordMethods => ({
  get: (key) =>
    read(({ records }) => {
      const now = Date.now();
      const row = liveRow(records.get(key), now);
      if (row === undefined) return undefined;
      const { text, version, expiresAt } = row;
      return { text, version, ttlLeftMs: expiresAt === undefined ? undefined : expiresAt - now };
    }),
  put: (key, text, { ifVersion, ttlMs, lease }) =>
    write((content) => {
      const now = Date.now();
      const { records, deletions, leases } = content;
      const before = liveRow(records.get(key), now)?.version ?? 0;
      if (ifVersion !== undefined && before !== ifVersion) return undefined;
      if (lease !== undefined && leases.get(lease.name)?.fence !== lease.fence) return undefined;
      const version = ++content.last;
      const expiresAt = ttlMs === undefined ? undefined : Math.ceil(now + ttlMs);
      records.set(key, { text, version, writtenAt: now, expiresAt });
      deletions?.delete(key);
      return version;
    }),
  delete: (key, { ifVersion }) =>
    write((content) => {
      const now = Date.now();
      const row = liveRow(content.records.get(key), now);
      if (row === undefined || (ifVersion !== undefined && row.version !== ifVersion)) return false;
      content.records.delete(key);
      content.deletions?.set(key, { version: ++content.last, writtenAt: now });
      return true;
    }),
  list: (prefix) =>
    read(({ records }) => {
      const now = Date.now();
      const isListed = (key: string) =>
        key.startsWith(prefix) && liveRow(records.get(key), now) !== undefined;
      return [...records.keys()].filter(isListed).sort(compareKeys);
    }),
  acquireLease: (name, ttlMs) =>
    write((content) => {
      const now = Date.now();
      const [held, holder] = [content.leases.get(name), holderOf()];
      const isHeld = held !== undefined && held.expiresAt > now;
      if (isHeld && (held.holder === undefined || holder?.isGone(held.holder) !== true)) return undefined;
      const fence = ++content.last;
      content.leases.set(name, { fence, expiresAt: Math.ceil(now + ttlMs), holder: holder?.id });
      return fence;
    }),
  renewLease: (name, fence, ttlMs) =>
    write(({ leases }) => {
      const held = leases.get(name);
      if (held?.fence !== fence) return false;
      leases.set(name, { ...held, expiresAt: Math.ceil(Date.now() + ttlMs) });
      return true;
    }),
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
