/** The interface of a database below `createStore`: texts by key, versions, leases. */
import type { DurabilityRisk } from "./store.js";

/** A stored text with its version. */
export interface BackendRecord {
  /** JSON text, exactly as it was written. May be encrypted; a backend never parses it. */
  text: string;
  /** Positive, grows with every write of the whole store, so that a recreated record never has an old version. */
  version: number;
  /** Remaining time to live, if the record was written with a `ttlMs`. */
  ttlLeftMs?: number | undefined;
}

/** The conditions of a write. */
export interface BackendPut {
  /** Write only over this version; `0`: only if there is no live record. */
  ifVersion?: number | undefined;
  /** After this time the record is invisible, as if it had been deleted. */
  ttlMs?: number | undefined;
  /** Resolve only when the record survives a power failure, as far as the database guarantees that. */
  durable: boolean;
  /** Write only if this is still the last fence granted for the lease: not if it was granted again, or its name is unknown. */
  lease?: { name: string; fence: number } | undefined;
}

/** The saved identity of the process that takes a lease, and whether a saved process has ended. */
export interface LeaseHolder {
  readonly id: string;
  /** False if it is not certain: two holders of one lease are worse than waiting for its expiry. */
  isGone(id: string): boolean;
}

/**
 * The raw store. Keys are non-empty, well-formed Unicode without NUL (`createStore` ensures this). A backend connects
 * at first use, throws only `StateError`s, and limits the time of every call; `createStore` adds JSON,
 * encryption and watchers, and rejects calls after `close()`.
 */
export interface StoreBackend {
  /** Why acknowledged writes may be lost. Omitted if they are on the disk. */
  durabilityRisk?(): Promise<DurabilityRisk | undefined>;
  get(key: string): Promise<BackendRecord | undefined>;
  /** The new version, or undefined if a condition was not met. Conditions and write are one atomic step. */
  put(key: string, text: string, options: BackendPut): Promise<number | undefined>;
  /** True if a live record was deleted. */
  delete(key: string, options: { ifVersion?: number | undefined }): Promise<boolean>;
  /** Keys of live records that begin with `prefix` (which may be empty), in the order of their UTF-8 bytes. */
  list(prefix: string): Promise<string[]>;
  /**
   * Grants the lease if it is free, expired, or its holder is known to be dead. Returns a fence greater than
   * every earlier one of this name: the last fence has to survive expiry and release.
   */
  acquireLease(name: string, ttlMs: number): Promise<number | undefined>;
  /** Lets the lease run `ttlMs` from now if `fence` is still the last one granted, even if its time was over. 0 ends it. */
  renewLease(name: string, fence: number, ttlMs: number): Promise<boolean>;
  /**
   * Starts reporting keys that others (another handle, another process) wrote or deleted; own writes may be reported too.
   * Returns a function that stops it. Called at most once at a time. Must not keep the process alive, and never throws: it
   * retries after errors.
   */
  watch(onChange: (key: string) => void): () => void;
  /** Called once, when no other call is under way. */
  close(): Promise<void>;
}

/** The methods that read and write records and leases. */
export type RecordMethods = Omit<StoreBackend, "durabilityRisk" | "watch" | "close">;

/** Compares two keys as a database compares their bytes. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Surrogates encode the highest code points, although their values are below U+E000 to U+FFFF. */
const rank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

/** The least key above all that begin with `prefix`, or undefined if there is none. */
export function keyAfterPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (char) => char.codePointAt(0)!);
  while (points.at(-1) === 0x10ffff) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  // A lone surrogate is not a character.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}
