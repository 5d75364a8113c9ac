/**
 * Suspended calls in the store. A record is changed by compare-and-set only, so that one process sends a round and all
 * others notice it.
 */
import { StateError } from "../../errors/toolport-error.js";
import { type Store, userPrefix } from "../../state/store.js";
import { sha256 } from "../../util/text.js";
import { type FoundHeld, type HeldRecord, TokenRecords } from "./held-record.js";
import {
  isPointer,
  isSuspensionRecord,
  type SavedOutcome,
  type SuspensionRecord,
  unknownOutcome,
} from "./suspension-record.js";

/** A record as it was read. */
export type FoundRecord = FoundHeld<SuspensionRecord>;

export class SuspensionRecords extends TokenRecords<SuspensionRecord> {
  constructor(store: Store, principal: string | undefined) {
    super(store, userPrefix("suspended", principal), {
      tokenPrefix: "tpc1.",
      isRecord: isSuspensionRecord,
      isPointer,
      corrupt,
    });
  }

  /** As long as the store has the record, the key is in use, whatever the clock of this process says. */
  async findByKey(key: string): Promise<FoundRecord | undefined> {
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
    { key, version, record }: FoundRecord,
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
  async discard(found: FoundRecord): Promise<boolean> {
    const { key, version, record } = found;
    if (this.isKeyed(found) && record.state === "waiting" && !record.isUncertain) {
      const held = await this.mark(found);
      if (held !== undefined) await this.end(held, { refused: true });
      return held !== undefined;
    }
    const isDeleted = await this.store.delete(key, { ifVersion: version });
    if (isDeleted && this.isKeyed(found) && record.token !== undefined)
      await this.store.delete(await this.keyOfToken(record.token));
    return isDeleted;
  }

  /** Deletes the saved outcome of a call with a key. A call that waits or is being sent stays. */
  async forget(key: string): Promise<void> {
    const found = await this.findByKey(key);
    if (found?.record.state === "done") await this.store.delete(found.key, { ifVersion: found.version });
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

const corrupt = (): StateError =>
  new StateError({
    code: "CORRUPT",
    what: "A suspended call in the store was changed by something other than Toolport",
    next: "Call the tool again, and find out who writes to the store",
    outcome: "unsent",
  });
