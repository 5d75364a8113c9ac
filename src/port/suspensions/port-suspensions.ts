/** The suspended calls of one port: suspends, resumes, lists and discards them, and sends every round at most once. */
import { canonicalJson } from "../../catalog/safety/canonical-json.js";
import { toToolportError } from "../../errors/to-toolport-error.js";
import type { CallSuspension } from "../../execution/suspend/call-suspension.js";
import type {
  ResumeInput,
  ResumeOptions,
  Suspended,
  SuspendedForApproval,
} from "../../execution/suspend/suspension.js";
import type { SuspendCallOptions } from "../../execution/tool-call.js";
import type { ToolResult } from "../../execution/tool-result.js";
import { serverIdentity } from "../../state/server-keys.js";
import type { DurabilityRisk, Store } from "../../state/store.js";
import type { SuspensionNews } from "../events.js";
import type { PortCore } from "../port-core.js";
import { CallRounds, definedOnly, throwUnsent } from "./call-rounds.js";
import {
  checkAnswers,
  checkApproval,
  checkKind,
  readSuspendOption,
  type SuspendWish,
  toJsonArguments,
} from "./check-answers.js";
import { isAbandoned } from "./held-record.js";
import {
  declinedPages,
  expiredAtServer,
  namesOf,
  notApproved,
  notOffered,
  reusedKey,
  type SuspensionRecord,
  savedError,
  toSuspended,
  unknownKey,
  unknownOutcome,
  unknownToken,
} from "./suspension-record.js";
import { type FoundRecord, SuspensionRecords } from "./suspension-records.js";

type Arguments = Readonly<Record<string, unknown>>;

/** Stores whose durability was checked. All users of a store share one warning. */
const checkedStores = new WeakSet<Store>();

export class PortSuspensions {
  readonly #port: PortCore;
  readonly #records: SuspensionRecords;
  readonly #rounds: CallRounds;

  constructor(port: PortCore) {
    this.#port = port;
    this.#records = new SuspensionRecords(port.parts.settings.store, port.principal?.name);
    this.#rounds = new CallRounds(port, this.#records, (record) => this.#emit("suspended", record));
  }

  /** Calls a tool. If the call has to wait for a person, saves it and returns its token. */
  async call(name: string, given: Arguments, options: SuspendCallOptions): Promise<ToolResult | Suspended> {
    const wish = readSuspendOption(options.suspend, { tool: name });
    const args = toJsonArguments(given, { tool: name });
    await this.#assertOffered(wish);
    if (wish.key !== undefined) {
      const known = await this.#known(wish.key, { name, args, options });
      if (known !== undefined) return known;
      if (wish.create === false) throw unknownKey(name);
    }
    const { record, entry, pause } = await this.#rounds.find(name, { args, options, wish });
    if (entry === undefined)
      return (
        (await this.#rounds.suspendUnsent(record, pause!, wish.key)) ??
        // Another process was faster.
        this.call(name, args, options)
      );
    if (wish.key === undefined) return this.#rounds.send(record, entry, { held: undefined, options });
    const held = await this.#records.claim(wish.key, record).catch(throwUnsent);
    return held === undefined
      ? this.call(name, args, options)
      : this.#rounds.send(record, entry, { held, options });
  }

  /** Asks `approve` about a call that is not sent. Undefined if no person has to decide, or if the call was made already. */
  async requestApproval(
    name: string,
    given: Arguments,
    options: SuspendCallOptions,
  ): Promise<SuspendedForApproval | undefined> {
    const wish = readSuspendOption(options.suspend, { tool: name });
    const args = toJsonArguments(given, { tool: name });
    await this.#assertOffered(wish);
    if (wish.key !== undefined) {
      const found = await this.#settledByKey(wish.key, options.signal);
      if (found !== undefined) {
        if (!this.#isSameCall(found, { name, args, options })) throw reusedKey(found);
        const waiting = found.state === "waiting" ? toSuspended(found) : undefined;
        return waiting?.reason === "approval" ? waiting : undefined;
      }
    }
    const { record, entry } = await this.#rounds.find(name, { args, options, wish });
    const pause = entry && (await this.#rounds.approvalPause(entry, args, options));
    if (pause === undefined) return undefined;
    const waiting = await this.#rounds.suspendUnsent(record, pause, wish.key);
    // Without it, another process was faster.
    return waiting === undefined
      ? this.requestApproval(name, args, options)
      : (waiting as SuspendedForApproval);
  }

  /** The record of an earlier call with the same key, when no process works on it any more. */
  async #settledByKey(key: string, signal: AbortSignal | undefined): Promise<SuspensionRecord | undefined> {
    for (;;) {
      const found = await this.#records.findByKey(key).catch(throwUnsent);
      if (found?.record.state !== "sending" || (await this.#isAbandoned(found, signal))) return found?.record;
    }
  }

  /** Continues a suspended call. */
  async resume(token: string, input: ResumeInput, options: ResumeOptions): Promise<ToolResult | Suspended> {
    for (;;) {
      const found = await this.#records.findByToken(token).catch(throwUnsent);
      if (found === undefined) throw unknownToken();
      if (found.record.state === "done") throw unknownToken();
      if (found.record.state === "sending" && !(await this.#isAbandoned(found, options.signal))) continue;
      const outcome = await this.#resume(found, input, options);
      if (outcome !== "lost") return outcome;
    }
  }

  async list(): Promise<Suspended[]> {
    const warn = (error: unknown) => this.#port.parts.warn(undefined, toToolportError(error).message);
    return (await this.#records.waiting(warn).catch(throwUnsent)).map(toSuspended);
  }

  async discard(token: string, { answeredBy }: Pick<ResumeInput, "answeredBy">): Promise<void> {
    const found = await this.#records.findByToken(token).catch(throwUnsent);
    const isBusy = found?.record.state === "sending" && (found.record.leaseUntil ?? 0) > Date.now();
    if (found === undefined || isBusy || found.record.state === "done") throw unknownToken();
    if (!(await this.#records.discard(found).catch(throwUnsent))) throw unknownToken();
    this.#emit("discarded", found.record, answeredBy);
  }

  /** Deletes the saved outcomes of calls with these keys. */
  async forget(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.#records.forget(key)));
  }

  /** The outcome of an earlier call with the same key; undefined if there is none. */
  async #known(
    key: string,
    { name, args, options }: { name: string; args: Arguments; options: SuspendCallOptions },
  ): Promise<ToolResult | Suspended | undefined> {
    for (;;) {
      const found = await this.#records.findByKey(key).catch(throwUnsent);
      if (found === undefined) return undefined;
      const { record } = found;
      if (!this.#isSameCall(record, { name, args, options })) throw reusedKey(record);
      if (record.state === "waiting") return toSuspended(record);
      if (record.outcome !== undefined) {
        const { outcome } = record;
        if ("refused" in outcome) throw notApproved(record);
        if ("error" in outcome) throw savedError(record, outcome.error);
        return outcome.result;
      }
      if (record.state === "sending" && !(await this.#isAbandoned(found, options.signal))) continue;
      if (!this.#mayRepeat(record, options.idempotent)) throw unknownOutcome(record);
      const call = await this.#rounds.find(name, {
        args,
        options,
        wish: { ...record, key, create: true, requireDurable: false },
      });
      const held = await this.#records.mark(found, call.record).catch(throwUnsent);
      if (held === undefined) continue;
      if (call.entry === undefined) return this.#rounds.suspend(call.record, call.pause!, held);
      return this.#rounds.send(call.record, call.entry, { held, options });
    }
  }

  #isSameCall(
    record: SuspensionRecord,
    { name, args, options }: { name: string; args: Arguments; options: SuspendCallOptions },
  ): boolean {
    const config = this.#port.pool.get(record.server)?.config;
    const isSameServer = config === undefined || serverIdentity(config) === record.identity;
    const sentBefore = canonicalJson([record.given, record.options.added ?? null]);
    return (
      isSameServer && record.tool === name && sentBefore === canonicalJson([args, options.added ?? null])
    );
  }

  /** Waits while another process sends the call. True if that process is gone. */
  #isAbandoned(found: FoundRecord, signal: AbortSignal | undefined): Promise<boolean> {
    const reload = () => {
      this.#port.assertOpen();
      return this.#records.reload(found).catch(throwUnsent);
    };
    return isAbandoned(found, reload, signal);
  }

  async #resume(
    found: FoundRecord,
    input: ResumeInput,
    options: ResumeOptions,
  ): Promise<ToolResult | Suspended | "lost"> {
    const { record } = found;
    const { pause } = record;
    if (pause === undefined) throw unknownToken();
    const where = namesOf(record);
    const callOptions: SuspendCallOptions = { ...record.options, ...definedOnly(options), suspend: true };
    if (record.state !== "waiting" && input.again !== true && !this.#mayRepeat(record, undefined))
      throw unknownOutcome(record);
    const isAnew = input.restart === true && pause.reason === "input";
    if (!isAnew) checkKind(pause.reason, input, where);
    if (record.isExpiredAtServer && !isAnew) throw expiredAtServer(record);
    if (pause.reason === "approval" && !checkApproval(input, where)) return this.#refuse(found, input);
    const answers =
      pause.reason === "input" && !isAnew ? checkAnswers(pause.input.requests, input.answers, where) : {};
    const entry = await this.#rounds.entryOf(record, callOptions);
    if (entry === undefined) return toSuspended(record);
    const held = await this.#records.mark(found).catch(throwUnsent);
    if (held === undefined) return "lost";
    if (pause.reason === "input" && !isAnew && pause.input.by === "repetition" && isDeclined(answers)) {
      await this.#records.end(held, { refused: true });
      throw declinedPages(record);
    }
    this.#emit("resumed", record, input.answeredBy);
    const approved = pause.reason === "approval" ? pause.args : record.approved;
    const next: SuspensionRecord = { ...record, approved, isExpiredAtServer: undefined };
    const suspension: CallSuspension = { isSent: false, approved, answeredBy: input.answeredBy };
    if (pause.reason !== "input" || isAnew)
      return this.#rounds.send(next, entry, { held, options: callOptions, suspension });
    const { round, by, requestState, responses } = pause.input;
    return this.#rounds.send(next, entry, {
      held,
      options: callOptions,
      suspension: {
        ...suspension,
        input: { round, by, requestState, inputResponses: { ...responses, ...answers }, args: pause.args },
      },
      task: record.task,
    });
  }

  async #refuse(found: FoundRecord, { answeredBy }: ResumeInput): Promise<never | "lost"> {
    const held = await this.#records.mark(found).catch(throwUnsent);
    if (held === undefined) return "lost";
    await this.#records.end(held, { refused: true }).catch(throwUnsent);
    this.#emit("discarded", found.record, answeredBy);
    throw notApproved(found.record);
  }

  /** The call may run twice: its caller says so, or a trusted server. */
  #mayRepeat({ server, tool, options }: SuspensionRecord, idempotent: boolean | undefined): boolean {
    if (options.idempotent === true || idempotent === true) return true;
    const { pool, catalog } = this.#port;
    const annotations = catalog.entry(tool)?.info.annotations;
    const isTrusted = pool.get(server)?.config.trustAnnotations === true;
    return isTrusted && (annotations?.readOnlyHint === true || annotations?.idempotentHint === true);
  }

  /** Throws `NOT_OFFERED` if the store cannot keep a suspended call safely. */
  async #assertOffered({ requireDurable }: SuspendWish): Promise<void> {
    const { store } = this.#port.parts.settings;
    if (store.sealed === false)
      throw notOffered(
        "Calls cannot be suspended, because the store does not encrypt what it saves",
        "Set the key of the store (TOOLPORT_STORE_KEY), or use memoryStore() for this process only",
      );
    if (checkedStores.has(store) && !requireDurable) return;
    const risk =
      store.durabilityRisk === undefined ? UNKNOWN_RISK : await store.durabilityRisk().catch(throwUnsent);
    if (risk === undefined) return void checkedStores.add(store);
    if (requireDurable) throw notOffered(`Calls cannot be suspended durably: ${risk.what}`, risk.next);
    if (checkedStores.has(store)) return;
    checkedStores.add(store);
    if (!risk.isExpected)
      this.#port.parts.warn(undefined, `Suspended calls may be lost: ${risk.what}. ${risk.next}.`);
  }

  #emit(phase: SuspensionNews["phase"], record: SuspensionRecord, answeredBy?: string): void {
    const { server, tool, pause } = record;
    this.#port.suspensionCounts[phase] += 1;
    const principal = this.#port.principal?.name;
    this.#port.parts.emitter.emit("suspension", {
      phase,
      server,
      tool,
      reason: pause?.reason ?? "login",
      ...(principal !== undefined && { principal }),
      ...(answeredBy !== undefined && { answeredBy }),
    });
  }
}

/** A store of the user without the method. */
const UNKNOWN_RISK: DurabilityRisk = {
  what: "the store does not say whether it keeps what it has acknowledged",
  next: "Add the method durabilityRisk() to the store",
  isExpected: true,
};

const isDeclined = (answers: Readonly<Record<string, Readonly<Record<string, unknown>>>>): boolean =>
  Object.values(answers).some(({ action }) => action !== "accept");
