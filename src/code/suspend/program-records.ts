/**
 * Suspended programs in the store, sealed, for one user. A record is changed by compare-and-set only, so that one process continues a
 * program and all others notice it.
 */
import { StateError } from "../../errors/toolport-error.js";
import type { PortState } from "../../port/port-access.js";
import {
  type FoundHeld,
  HeldRecord,
  type RecordAccess,
  withLease,
} from "../../port/suspensions/held-record.js";
import { createToken } from "../../port/suspensions/suspension-records.js";
import { userPrefix } from "../../state/server-keys.js";
import type { StoredRecord } from "../../state/store.js";
import { sha256 } from "../../util/text.js";
import {
  isProgramPointer,
  isProgramRecord,
  type ProgramPointer,
  type ProgramRecord,
} from "./program-record.js";

const PREFIX = "tpp1.";
const TOKEN = /^tpp1\.[\w-]{43}$/;

/** A new token of a program: 256 random bits. */
export const createProgramToken = (): string => createToken(PREFIX);

export class ProgramRecords {
  readonly #state: Pick<PortState, "store" | "principal">;
  readonly #prefix: string;

  constructor(state: Pick<PortState, "store" | "principal">) {
    this.#state = state;
    this.#prefix = userPrefix("programs", state.principal);
  }

  /** Undefined for a token that is wrong, used, expired or of another user. */
  async find(token: unknown): Promise<FoundHeld<ProgramRecord> | undefined> {
    if (typeof token !== "string" || !TOKEN.test(token)) return undefined;
    const found = await this.#read(await this.#keyOf(token));
    return found?.record.token === token && found.record.expiresAt > Date.now() ? found : undefined;
  }

  /** The programs that wait for a person. Records that were changed in the store are left out: `find` reports them. */
  async waiting(): Promise<ProgramRecord[]> {
    const keys = await this.#state.store.list(this.#prefix);
    const found = await Promise.all(
      keys
        .filter((key) => !key.startsWith(`${this.#prefix}key-`))
        .map((key) => this.#read(key).catch(() => undefined)),
    );
    return found.flatMap((each) =>
      each?.record.state === "waiting" && each.record.expiresAt > Date.now() ? [each.record] : [],
    );
  }

  /** Marks a program as running; undefined if another process was faster. */
  async hold({
    key,
    version,
    record,
  }: FoundHeld<ProgramRecord>): Promise<HeldRecord<ProgramRecord> | undefined> {
    const holder = globalThis.crypto.randomUUID();
    const running = withLease<ProgramRecord>({ ...record, state: "running", holder });
    const marked = await this.#access.put(key, running, version);
    return marked === undefined
      ? undefined
      : new HeldRecord(this.#access, { key, version: marked, record: running });
  }

  /** Saves a waiting program under its token. */
  async save(record: ProgramRecord): Promise<void> {
    await this.#access.put(await this.#keyOf(record.token), record, 0);
  }

  /** @param key hash of the caller's key */
  async pointer(key: string): Promise<ProgramPointer | undefined> {
    const stored = await this.#state.store.get(`${this.#prefix}key-${key}`);
    if (stored === undefined) return undefined;
    this.#assertSealed(stored);
    if (!isProgramPointer(stored.value)) throw corrupt();
    return stored.value;
  }

  async point(key: string, pointer: ProgramPointer, ttlMs: number): Promise<void> {
    await this.#state.store.put(`${this.#prefix}key-${key}`, pointer, { secret: true, ttlMs });
  }

  async #keyOf(token: string): Promise<string> {
    return `${this.#prefix}${await sha256(token)}`;
  }

  async #read(key: string): Promise<FoundHeld<ProgramRecord> | undefined> {
    const stored = await this.#state.store.get(key);
    if (stored === undefined) return undefined;
    this.#assertSealed(stored);
    const { value, version } = stored;
    if (!isProgramRecord(value)) throw corrupt();
    return { key, version, record: value };
  }

  /** A record that was not sealed with the store's key was written by something else: its image may be another program. */
  #assertSealed({ sealed }: StoredRecord): void {
    if (this.#state.store.sealed === true && !sealed) throw corrupt();
  }

  readonly #access: RecordAccess<ProgramRecord> = {
    read: (key) => this.#read(key),
    put: (key, record, ifVersion) => {
      const ttlMs = Math.max(1, record.expiresAt - Date.now());
      return this.#state.store.put(key, record, { ifVersion, ttlMs, secret: true });
    },
    delete: (key, ifVersion) => this.#state.store.delete(key, { ifVersion }),
  };
}

const corrupt = (): StateError =>
  new StateError({
    code: "CORRUPT",
    what: "A suspended program in the store was changed by something other than Toolport",
    next: "Run the program again, and find out who writes to the store",
    outcome: "unsent",
  });
