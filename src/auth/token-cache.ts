/** The tokens of one server and user: in the store for everybody, in memory for the next request. */
import type { Lease, Store } from "../state/store.js";
import { readTokenRecord, type TokenRecord } from "./token-record.js";

/** Tokens with the version they were read or written as. */
export interface HeldTokens {
  readonly record: TokenRecord;
  readonly version: number;
}

export interface TokenCacheOptions {
  readonly store: Store;
  readonly key: string;
  readonly serverUrl: URL;
  /** Tokens of another issuer count as none. */
  readonly issuer: string | undefined;
  readonly now: () => number;
  warn(message: string): void;
  /** Takes over tokens from where version 0.1 kept them; true if there were some. */
  migrate(): Promise<boolean>;
}

/** After this a copy in memory is compared with the store, in the background: another process may have logged out. */
const FRESH_MS = 10_000;

interface StoredSlot {
  /** 0: there is nothing. */
  readonly version: number;
  readonly held: HeldTokens | undefined;
}

export class TokenCache {
  readonly #parts: TokenCacheOptions;
  #held: HeldTokens | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  /** The store did not take what is in memory. */
  #isUnsaved = false;
  #hasWarned = false;
  #isRefreshing = false;
  #hasMigrated = false;
  /** Counts what this object has written or forgotten. */
  #changes = 0;

  constructor(parts: TokenCacheOptions) {
    this.#parts = parts;
  }

  /** The tokens of this moment. Only the first request waits for the store. */
  async current(): Promise<HeldTokens | undefined> {
    if (this.#held === undefined) return this.read();
    const isOld = this.#parts.now() - this.#readAt >= FRESH_MS;
    if (isOld || this.#isUnsaved) this.#refreshInBackground();
    return this.#held;
  }

  /** What the store has now. */
  async read(): Promise<HeldTokens | undefined> {
    if (this.#isUnsaved && this.#held !== undefined) return this.save(this.#held.record, this.#held.version);
    const before = this.#changes;
    const { held } = await this.#readSlot();
    this.#hasWarned = false;
    // What was written while we read is newer than what we read.
    return before === this.#changes ? this.#keep(held) : this.#held;
  }

  /** Nobody waits for it, and there is one at a time. */
  #refreshInBackground(): void {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    // Also if it fails: a store that is away is not asked with every request.
    this.#readAt = this.#parts.now();
    this.read()
      .catch(() => this.#warnOnce())
      .finally(() => {
        this.#isRefreshing = false;
      });
  }

  /** The version of whatever lies there, tokens of ours or not; 0: nothing. */
  async version(): Promise<number> {
    return (await this.#readSlot()).version;
  }

  /**
   * Saves tokens over the version they were made from. If somebody else was there first, theirs count: returns what
   * is there, or undefined if that is nothing.
   */
  async save(record: TokenRecord, over: number, lease?: Lease): Promise<HeldTokens | undefined> {
    const { store, key } = this.#parts;
    try {
      let version = await store.put(key, record, { ifVersion: over, secret: true, lease });
      // The lease is gone, but nobody has written since: these are still the newest.
      if (version === undefined && lease !== undefined)
        version = await store.put(key, record, { ifVersion: over, secret: true });
      this.#isUnsaved = false;
      if (version === undefined) return await this.read();
      this.#hasWarned = false;
      this.#changes++;
      return this.#keep({ record, version });
    } catch {
      // The old refresh token may be spent: what is in memory is all there is, until the store takes it.
      this.#isUnsaved = true;
      this.#changes++;
      this.#warnOnce();
      return this.#keep({ record, version: over });
    }
  }

  /** Deletes exactly these, never newer ones. */
  async forget({ version }: HeldTokens): Promise<void> {
    if (this.#held?.version === version) this.clear();
    await this.#parts.store.delete(this.#parts.key, { ifVersion: version });
  }

  /** Forgets the copy in memory. */
  clear(): void {
    this.#changes++;
    this.#keep(undefined);
    this.#isUnsaved = false;
    this.#readAt = Number.NEGATIVE_INFINITY;
  }

  async #readSlot(): Promise<StoredSlot> {
    const { store, key, serverUrl, issuer, migrate } = this.#parts;
    let found = await store.get(key);
    if (found === undefined && !this.#hasMigrated) {
      if (await migrate()) found = await store.get(key);
      this.#hasMigrated = true;
    }
    if (found === undefined) return { version: 0, held: undefined };
    // Whoever has no key must not be able to slip in tokens, or the address of a token endpoint.
    const record = found.sealed ? readTokenRecord(found.value, { serverUrl, issuer }) : undefined;
    return { version: found.version, held: record && { record, version: found.version } };
  }

  #keep(held: HeldTokens | undefined): HeldTokens | undefined {
    this.#held = held;
    this.#readAt = this.#parts.now();
    return held;
  }

  #warnOnce(): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#parts.warn("The store is in trouble: tokens are kept in memory only until it is back");
  }
}
