/**
 * Suspended calls, and calls with a key, in the store: the saved form, and the errors of those that cannot be suspended or resumed. A
 * record is changed by compare-and-set only, so that one process sends a round and all others notice it.
 */
import { CatalogError, isRecord, SuspensionError, sha256, ToolCallError } from "@toolport/base";
import {
  type HeldRecord,
  type LeasedRecord,
  type Store,
  TokenRecords,
  userPrefix,
  type VersionedRecord,
} from "@toolport/stores";
import type { Pause, SuspendReason } from "../../execution/suspend/call-suspension.js";
import type { Suspended } from "../../execution/suspend/suspension.js";
import type { TaskRecord } from "../../execution/tasks/task-record.js";
import type { AnyCallOptions } from "../../execution/tool-call.js";
import type { ToolResult } from "../../execution/tool-result.js";

type Arguments = Readonly<Record<string, unknown>>;

/** Options of the first call that later rounds need too. */
export type SavedCallOptions = Pick<
  AnyCallOptions,
  "timeoutMs" | "idempotent" | "headers" | "meta" | "applyDefaults" | "checkArguments" | "added"
>;

/** How a call with a key ended: with a result, with an error of the server, or without being sent. */
type SavedOutcome =
  | { readonly result: ToolResult }
  | { readonly error: Pick<ToolCallError, "code" | "what" | "rpcCode"> }
  | { readonly refused: true };

export interface SuspensionRecord extends LeasedRecord {
  readonly format: 1;
  /**
   * `waiting` for a person; `sending`: a process sends the call until `leaseUntil`; `unknown`: the call was sent and its outcome
   * was lost; `done`: the saved outcome of a call with a key.
   */
  readonly state: "waiting" | "sending" | "unknown" | "done";
  /** The token of this round. */
  readonly token?: string | undefined;
  readonly principal: string | null;
  readonly server: string;
  /** Identity of the server: a name and an address or command. */
  readonly identity: string;
  /** Public name of the tool. */
  readonly tool: string;
  /** Name of the tool on its server; undefined if the server has not listed it yet. */
  readonly sourceName?: string | undefined;
  /** Hash of the tool's definition; undefined if the server has not listed it yet. */
  readonly definition?: string | undefined;
  /** The arguments as the caller gave them. */
  readonly given: Arguments;
  readonly options: SavedCallOptions;
  readonly ttlMs: number;
  /** What the call may wait for; undefined: anything. */
  readonly reasons?: readonly SuspendReason[] | undefined;
  readonly createdAt: number;
  /** What the call waits for; undefined for a call with a key that is sent for the first time. */
  readonly pause?: Pause | undefined;
  /** The task at the server that waits for input. */
  readonly task?: TaskRecord | undefined;
  /** The arguments that a person has approved. */
  readonly approved?: Arguments | undefined;
  /** The server no longer accepts its state. */
  readonly isExpiredAtServer?: boolean | undefined;
  /** The call was sent before and its outcome was lost: a later round that is not sent does not change that. */
  readonly isUncertain?: boolean | undefined;
  /** The outcome of a call with a key. */
  readonly outcome?: SavedOutcome | undefined;
  /** Why the outcome was lost. */
  readonly failure?: string | undefined;
}

/** Points from a token to the record of a call with a key. */
interface SuspensionPointer {
  readonly format: 1;
  readonly pointsTo: string;
}

const isPointer = (value: unknown): value is SuspensionPointer =>
  isRecord(value) && value["format"] === 1 && typeof value["pointsTo"] === "string";

const isSuspensionRecord = (value: unknown): value is SuspensionRecord =>
  isRecord(value) &&
  value["format"] === 1 &&
  typeof value["state"] === "string" &&
  typeof value["tool"] === "string" &&
  typeof value["server"] === "string" &&
  isRecord(value["given"]);

/** Names for errors: those of the server and of the tool on it. */
export const namesOf = ({ server, sourceName, tool }: SuspensionRecord) => ({
  server,
  tool: sourceName ?? tool,
});

/** What the caller gets. */
export function toSuspended(record: SuspensionRecord): Suspended {
  const { token, server, tool, given, options, expiresAt, pause } = record;
  const common = {
    suspended: true as const,
    token: token!,
    server,
    tool,
    expiresAt: new Date(expiresAt).toISOString(),
  };
  switch (pause?.reason) {
    case "input": {
      const { requests, round } = pause.input;
      return { ...common, reason: "input", requests, args: pause.args, round };
    }
    case "approval":
      return { ...common, reason: "approval", requests: {}, args: pause.args, round: 0 };
    default: {
      const authUrl = pause?.authUrl;
      const requests = authUrl === undefined ? {} : { authUrl };
      return { ...common, reason: "login", requests, args: { ...given, ...options.added }, round: 0 };
    }
  }
}

const PROBLEMS = {
  /** The same for wrong, used, expired and foreign tokens, so that it tells nothing about them. */
  unknownToken: {
    code: "SUSPENSION_UNKNOWN",
    what: "No suspended call with this token waits for this principal",
    next: "It may be used, expired or of another principal; suspended() lists what waits",
  },
  /** For a call that may only be found, not begun. */
  unknownKey: {
    code: "SUSPENSION_UNKNOWN",
    what: "No call with this key was made by this principal, or it has expired",
    next: "Call the tool again",
  },
  movedServer: {
    code: "SUSPENSION_MOVED",
    what: "The server of the suspended call is not configured here, or its address or command has changed",
    next: "Resume with the configuration that the call was made with, or discard it and call again",
  },
  expiredAtServer: {
    code: "SUSPENSION_EXPIRED",
    what: "The server no longer accepts the state of the call",
    next: "Resume with { restart: true } to begin the call anew",
    at: "server",
  },
  reusedKey: {
    code: "KEY_REUSED",
    what: "The key was already used for another server, tool or other arguments",
    next: "Use one key for one call only",
  },
  notApproved: {
    code: "REFUSED",
    what: "The call was not approved, or it was discarded",
    next: "Make a new call if it is still needed",
  },
  declinedPages: {
    code: "REFUSED",
    what: "The server demands that the user opens a web page first, and the user declined",
    next: "Call again if the user changes their mind",
  },
} as const;

/** The error for a call that is not suspended or resumed. Nothing was sent. */
export function suspensionError(
  problem: keyof typeof PROBLEMS,
  record?: SuspensionRecord | { readonly tool: string },
  cause?: unknown,
): SuspensionError | ToolCallError {
  const names = record && ("server" in record ? namesOf(record) : record);
  const init = { ...names, ...PROBLEMS[problem], outcome: "unsent", cause } as const;
  return init.code === "REFUSED" ? new ToolCallError(init) : new SuspensionError(init);
}

export const changedTool = (record: SuspensionRecord): CatalogError =>
  new CatalogError({
    ...namesOf(record),
    code: "TOOL_CHANGED",
    what: "The definition of the tool has changed since the call was suspended",
    next: "Review the new definition, discard this call and call the tool again",
    outcome: "unsent",
  });

export const unknownOutcome = (record: SuspensionRecord): SuspensionError =>
  new SuspensionError({
    ...namesOf(record),
    code: "OUTCOME_UNKNOWN",
    what: `The call was sent, and its result was lost${record.failure === undefined ? "" : ` (${record.failure})`}, so the tool may have run`,
    next: "Find out whether it did; if it may run again, resume with { again: true } or call with idempotent: true",
  });

export const notOffered = (what: string, next: string): SuspensionError =>
  new SuspensionError({ code: "NOT_OFFERED", what, next, outcome: "unsent" });

/** The error with which the server answered the call before. */
export const savedError = (
  record: SuspensionRecord,
  error: Pick<ToolCallError, "code" | "what" | "rpcCode">,
): ToolCallError =>
  new ToolCallError({
    ...namesOf(record),
    ...error,
    next: "The call with this key has ended; use another key to call the tool again",
  });

/** A record as it was read. */
export type SuspensionEntry = VersionedRecord<SuspensionRecord>;

export class SuspensionRecords extends TokenRecords<SuspensionRecord> {
  constructor(store: Store, principal: string | undefined) {
    super(store, userPrefix("suspended", principal), {
      tokenPrefix: "tpc1.",
      isRecord: isSuspensionRecord,
      isPointer,
      noun: "suspended call",
      again: "Call the tool again",
    });
  }

  /** As long as the store has the record, the key is in use, whatever the clock of this process says. */
  async findByKey(key: string): Promise<SuspensionEntry | undefined> {
    return this.read(await this.#keyOfCall(key));
  }

  /** Marks the first send of a call with a key; undefined if the key exists. */
  async claim(key: string, record: SuspensionRecord): Promise<HeldRecord<SuspensionRecord> | undefined> {
    return this.#send(await this.#keyOfCall(key), 0, record);
  }

  /**
   * Marks a call as being sent; undefined if another process was faster. The mark is durable when this resolves.
   *
   * @param next replaces the record
   */
  mark(
    { key, version, record }: SuspensionEntry,
    next = record,
  ): Promise<HeldRecord<SuspensionRecord> | undefined> {
    const isUncertain = record.state === "waiting" ? undefined : true;
    return this.#send(key, version, { ...next, isUncertain });
  }

  #send(
    key: string,
    version: number,
    record: SuspensionRecord,
  ): Promise<HeldRecord<SuspensionRecord> | undefined> {
    return this.hold(key, version, { ...record, state: "sending", expiresAt: freshExpiry(record) });
  }

  /** Saves a waiting call of which nothing was sent; false if the key exists. */
  async create(record: SuspensionRecord, key: string | undefined): Promise<boolean> {
    if (key === undefined) {
      await this.suspend(record, undefined);
      return true;
    }
    const callKey = await this.#keyOfCall(key);
    const tokenKey = await this.#point(record, callKey);
    if ((await this.put(callKey, record, 0)) !== undefined) return true;
    await this.store.delete(tokenKey);
    return false;
  }

  /** Makes the token of a call with a key find its record. Returns the key of the pointer. */
  async #point(record: SuspensionRecord, callKey: string): Promise<string> {
    const tokenKey = await this.keyOfToken(record.token!);
    const ttlMs = record.expiresAt - Date.now();
    await this.store.put(tokenKey, { format: 1, pointsTo: callKey }, { secret: true, ttlMs });
    return tokenKey;
  }

  /** Saves a waiting call under its token. `held`: the earlier round, or the mark of a call with a key. */
  async suspend(record: SuspensionRecord, held: HeldRecord<SuspensionRecord> | undefined): Promise<void> {
    if (held === undefined || !this.isKeyed(held)) {
      await this.put(await this.keyOfToken(record.token!), record, 0);
      await held?.delete();
      return;
    }
    await this.#point(record, held.key);
    const before = held.record.token;
    if (!(await held.replace(record))) throw unknownOutcome(record);
    if (before !== undefined && before !== record.token)
      await this.store.delete(await this.keyOfToken(before));
  }

  /** Ends a call: saves its outcome if it has a key, otherwise deletes it. */
  async end(held: HeldRecord<SuspensionRecord>, outcome: SavedOutcome): Promise<void> {
    if (!this.isKeyed(held)) return void (await held.delete());
    const { token } = held.record;
    const expiresAt = freshExpiry(held.record);
    const ended = { token: undefined, pause: undefined, outcome, expiresAt };
    await held.replace({ ...held.record, ...ended, state: "done" });
    if (token !== undefined) await this.store.delete(await this.keyOfToken(token));
  }

  /**
   * Gives up a call that was not changed since it was read. A waiting call with a key stays as refused, so that a repetition by
   * its engine does not begin it anew; after a lost outcome the key is free again.
   */
  async discard(entry: SuspensionEntry): Promise<boolean> {
    const { key, version, record } = entry;
    if (this.isKeyed(entry) && record.state === "waiting" && !record.isUncertain) {
      const held = await this.mark(entry);
      if (held !== undefined) await this.end(held, { refused: true });
      return held !== undefined;
    }
    const isDeleted = await this.store.delete(key, { ifVersion: version });
    if (isDeleted && this.isKeyed(entry) && record.token !== undefined)
      await this.store.delete(await this.keyOfToken(record.token));
    return isDeleted;
  }

  /** Deletes the saved outcome of a call with a key. A call that waits or is being sent stays. */
  async forget(key: string): Promise<void> {
    const entry = await this.findByKey(key);
    if (entry?.record.state === "done") await this.store.delete(entry.key, { ifVersion: entry.version });
  }

  /** Deletes all calls of a removed server, whatever their state. `identity` is the result of `serverIdentity`. */
  async forgetServer(identity: string): Promise<void> {
    const keys = await this.store.list(this.prefix);
    const records = await Promise.all(
      keys.map(async (key) => {
        // One that cannot be read does not say which server it belongs to.
        const record = await this.store.get(key).catch(() => undefined);
        return { key, value: record?.value };
      }),
    );
    const isOfServer = ({ value }: { value?: unknown }) =>
      isSuspensionRecord(value) && value.identity === identity;
    const calls = new Set(records.filter(isOfServer).map(({ key }) => key));
    const leadsThere = (value: unknown) => isPointer(value) && calls.has(value.pointsTo);
    for (const { key, value } of records)
      if (calls.has(key) || leadsThere(value)) await this.store.delete(key);
  }

  async #keyOfCall(key: string): Promise<string> {
    return `${this.prefix}key-${await sha256(key)}`;
  }
}

/** The mark of a call and its outcome last as long as its token did. */
const freshExpiry = ({ expiresAt, ttlMs }: SuspensionRecord): number =>
  Math.max(expiresAt, Date.now() + ttlMs);
