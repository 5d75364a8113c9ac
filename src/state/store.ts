/** The one interface behind everything Toolport remembers. */

/** A value with the version that compare-and-set needs. */
export interface StoredRecord {
  /** Any JSON value. */
  value: unknown;
  /** Grows with every write; hand it back to change what you read. */
  version: number;
}

/** What a write may insist on. */
export interface PutOptions {
  /** Write only over this version; `0`: only if there is no record. Without it the write always wins. */
  ifVersion?: number;
  /** Forget the record after this time. */
  ttlMs?: number;
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
  get(key: string): Promise<StoredRecord | undefined>;
  /** The new version, or undefined if `ifVersion` no longer holds. */
  put(key: string, value: unknown, options?: PutOptions): Promise<number | undefined>;
  /** True if a record was deleted. */
  delete(key: string, options?: { ifVersion?: number }): Promise<boolean>;
  /** Keys that begin with `prefix`, in order. */
  list(prefix: string): Promise<string[]>;
  close(): Promise<void>;
}
