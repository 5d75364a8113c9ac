/**
 * Suspended programs in the store, sealed, for one user. A record is changed by compare-and-set only, so that one process continues a
 * program and all others notice it.
 */
import { StateError } from "../../errors/toolport-error.js";
import type { Suspended } from "../../execution/suspend/suspension.js";
import type { SuspendOptions } from "../../execution/tool-call.js";
import type { PortState } from "../../port/port-access.js";
import {
  type FoundHeld,
  HeldRecord,
  type LeasedRecord,
  type RecordAccess,
  withLease,
} from "../../port/suspensions/held-record.js";
import { createToken } from "../../port/suspensions/suspension-records.js";
import { userPrefix } from "../../state/server-keys.js";
import type { StoredRecord } from "../../state/store.js";
import { isRecord } from "../../util/json.js";
import { sha256 } from "../../util/text.js";
import type { CodeCall, CodeSuspended } from "../code-mode.js";
import type { PendingCall, RunLimits } from "../run-program.js";

/** A tool of the program: its public name, and the hash of the definition that the program was written for. */
export interface SavedTool {
  readonly name: string;
  readonly hash: string;
}

export interface ProgramRecord extends LeasedRecord {
  readonly format: 1;
  /** `waiting` for a person, or `running` until `leaseUntil`. A process that dies leaves it running: the image can be continued again. */
  readonly state: "waiting" | "running";
  readonly token: string;
  /** What the person is asked, without the token of the call itself. */
  readonly waitsFor: Omit<Suspended, "token">;
  /** Random text, or the hash of the caller's key. The keys of all calls of the program begin with it. */
  readonly run: string;
  /** Hash of the caller's key, if there is one. */
  readonly key?: string | undefined;
  readonly source: string;
  /** The image, as base64. */
  readonly image: string;
  /** Version of the executor that made the image. */
  readonly executor: string;
  /** Tools by the names of server and function in the program. */
  readonly tools: Readonly<Record<string, Readonly<Record<string, SavedTool>>>>;
  /** The calls that have not been answered. The person is asked about the first one. */
  readonly pending: readonly PendingCall[];
  readonly calls: readonly CodeCall[];
  readonly logs: readonly string[];
  readonly limits: RunLimits;
  readonly cpuMs: number;
  /** Time that the program ran, sleep excluded. */
  readonly timeMs: number;
  readonly ttlMs: number;
  /** What the calls may wait for; undefined: anything. */
  readonly reasons?: SuspendOptions["reasons"];
}

/** What is known about a program with a key: the token of its record, or its outcome. */
interface ProgramPointer {
  readonly format: 1;
  readonly source: string;
  readonly token?: string | undefined;
  /** The outcome as JSON. */
  readonly outcome?: string | undefined;
}

const isProgramPointer = (value: unknown): value is ProgramPointer =>
  isRecord(value) && value["format"] === 1 && typeof value["source"] === "string" && !("image" in value);

const isProgramRecord = (value: unknown): value is ProgramRecord =>
  isRecord(value) &&
  value["format"] === 1 &&
  typeof value["image"] === "string" &&
  typeof value["token"] === "string" &&
  isRecord(value["tools"]) &&
  Array.isArray(value["pending"]);

/** What the caller gets. */
export const toSuspendedProgram = (record: ProgramRecord): CodeSuspended => {
  const { waitsFor, token, logs, calls, cpuMs } = record;
  const expiresAt = new Date(record.expiresAt).toISOString();
  return { ...waitsFor, token, logs, calls, cpuMs, expiresAt } as CodeSuspended;
};

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
    const entry = await this.#read(await this.#keyOf(token));
    return entry?.record.token === token && entry.record.expiresAt > Date.now() ? entry : undefined;
  }

  /** The programs that wait for a person. Records that were changed in the store are left out: `find` reports them. */
  async waiting(): Promise<ProgramRecord[]> {
    const keys = await this.#state.store.list(this.#prefix);
    const entries = await Promise.all(
      keys
        .filter((key) => !key.startsWith(`${this.#prefix}key-`))
        .map((key) => this.#read(key).catch(() => undefined)),
    );
    return entries.flatMap((each) =>
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
