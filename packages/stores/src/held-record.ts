/** Records in the store that one process works on, while the others wait: a lease that is renewed, and compare-and-set. */
import { StateError, sha256, sleep, toBase64, unrefTimer } from "@toolport/base";
import type { Store, StoredRecord } from "./store.js";

/** How long a process may be silent before others assume that it is gone. */
const LEASE_MS = 10_000;
const RENEW_MS = 3_000;
const FIRST_POLL_MS = 25;
const LAST_POLL_MS = 500;

/** The fields of a record that say who works on it. */
export interface LeasedRecord {
  /** The process that holds the record: a random text. */
  readonly holder?: string | undefined;
  /** Epoch milliseconds. */
  readonly leaseUntil?: number | undefined;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** A record as it was read. */
export interface VersionedRecord<Held extends LeasedRecord> {
  readonly key: string;
  readonly version: number;
  readonly record: Held;
}

/** Work that a process holds does not expire, however short its life is: another process could do it a second time. */
export function withLease<Held extends LeasedRecord>(record: Held): Held {
  const leaseUntil = Date.now() + LEASE_MS;
  return { ...record, leaseUntil, expiresAt: Math.max(record.expiresAt, leaseUntil + LEASE_MS) };
}

/** How the records of one kind are read and written. */
export interface RecordAccess<Held extends LeasedRecord> {
  read(key: string): Promise<VersionedRecord<Held> | undefined>;
  put(key: string, record: Held, ifVersion: number): Promise<number | undefined>;
  delete(key: string, ifVersion: number): Promise<boolean>;
}

/**
 * Waits while another process works on the record. False if the record has changed; true if that process is gone: its lease is
 * over, or it was not renewed while this process watched, so that a wrong clock cannot cause an endless wait.
 *
 * @param reload reads the record again
 */
export async function isAbandoned<Held extends LeasedRecord>(
  { record, version }: VersionedRecord<Held>,
  reload: () => Promise<VersionedRecord<Held> | undefined>,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const patienceEnd = performance.now() + LEASE_MS;
  for (let waitMs = FIRST_POLL_MS; ; waitMs = Math.min(waitMs * 2, LAST_POLL_MS)) {
    const leaseMs = (record.leaseUntil ?? 0) - Date.now();
    const leftMs = Math.min(leaseMs, patienceEnd - performance.now());
    if (leftMs <= 0) return true;
    await sleep(Math.min(waitMs, leftMs + 1), signal);
    if ((await reload())?.version !== version) return false;
  }
}

/** A record that this process holds. Its lease is renewed until the record is written or deleted. */
export class HeldRecord<Held extends LeasedRecord = LeasedRecord> {
  #entry: VersionedRecord<Held>;
  #timer: ReturnType<typeof setInterval> | undefined;
  #renewing: Promise<void> = Promise.resolve();
  /** The store failed during a renewal, which it may have written. */
  #isVersionUnsure = false;

  constructor(
    readonly access: RecordAccess<Held>,
    entry: VersionedRecord<Held>,
  ) {
    this.#entry = entry;
    this.#timer = unrefTimer(setInterval(() => this.#renew(), RENEW_MS));
  }

  get key(): string {
    return this.#entry.key;
  }

  get record(): Held {
    return this.#entry.record;
  }

  /** False if another process has taken over. */
  async replace(record: Held): Promise<boolean> {
    await this.#release();
    const next = { ...record, leaseUntil: undefined, holder: undefined };
    return (await this.access.put(this.key, next, this.#entry.version)) !== undefined;
  }

  async delete(): Promise<boolean> {
    await this.#release();
    return this.access.delete(this.key, this.#entry.version);
  }

  /** Stops the renewals. Others notice when the lease is over. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #release(): Promise<void> {
    this.stop();
    await this.#renewing;
    if (this.#isVersionUnsure) await this.#findVersion();
  }

  async #findVersion(): Promise<void> {
    const current = await this.access.read(this.key);
    this.#isVersionUnsure = false;
    if (current?.record.holder === this.record.holder)
      this.#entry = { ...this.#entry, version: current!.version };
  }

  #renew(): void {
    const { key } = this;
    this.#renewing = this.#renewing
      .then(async () => {
        if (this.#timer === undefined) return;
        if (this.#isVersionUnsure) await this.#findVersion();
        const record = withLease(this.record);
        const version = await this.access.put(key, record, this.#entry.version);
        if (version !== undefined) this.#entry = { key, version, record };
        else clearInterval(this.#timer);
      })
      // The next renewal, or the end of the call, shows whether the store is back.
      .catch(() => {
        this.#isVersionUnsure = true;
      });
  }
}

/** A record that waits for a person, who continues it with its token. */
interface TokenRecord extends LeasedRecord {
  /** `waiting` for a person, or anything else. */
  readonly state: string;
  readonly token?: string | undefined;
}

/** What the records of one kind look like. */
interface RecordKind<Held extends TokenRecord> {
  /** The beginning of every token. */
  readonly tokenPrefix: string;
  isRecord(value: unknown): value is Held;
  /** The value leads from a token to the record under a key of the caller. Without it, there are no records under such keys. */
  isPointer?(value: unknown): value is { readonly pointsTo: string };
  /** What a record is, and what to do without it, for the error about a record that something other than Toolport has written. */
  readonly noun: string;
  readonly again: string;
}

/** The records of one kind and one user, sealed and found by their tokens. Those with a key of the caller are under that key. */
export class TokenRecords<Held extends TokenRecord> implements RecordAccess<Held> {
  constructor(
    readonly store: Store,
    readonly prefix: string,
    readonly kind: RecordKind<Held>,
  ) {}

  /** A new token: 256 random bits. */
  createToken(): string {
    const text = toBase64(globalThis.crypto.getRandomValues(new Uint8Array(32)));
    return `${this.kind.tokenPrefix}${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
  }

  /** Undefined for a token that is wrong, used, expired or of another user. */
  async find(token: unknown): Promise<VersionedRecord<Held> | undefined> {
    const { tokenPrefix } = this.kind;
    if (typeof token !== "string" || !token.startsWith(tokenPrefix)) return undefined;
    if (!/^[\w-]{43}$/.test(token.slice(tokenPrefix.length))) return undefined;
    const entry = await this.#read(await this.keyOfToken(token), "pointers");
    // A token of an earlier round is used.
    return entry?.record.token === token && isLive(entry) ? entry : undefined;
  }

  /**
   * The records that wait for a person.
   *
   * @param onFailure receives the error of a record that cannot be read, which need not hide the others. It may throw
   */
  async waiting(onFailure: (error: unknown) => void): Promise<Held[]> {
    const listed = await this.store.list(this.prefix);
    const keys = this.kind.isPointer === undefined ? listed.filter((key) => !this.isKeyed({ key })) : listed;
    const entries = await Promise.all(keys.map((key) => this.read(key).catch(onFailure)));
    return entries.flatMap((entry) =>
      entry?.record.state === "waiting" && isLive(entry) ? [entry.record] : [],
    );
  }

  /** Saves a record that this process works on from now on; undefined if another process was faster. */
  async hold(key: string, version: number, record: Held): Promise<HeldRecord<Held> | undefined> {
    const leased = withLease({ ...record, holder: globalThis.crypto.randomUUID() });
    const marked = await this.put(key, leased, version);
    return marked === undefined
      ? undefined
      : new HeldRecord<Held>(this, { key, version: marked, record: leased });
  }

  /** Undefined for a key without a record, or with one that points to another key. */
  read(key: string): Promise<VersionedRecord<Held> | undefined> {
    return this.#read(key, "direct");
  }

  put(key: string, record: Held, ifVersion: number): Promise<number | undefined> {
    const ttlMs = Math.max(1, record.expiresAt - Date.now());
    return this.store.put(key, record, { ifVersion, ttlMs, secret: true });
  }

  delete(key: string, ifVersion: number): Promise<boolean> {
    return this.store.delete(key, { ifVersion });
  }

  /** Throws for a record that was not sealed with the store's key: something other than Toolport has written it. */
  async get(key: string): Promise<StoredRecord | undefined> {
    const stored = await this.store.get(key);
    if (stored !== undefined && this.store.sealed === true && !stored.sealed) throw this.corrupt();
    return stored;
  }

  async keyOfToken(token: string): Promise<string> {
    return `${this.prefix}${await sha256(token)}`;
  }

  /** True for what is under a key of the caller. */
  isKeyed({ key }: { readonly key: string }): boolean {
    return key.startsWith(`${this.prefix}key-`);
  }

  corrupt(): StateError {
    const { noun, again } = this.kind;
    return new StateError({
      code: "CORRUPT",
      what: `A ${noun} in the store was changed by something other than Toolport`,
      next: `${again}, and find out who writes to the store`,
      outcome: "unsent",
    });
  }

  async #read(key: string, follow: "direct" | "pointers"): Promise<VersionedRecord<Held> | undefined> {
    const stored = await this.get(key);
    if (stored === undefined) return undefined;
    const { value, version } = stored;
    const { isPointer, isRecord } = this.kind;
    if (isPointer?.(value)) {
      if (!this.isKeyed({ key: value.pointsTo })) throw this.corrupt();
      return follow === "pointers" ? this.read(value.pointsTo) : undefined;
    }
    if (!isRecord(value)) throw this.corrupt();
    return { key, version, record: value };
  }
}

/** Clocks of processes differ, and stores delete expired records with a delay. */
const isLive = ({ record }: VersionedRecord<LeasedRecord>): boolean => record.expiresAt > Date.now();
