/**
 * Suspended programs in the store, sealed, for one user. A record is changed by compare-and-set only, so that one process continues a
 * program and all others notice it.
 */
import { StateError } from "../../errors/toolport-error.js";
import type { Suspended } from "../../execution/suspend/suspension.js";
import type { SuspendCallOptions } from "../../execution/tool-call.js";
import {
  type FoundHeld,
  type HeldRecord,
  type LeasedRecord,
  TokenRecords,
} from "../../port/suspensions/held-record.js";
import { type Store, userPrefix } from "../../state/store.js";
import { isRecord } from "../../util/json.js";
import type { CodeCall, CodeSuspended } from "../code-mode.js";
import type { PendingCall, RunLimits } from "../run-program.js";

/** How the calls of a program are suspended. */
export type SuspendSettings = Exclude<SuspendCallOptions["suspend"], true>;

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
  readonly reasons?: SuspendSettings["reasons"];
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

export class ProgramRecords extends TokenRecords<ProgramRecord> {
  constructor({ store, principal }: { readonly store: Store; readonly principal: string | undefined }) {
    super(store, userPrefix("programs", principal), {
      tokenPrefix: "tpp1.",
      isRecord: isProgramRecord,
      corrupt,
    });
  }

  /** Marks a program as running; undefined if another process was faster. */
  run({ key, version, record }: FoundHeld<ProgramRecord>): Promise<HeldRecord<ProgramRecord> | undefined> {
    return this.hold(key, version, { ...record, state: "running" });
  }

  /** Saves a waiting program under its token. */
  async save(record: ProgramRecord): Promise<void> {
    await this.put(await this.keyOfToken(record.token), record, 0);
  }

  /** @param key hash of the caller's key */
  async pointer(key: string): Promise<ProgramPointer | undefined> {
    const value = (await this.get(this.#keyOf(key)))?.value;
    if (value !== undefined && !isProgramPointer(value)) throw corrupt();
    return value;
  }

  async point(key: string, pointer: ProgramPointer, ttlMs: number): Promise<void> {
    await this.store.put(this.#keyOf(key), pointer, { secret: true, ttlMs });
  }

  #keyOf(key: string): string {
    return `${this.prefix}key-${key}`;
  }
}

const corrupt = (): StateError =>
  new StateError({
    code: "CORRUPT",
    what: "A suspended program in the store was changed by something other than Toolport",
    next: "Run the program again, and find out who writes to the store",
    outcome: "unsent",
  });
