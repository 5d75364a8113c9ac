/** Records in the store that one process works on, while the others wait: a lease that is renewed, and compare-and-set. */
import { sleep, unrefTimer } from "../../util/timers.js";

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
export interface FoundHeld<Held extends LeasedRecord> {
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
  read(key: string): Promise<FoundHeld<Held> | undefined>;
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
  { record, version }: FoundHeld<Held>,
  reload: () => Promise<FoundHeld<Held> | undefined>,
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
  readonly #access: RecordAccess<Held>;
  #found: FoundHeld<Held>;
  #timer: ReturnType<typeof setInterval> | undefined;
  #renewing: Promise<void> = Promise.resolve();
  /** The store failed during a renewal, which it may have written. */
  #isVersionUnsure = false;

  constructor(access: RecordAccess<Held>, found: FoundHeld<Held>) {
    this.#access = access;
    this.#found = found;
    this.#timer = unrefTimer(setInterval(() => this.#renew(), RENEW_MS));
  }

  get key(): string {
    return this.#found.key;
  }

  get record(): Held {
    return this.#found.record;
  }

  /** False if another process has taken over. */
  async replace(record: Held): Promise<boolean> {
    await this.#release();
    const next = { ...record, leaseUntil: undefined, holder: undefined };
    return (await this.#access.put(this.key, next, this.#found.version)) !== undefined;
  }

  async delete(): Promise<boolean> {
    await this.#release();
    return this.#access.delete(this.key, this.#found.version);
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
    const found = await this.#access.read(this.key);
    this.#isVersionUnsure = false;
    if (found?.record.holder === this.record.holder)
      this.#found = { ...this.#found, version: found!.version };
  }

  #renew(): void {
    const { key } = this;
    this.#renewing = this.#renewing
      .then(async () => {
        if (this.#timer === undefined) return;
        if (this.#isVersionUnsure) await this.#findVersion();
        const record = withLease(this.record);
        const version = await this.#access.put(key, record, this.#found.version);
        if (version !== undefined) this.#found = { key, version, record };
        else clearInterval(this.#timer);
      })
      // The next renewal, or the end of the call, shows whether the store is back.
      .catch(() => {
        this.#isVersionUnsure = true;
      });
  }
}
