/** The suspended calls of one port: suspends, resumes, lists and discards them, and sends every round at most once. */

import {
  type AuthError,
  afterUnknown,
  asUnsent,
  canonicalJson,
  type Fields,
  StateError,
  ToolCallError,
  ToolportError,
  throwUnsent,
  toToolportError,
} from "@toolport/base";
import { type DurabilityRisk, type HeldRecord, isAbandoned, type Store } from "@toolport/stores";
import type { CatalogEntry } from "../../catalog/build-snapshot.js";
import { definitionHash } from "../../catalog/safety/canonical-json.js";
import { serverIdentity } from "../../config/server-keys.js";
import type { CallSuspension, Pause } from "../../execution/suspend/call-suspension.js";
import { loginPause } from "../../execution/suspend/paused-result.js";
import type {
  ResumeInput,
  ResumeOptions,
  Suspended,
  SuspendedForApproval,
} from "../../execution/suspend/suspension.js";
import type { TaskRecord } from "../../execution/tasks/task-record.js";
import type { SuspendCallOptions } from "../../execution/tool-call.js";
import type { ToolResult } from "../../execution/tool-result.js";
import { isRefusedState } from "../../protocol/input-rounds.js";
import type { SuspensionNews } from "../events.js";
import type { PortCore } from "../port-core.js";
import {
  checkAnswers,
  checkApproval,
  checkKind,
  readSuspendOption,
  type SuspendWish,
  toJsonArguments,
} from "./check-answers.js";
import {
  changedTool,
  namesOf,
  notOffered,
  type SavedCallOptions,
  type SuspensionEntry,
  type SuspensionRecord,
  SuspensionRecords,
  savedError,
  suspensionError,
  toSuspended,
  unknownOutcome,
} from "./suspension-records.js";

export interface SuspendableCall {
  readonly name: string;
  readonly args: Fields;
  readonly options: SuspendCallOptions;
}

/** How far a round has come. */
type Stage = "unsent" | "sending" | "begun";

/** Stores whose durability was checked. All users of a store share one warning. */
const checkedStores = new WeakSet<Store>();

export class PortSuspensions {
  readonly #records: SuspensionRecords;

  constructor(readonly port: PortCore) {
    this.#records = new SuspensionRecords(port.parts.settings.store, port.principal?.name);
  }

  /** Calls a tool. If the call has to wait for a person, saves it and returns its token. */
  async call(given: SuspendableCall): Promise<ToolResult | Suspended> {
    const { wish, call } = await this.#read(given);
    const { options } = call;
    if (wish.key !== undefined) {
      const known = await this.#known(wish.key, call);
      if (known !== undefined) return known;
      if (wish.create === false) throw suspensionError("unknownKey", { tool: call.name });
    }
    const { record, entry, pause } = await this.#find(call, wish);
    if (entry === undefined)
      return (
        (await this.#suspendUnsent(record, pause!, wish.key)) ??
        // Another process was faster.
        this.call(call)
      );
    if (wish.key === undefined) return this.#send(record, entry, { held: undefined, options });
    const held = await this.#records.claim(wish.key, record).catch(throwUnsent);
    return held === undefined ? this.call(call) : this.#send(record, entry, { held, options });
  }

  /** Asks `approve` about a call that is not sent. Undefined if no person has to decide, or if the call was made already. */
  async requestApproval(given: SuspendableCall): Promise<SuspendedForApproval | undefined> {
    const { wish, call } = await this.#read(given);
    if (wish.key !== undefined) {
      const earlier = await this.#earlier(wish.key, call);
      if (earlier !== undefined) {
        const waiting = earlier.record.state === "waiting" ? toSuspended(earlier.record) : undefined;
        return waiting?.reason === "approval" ? waiting : undefined;
      }
    }
    const { record, entry } = await this.#find(call, wish);
    const pause = entry && (await this.#approvalPause(entry, call));
    if (pause === undefined) return undefined;
    const waiting = await this.#suspendUnsent(record, pause, wish.key);
    // Without it, another process was faster.
    return waiting === undefined ? this.requestApproval(call) : (waiting as SuspendedForApproval);
  }

  async #read({
    name,
    args,
    options,
  }: SuspendableCall): Promise<{ wish: SuspendWish; call: SuspendableCall }> {
    const wish = readSuspendOption(options.suspend, { tool: name });
    const call = { name, args: toJsonArguments(args, { tool: name }), options };
    await this.#assertOffered(wish);
    return { wish, call };
  }

  /** The record of an earlier call with the same key, when no process works on it any more. */
  async #earlier(key: string, call: SuspendableCall): Promise<SuspensionEntry | undefined> {
    for (;;) {
      const entry = await this.#records.findByKey(key).catch(throwUnsent);
      if (entry === undefined) return undefined;
      if (!this.#isSameCall(entry.record, call)) throw suspensionError("reusedKey", entry.record);
      if (entry.record.state !== "sending" || (await this.#isAbandoned(entry, call.options.signal)))
        return entry;
    }
  }

  /** Continues a suspended call. */
  async resume(token: string, input: ResumeInput, options: ResumeOptions): Promise<ToolResult | Suspended> {
    for (;;) {
      const entry = await this.#records.find(token).catch(throwUnsent);
      if (entry === undefined || entry.record.state === "done") throw suspensionError("unknownToken");
      if (entry.record.state === "sending" && !(await this.#isAbandoned(entry, options.signal))) continue;
      const outcome = await this.#resume(entry, input, options);
      if (outcome !== "lost") return outcome;
    }
  }

  /** The calls that wait for a person, oldest first. */
  async list(): Promise<Suspended[]> {
    const onFailure = (error: unknown) => {
      // A record that was changed in the store does not hide the others.
      if (!(error instanceof StateError) || error.code !== "CORRUPT") throw error;
      this.port.parts.warn(undefined, error.message);
    };
    const waiting = await this.#records.waiting(onFailure).catch(throwUnsent);
    return waiting.sort((a, b) => a.createdAt - b.createdAt).map(toSuspended);
  }

  async discard(token: string, { answeredBy }: Pick<ResumeInput, "answeredBy">): Promise<void> {
    const entry = await this.#records.find(token).catch(throwUnsent);
    const isBusy = entry?.record.state === "sending" && (entry.record.leaseUntil ?? 0) > Date.now();
    if (entry === undefined || isBusy || entry.record.state === "done") throw suspensionError("unknownToken");
    if (!(await this.#records.discard(entry).catch(throwUnsent))) throw suspensionError("unknownToken");
    this.#emit("discarded", entry.record, answeredBy);
  }

  /** Deletes the saved outcomes of calls with these keys. */
  async forget(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.#records.forget(key)));
  }

  /** The outcome of an earlier call with the same key; undefined if there is none. */
  async #known(key: string, call: SuspendableCall): Promise<ToolResult | Suspended | undefined> {
    const { options } = call;
    for (;;) {
      const earlier = await this.#earlier(key, call);
      if (earlier === undefined) return undefined;
      const { record } = earlier;
      if (record.state === "waiting") return toSuspended(record);
      if (record.outcome !== undefined) {
        const { outcome } = record;
        if ("refused" in outcome) throw suspensionError("notApproved", record);
        if ("error" in outcome) throw savedError(record, outcome.error);
        return outcome.result;
      }
      if (!this.#mayRepeat(record, options.idempotent)) throw unknownOutcome(record);
      const again = await this.#find(call, { ...record, key, create: true, requireDurable: false });
      const held = await this.#records.mark(earlier, again.record).catch(throwUnsent);
      if (held === undefined) continue;
      if (again.entry === undefined) return this.#suspend(again.record, again.pause!, held);
      return this.#send(again.record, again.entry, { held, options });
    }
  }

  #isSameCall(record: SuspensionRecord, { name, args, options }: SuspendableCall): boolean {
    const config = this.port.pool.get(record.server)?.config;
    const isSameServer = config === undefined || serverIdentity(config) === record.identity;
    const sentBefore = canonicalJson([record.given, record.options.added ?? null]);
    return (
      isSameServer && record.tool === name && sentBefore === canonicalJson([args, options.added ?? null])
    );
  }

  /** Waits while another process sends the call. True if that process is gone. */
  #isAbandoned(entry: SuspensionEntry, signal: AbortSignal | undefined): Promise<boolean> {
    const reload = () => {
      this.port.assertOpen();
      return this.#records.read(entry.key).catch(throwUnsent);
    };
    return isAbandoned(entry, reload, signal);
  }

  async #resume(
    waiting: SuspensionEntry,
    input: ResumeInput,
    options: ResumeOptions,
  ): Promise<ToolResult | Suspended | "lost"> {
    const { record } = waiting;
    const { pause } = record;
    if (pause === undefined) throw suspensionError("unknownToken");
    const where = namesOf(record);
    const callOptions: SuspendCallOptions = { ...record.options, ...definedOnly(options), suspend: true };
    if (record.state !== "waiting" && input.again !== true && !this.#mayRepeat(record, undefined))
      throw unknownOutcome(record);
    const isAnew = input.restart === true && pause.reason === "input";
    if (!isAnew) checkKind(pause.reason, input, where);
    if (record.isExpiredAtServer && !isAnew) throw suspensionError("expiredAtServer", record);
    if (pause.reason === "approval" && !checkApproval(input, where)) return this.#refuse(waiting, input);
    const answers =
      pause.reason === "input" && !isAnew ? checkAnswers(pause.input.requests, input.answers, where) : {};
    const entry = await this.#entryOf(record, callOptions);
    if (entry === undefined) return toSuspended(record);
    const held = await this.#records.mark(waiting).catch(throwUnsent);
    if (held === undefined) return "lost";
    if (pause.reason === "input" && !isAnew && pause.input.by === "repetition" && isDeclined(answers)) {
      await this.#records.end(held, { refused: true });
      throw suspensionError("declinedPages", record);
    }
    this.#emit("resumed", record, input.answeredBy);
    const approved = pause.reason === "approval" ? pause.args : record.approved;
    const next: SuspensionRecord = { ...record, approved, isExpiredAtServer: undefined };
    const suspension: CallSuspension = { approved, answeredBy: input.answeredBy };
    if (pause.reason !== "input" || isAnew)
      return this.#send(next, entry, { held, options: callOptions, suspension });
    const { round, by, requestState, responses } = pause.input;
    return this.#send(next, entry, {
      held,
      options: callOptions,
      suspension: {
        ...suspension,
        input: { round, by, requestState, inputResponses: { ...responses, ...answers }, args: pause.args },
      },
      task: record.task,
    });
  }

  async #refuse(entry: SuspensionEntry, { answeredBy }: ResumeInput): Promise<never | "lost"> {
    const held = await this.#records.mark(entry).catch(throwUnsent);
    if (held === undefined) return "lost";
    await this.#records.end(held, { refused: true }).catch(throwUnsent);
    this.#emit("discarded", entry.record, answeredBy);
    throw suspensionError("notApproved", entry.record);
  }

  /** Finds the tool of a new call. Without an entry, the user has to log in first (`pause`). */
  async #find(
    { name, args, options }: SuspendableCall,
    wish: SuspendWish,
  ): Promise<{ record: SuspensionRecord; entry?: CatalogEntry | undefined; pause?: Pause | undefined }> {
    const { catalog, pool } = this.port;
    let entry: CatalogEntry | undefined;
    let pause: Pause | undefined;
    let server: string;
    try {
      entry = catalog.entry(name) ?? (await this.port.findTool(name, options));
      server = entry.info.server;
    } catch (error) {
      pause = loginPause({ suspension: { reasons: wish.reasons } }, asUnsent(error));
      if (pause === undefined) throw asUnsent(error);
      server = (error as AuthError).server!;
    }
    const now = Date.now();
    const record: SuspensionRecord = {
      format: 1,
      state: "sending",
      principal: this.port.principal?.name ?? null,
      server,
      identity: serverIdentity(pool.require(server).config),
      tool: name,
      sourceName: entry?.info.sourceName,
      definition: entry && (await definitionHash(entry.source.raw)),
      given: args,
      options: savedOptions(options),
      ttlMs: wish.ttlMs,
      ...(wish.reasons !== undefined && { reasons: wish.reasons }),
      createdAt: now,
      expiresAt: now + wish.ttlMs,
    };
    return { record, entry, pause };
  }

  /** The tool of a suspended call, on its own server; undefined if the user still has to log in. Throws before anything is sent. */
  async #entryOf(record: SuspensionRecord, options: SuspendCallOptions): Promise<CatalogEntry | undefined> {
    const { pool, catalog, parts } = this.port;
    const { pause } = record;
    const connection = pool.get(record.server);
    if (connection === undefined || serverIdentity(connection.config) !== record.identity)
      throw suspensionError("movedServer", record);
    const wait = { signal: options.signal, timeoutMs: options.timeoutMs ?? parts.settings.timeoutMs };
    try {
      await this.port.ensureLists([connection], wait);
      if (connection.current.session === undefined) await connection.current.acquire(wait);
      const entry =
        pause?.reason === "input"
          ? catalog.find(record.server, pause.sourceName)
          : await this.port.findTool(record.tool, wait);
      if (entry === undefined || entry.info.server !== record.server) throw changedTool(record);
      if (record.definition !== undefined && (await definitionHash(entry.source.raw)) !== record.definition)
        throw changedTool(record);
      return entry;
    } catch (error) {
      if (pause?.reason === "login" && loginPause({ suspension: {} }, asUnsent(error)) !== undefined)
        return undefined;
      throw asUnsent(error);
    }
  }

  /** Asks `approve` without sending the call. Undefined if no person has to decide. */
  async #approvalPause(entry: CatalogEntry, { args, options }: SuspendableCall): Promise<Pause | undefined> {
    if (this.port.parts.settings.approve === undefined) return undefined;
    const suspension: CallSuspension = { isApprovalOnly: true };
    // The call itself will report invalid arguments and refusals.
    const answer = await this.port.run(entry, args, options, { suspension }).catch(() => undefined);
    return answer?.pause;
  }

  /** Runs one round of a call and saves its outcome. */
  async #send(
    record: SuspensionRecord,
    entry: CatalogEntry,
    {
      held,
      options,
      suspension: given,
      task,
    }: {
      held: HeldRecord<SuspensionRecord> | undefined;
      options: SuspendCallOptions;
      suspension?: CallSuspension;
      task?: TaskRecord | undefined;
    },
  ): Promise<ToolResult | Suspended> {
    let stage: Stage = "unsent";
    const suspension: CallSuspension = {
      ...given,
      reasons: record.reasons,
      onStage(next) {
        if (stage !== "begun") stage = next;
      },
    };
    try {
      const run = this.port.run(entry, record.given, options, { suspension, task });
      const { result, pause } = await run.catch(async (error: unknown) => {
        throw await this.#failed(error, { record, held, stage });
      });
      if (pause !== undefined) return await this.#suspend(record, pause, held);
      const { artifacts: _, ...saved } = result;
      if (held !== undefined)
        // The result must not be lost because the store fails now.
        await this.#records.end(held, { result: saved }).catch((error) => this.#warn(record, error));
      return result;
    } finally {
      held?.stop();
    }
  }

  /** Returns the error to throw. A call that was not sent can be resumed with the same token. */
  async #failed(
    error: unknown,
    {
      record,
      held,
      stage,
    }: {
      record: SuspensionRecord;
      held: HeldRecord<SuspensionRecord> | undefined;
      stage: Stage;
    },
  ): Promise<unknown> {
    if (held === undefined) return stage === "begun" ? afterUnknown(error) : error;
    const isUnsent =
      stage === "unsent" ||
      (stage === "sending" && ToolportError.isInstance(error) && error.outcome === "unsent");
    const warn = (failure: unknown) => this.#warn(record, failure);
    const { isUncertain } = held.record;
    // An outcome that was lost before stays lost.
    const state = isUncertain ? "unknown" : "waiting";
    const { expiresAt } = record;
    if (isUnsent && isRefusedState(error)) {
      await held.replace({ ...held.record, state, expiresAt, isExpiredAtServer: true }).catch(warn);
      return suspensionError("expiredAtServer", record, error);
    }
    if (isUnsent && held.record.pause === undefined && !isUncertain) await held.delete().catch(warn);
    else if (isUnsent) await held.replace({ ...held.record, state, expiresAt }).catch(warn);
    else if (isAnswered(error)) {
      const { code, what, rpcCode } = error;
      await this.#records.end(held, { error: { code, what, rpcCode } }).catch(warn);
    } else {
      const failure = ToolportError.isInstance(error) ? error.code : "ABORTED";
      await held.replace({ ...held.record, state: "unknown", failure }).catch(warn);
    }
    return isUnsent ? asUnsent(error) : afterUnknown(error);
  }

  /** Saves a call of which nothing was sent. Undefined if another process uses its key. */
  async #suspendUnsent(
    record: SuspensionRecord,
    pause: Pause,
    key: string | undefined,
  ): Promise<Suspended | undefined> {
    const expiresAt = Date.now() + record.ttlMs;
    const next: SuspensionRecord = {
      ...record,
      state: "waiting",
      token: this.#records.createToken(),
      expiresAt,
      pause,
    };
    if (!(await this.#records.create(next, key).catch(throwUnsent))) return undefined;
    this.#emit("suspended", next);
    return toSuspended(next);
  }

  async #suspend(
    record: SuspensionRecord,
    pause: Pause,
    held: HeldRecord<SuspensionRecord> | undefined,
  ): Promise<Suspended> {
    const isSameLogin = pause.reason === "login" && record.pause?.reason === "login";
    const now = Date.now();
    const next: SuspensionRecord = {
      ...record,
      ...(pause.reason === "input" && (await this.#asker(record, pause))),
      state: "waiting",
      token: isSameLogin ? record.token : this.#records.createToken(),
      expiresAt: isSameLogin ? record.expiresAt : now + record.ttlMs,
      pause,
      task: this.#taskOf(record, pause),
      isUncertain: undefined,
    };
    try {
      if (isSameLogin && held !== undefined) await held.replace(next);
      else await this.#records.suspend(next, held);
    } finally {
      held?.stop();
    }
    this.#emit("suspended", next);
    return toSuspended(next);
  }

  /** The server that asks; after a fallback, another one than that of the tool. */
  async #asker(record: SuspensionRecord, { server, sourceName }: Extract<Pause, { reason: "input" }>) {
    if (server === record.server) return {};
    const { pool, catalog } = this.port;
    const source = catalog.find(server, sourceName)?.source;
    return {
      server,
      sourceName,
      identity: serverIdentity(pool.require(server).config),
      definition: source && (await definitionHash(source.raw)),
    };
  }

  #taskOf(record: SuspensionRecord, pause: Pause): TaskRecord | undefined {
    if (pause.reason !== "input" || pause.input.taskId === undefined) return undefined;
    return {
      taskId: pause.input.taskId,
      server: pause.server,
      sourceName: pause.sourceName,
      tool: record.tool,
      createdAt: new Date(record.createdAt).toISOString(),
      ttlMs: null,
    };
  }

  /** The call may run twice: its caller says so, or a trusted server. */
  #mayRepeat({ server, tool, options }: SuspensionRecord, idempotent: boolean | undefined): boolean {
    if (options.idempotent === true || idempotent === true) return true;
    const { pool, catalog } = this.port;
    const annotations = catalog.entry(tool)?.info.annotations;
    const isTrusted = pool.get(server)?.config.trustAnnotations === true;
    return isTrusted && (annotations?.readOnlyHint === true || annotations?.idempotentHint === true);
  }

  /** Throws `NOT_OFFERED` if the store cannot keep a suspended call safely. */
  async #assertOffered({ requireDurable }: SuspendWish): Promise<void> {
    const { store } = this.port.parts.settings;
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
      this.port.parts.warn(undefined, `Suspended calls may be lost: ${risk.what}. ${risk.next}.`);
  }

  #warn({ server }: SuspensionRecord, error: unknown): void {
    this.port.parts.warn(server, `A suspended call could not be saved: ${toToolportError(error).message}`);
  }

  #emit(phase: SuspensionNews["phase"], record: SuspensionRecord, answeredBy?: string): void {
    const { server, tool, pause } = record;
    this.port.suspensionCounts[phase] += 1;
    const principal = this.port.principal?.name;
    this.port.parts.emitter.emit("suspension", {
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

/** The server answered, but not with a result: the call is over. */
const isAnswered = (error: unknown): error is ToolCallError =>
  error instanceof ToolCallError &&
  ["PROTOCOL", "INVALID_OUTPUT", "TASK_LOST", "TASK_CANCELLED"].includes(error.code);

/** The options of the call that are saved. */
function savedOptions(options: SuspendCallOptions): SavedCallOptions {
  const { timeoutMs, idempotent, headers, meta, applyDefaults, checkArguments, added } = options;
  return definedOnly({ timeoutMs, idempotent, headers, meta, applyDefaults, checkArguments, added });
}

/** Without the undefined fields, which would replace saved ones. */
const definedOnly = <Fields extends object>(fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
