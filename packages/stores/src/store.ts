/** The interface of stores, which contain everything that Toolport saves. */

/** A value with the version that compare-and-set needs. */
export interface StoredRecord {
  /** Any JSON value. */
  value: unknown;
  /** Grows with every write. Pass it as `ifVersion` to change the value that you read. */
  version: number;
  /** The value was sealed under the store's key, so it was written with the key and not changed since. */
  sealed: boolean;
}

/** The conditions of a write. */
export interface PutOptions {
  /** Write only over this version; `0`: only if there is no record. Without it the write always wins. */
  ifVersion?: number | undefined;
  /** Delete the record after this time. */
  ttlMs?: number | undefined;
  /** Encrypt the value, and resolve only when it is on the disk. @default false */
  secret?: boolean | undefined;
  /** Write only if this lease was not granted again since. */
  lease?: Pick<Lease, "name" | "fence"> | undefined;
}

/** The right to do something alone, for a limited time. */
export interface Lease {
  readonly name: string;
  /** Grows with every grant of this lease. A write with an older fence fails. */
  readonly fence: number;
  /** Extends the lease by the same time; false if another process holds it now. */
  renew(): Promise<boolean>;
  /** Releases the lease. Never throws. */
  release(): Promise<void>;
}

/** Why a store may lose acknowledged writes. */
export interface DurabilityRisk {
  /** What the risk is, without a full stop. */
  what: string;
  /** What to do about it, without a full stop. */
  next: string;
  /** The store is not meant to be durable, so nothing has to be reported. */
  isExpected?: boolean | undefined;
}

/**
 * Keeps records by key. Every backend passes the same contract suite.
 *
 * @example
 * ```ts
 * const record = await store.get("era/abc");
 * await store.put("era/abc", { era: "modern" }, { ifVersion: record?.version ?? 0 });
 * ```
 */
export interface Store {
  /** Whether secret values are encrypted before they leave the process. Undefined if they never leave it, or if it is unknown. */
  readonly sealed?: boolean | undefined;
  /** Why acknowledged writes may be lost; undefined if they survive the end of this process. @default nothing is known */
  durabilityRisk?(): Promise<DurabilityRisk | undefined>;
  get(key: string): Promise<StoredRecord | undefined>;
  /** The new version, or undefined if `ifVersion` or `lease` no longer match. */
  put(key: string, value: unknown, options?: PutOptions): Promise<number | undefined>;
  /** True if a record was deleted. */
  delete(key: string, options?: { ifVersion?: number | undefined }): Promise<boolean>;
  /** Keys that begin with `prefix`, in order. */
  list(prefix: string): Promise<string[]>;
  /** Acquires the lease if it is free. It expires after `ttlMs`, so that a dead holder does not block the others. */
  lease(name: string, options: { ttlMs: number }): Promise<Lease | undefined>;
  /**
   * Reports records under `prefix` that were written or deleted by this or another process, with a delay and at
   * least once per burst. Returns a function that stops it. Does not keep the process alive.
   */
  watch(prefix: string, listener: (key: string) => void): () => void;
  close(): Promise<void>;
}

/** The key prefix of all records of one kind and one user. */
export const userPrefix = (kind: string, principal: string | undefined): string =>
  `${kind}/${encodeURIComponent(principal ?? "")}/`;
