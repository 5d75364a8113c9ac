/** The one interface behind everything Toolport remembers. */

/** A value with the version that compare-and-set needs. */
export interface StoredRecord {
  /** Any JSON value. */
  value: unknown;
  /** Grows with every write; hand it back to change what you read. */
  version: number;
  /** The value was sealed under the store's key, so nobody without the key wrote or changed it. */
  sealed: boolean;
}

/** What a write may insist on. */
export interface PutOptions {
  /** Write only over this version; `0`: only if there is no record. Without it the write always wins. */
  ifVersion?: number | undefined;
  /** Forget the record after this time. */
  ttlMs?: number | undefined;
  /** Encrypt the value, and do not answer before it is safe on the disk. @default false */
  secret?: boolean | undefined;
  /** Write only while this lease was not granted to anybody else since. */
  lease?: Pick<Lease, "name" | "fence"> | undefined;
}

/** The right to do something alone, for a limited time. */
export interface Lease {
  readonly name: string;
  /** Grows with every grant of this lease: a write that carries an older one is refused. */
  readonly fence: number;
  /** Holds it for the same time again; false if somebody else has it by now. */
  renew(): Promise<boolean>;
  /** Gives it back. Never throws. */
  release(): Promise<void>;
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
  /** Whether secret values are encrypted before they leave the process. Undefined: they never do, or the store does not say. */
  readonly sealed?: boolean | undefined;
  get(key: string): Promise<StoredRecord | undefined>;
  /** The new version, or undefined if `ifVersion` or `lease` no longer hold. */
  put(key: string, value: unknown, options?: PutOptions): Promise<number | undefined>;
  /** True if a record was deleted. */
  delete(key: string, options?: { ifVersion?: number | undefined }): Promise<boolean>;
  /** Keys that begin with `prefix`, in order. */
  list(prefix: string): Promise<string[]>;
  /** The lease if nobody holds it. It ends by itself after `ttlMs`: whoever dies with it does not block the others. */
  lease(name: string, options: { ttlMs: number }): Promise<Lease | undefined>;
  /**
   * Tells of records under `prefix` that were written or deleted, by this process or another, sooner or later and at
   * least once per burst. Returns what stops it. Does not keep the process alive.
   */
  watch(prefix: string, listener: (key: string) => void): () => void;
  close(): Promise<void>;
}
