/** Runs the rounds of a call that may be suspended, and saves their outcome. */
import type { CatalogEntry } from "../../catalog/build-snapshot.js";
import { definitionHash } from "../../catalog/safety/canonical-json.js";
import type { AuthError } from "../../errors/auth-error.js";
import { toToolportError } from "../../errors/to-toolport-error.js";
import { ToolCallError } from "../../errors/tool-call-error.js";
import { afterUnknown, ToolportError } from "../../errors/toolport-error.js";
import type { CallSuspension, Pause } from "../../execution/suspend/call-suspension.js";
import { loginPause } from "../../execution/suspend/paused-result.js";
import type { Suspended } from "../../execution/suspend/suspension.js";
import type { TaskRecord } from "../../execution/tasks/task-record.js";
import type { SuspendCallOptions } from "../../execution/tool-call.js";
import type { ToolResult } from "../../execution/tool-result.js";
import { isRefusedState } from "../../protocol/session-result.js";
import { serverIdentity } from "../../state/server-keys.js";
import { findTool } from "../find-tool.js";
import type { PortCore } from "../port-core.js";
import type { SuspendWish } from "./check-answers.js";
import type { HeldRecord } from "./held-record.js";
import {
  changedTool,
  expiredAtServer,
  movedServer,
  type SavedCallOptions,
  type SuspensionRecord,
  toSuspended,
} from "./suspension-record.js";
import { asUnsent, createToken, type SuspensionRecords } from "./suspension-records.js";

type Arguments = Readonly<Record<string, unknown>>;

interface NewCall {
  readonly args: Arguments;
  readonly options: SuspendCallOptions;
  readonly wish: SuspendWish;
}

interface FoundCall {
  readonly record: SuspensionRecord;
  readonly entry: CatalogEntry | undefined;
  readonly pause: Pause | undefined;
}

export class CallRounds {
  readonly #port: PortCore;
  readonly #records: SuspensionRecords;
  readonly #onSuspended: (record: SuspensionRecord) => void;

  constructor(port: PortCore, records: SuspensionRecords, onSuspended: (record: SuspensionRecord) => void) {
    this.#port = port;
    this.#records = records;
    this.#onSuspended = onSuspended;
  }

  /** Finds the tool of a new call. Without an entry, the user has to log in first (`pause`). */
  async find(name: string, { args, options, wish }: NewCall): Promise<FoundCall> {
    const { catalog, pool } = this.#port;
    let entry: CatalogEntry | undefined;
    let pause: Pause | undefined;
    let server: string;
    try {
      entry = catalog.entry(name) ?? (await findTool(this.#port, name, options));
      server = entry.info.server;
    } catch (error) {
      pause = loginPause({ suspension: { isSent: false, reasons: wish.reasons } }, asUnsent(error));
      if (pause === undefined) throw asUnsent(error);
      server = (error as AuthError).server!;
    }
    const now = Date.now();
    const record: SuspensionRecord = {
      format: 1,
      state: "sending",
      principal: this.#port.principal?.name ?? null,
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
  async entryOf(record: SuspensionRecord, options: SuspendCallOptions): Promise<CatalogEntry | undefined> {
    const { pool, catalog, parts } = this.#port;
    const { pause } = record;
    const connection = pool.get(record.server);
    if (connection === undefined || serverIdentity(connection.config) !== record.identity)
      throw movedServer(record);
    const wait = { signal: options.signal, timeoutMs: options.timeoutMs ?? parts.settings.timeoutMs };
    try {
      await this.#port.bringUp([connection], wait);
      if (connection.current.session === undefined) await connection.current.acquire(wait);
      const entry =
        pause?.reason === "input"
          ? catalog.find(record.server, pause.sourceName)
          : await findTool(this.#port, record.tool, wait);
      if (entry === undefined || entry.info.server !== record.server) throw changedTool(record);
      if (record.definition !== undefined && (await definitionHash(entry.source.raw)) !== record.definition)
        throw changedTool(record);
      return entry;
    } catch (error) {
      if (
        pause?.reason === "login" &&
        loginPause({ suspension: { isSent: false } }, asUnsent(error)) !== undefined
      )
        return undefined;
      throw asUnsent(error);
    }
  }

  /** Asks `approve` without sending the call. Undefined if no person has to decide. */
  async approvalPause(
    entry: CatalogEntry,
    args: Arguments,
    options: SuspendCallOptions,
  ): Promise<Pause | undefined> {
    if (this.#port.parts.settings.approve === undefined) return undefined;
    const suspension: CallSuspension = { isSent: false, isApprovalOnly: true };
    // The call itself will report invalid arguments and refusals.
    await this.#port.run(entry, args, options, { suspension }).catch(() => {
      suspension.pause = undefined;
    });
    return suspension.pause;
  }

  /** Runs one round of a call and saves its outcome. */
  async send(
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
    const suspension: CallSuspension = { isSent: false, ...given, reasons: record.reasons };
    try {
      let result: ToolResult;
      try {
        result = await this.#port.run(entry, record.given, options, { suspension, task });
      } catch (error) {
        throw await this.#failed(error, { record, held, suspension });
      }
      const { pause } = suspension;
      if (pause !== undefined) return await this.suspend(record, pause, held);
      if (held !== undefined) await this.#save(held, result);
      return result;
    } finally {
      held?.stop();
    }
  }

  async #save(held: HeldRecord<SuspensionRecord>, { artifacts: _, ...result }: ToolResult): Promise<void> {
    // The result must not be lost because the store fails now.
    await this.#records.end(held, { result }).catch((error) => this.#warn(held.record, error));
  }

  /** Returns the error to throw. A call that was not sent can be resumed with the same token. */
  async #failed(
    error: unknown,
    {
      record,
      held,
      suspension,
    }: {
      record: SuspensionRecord;
      held: HeldRecord<SuspensionRecord> | undefined;
      suspension: CallSuspension;
    },
  ): Promise<unknown> {
    if (held === undefined) return suspension.hasBegun ? afterUnknown(error) : error;
    const isUnsent =
      !suspension.hasBegun &&
      (!suspension.isSent || (ToolportError.isInstance(error) && error.outcome === "unsent"));
    const warn = (failure: unknown) => this.#warn(record, failure);
    const { isUncertain } = held.record;
    // An outcome that was lost before stays lost.
    const state = isUncertain ? "unknown" : "waiting";
    const { expiresAt } = record;
    if (isUnsent && isRefusedState(error)) {
      await held.replace({ ...held.record, state, expiresAt, isExpiredAtServer: true }).catch(warn);
      return expiredAtServer(record, error);
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
  async suspendUnsent(
    record: SuspensionRecord,
    pause: Pause,
    key: string | undefined,
  ): Promise<Suspended | undefined> {
    const expiresAt = Date.now() + record.ttlMs;
    const next: SuspensionRecord = { ...record, state: "waiting", token: createToken(), expiresAt, pause };
    if (!(await this.#records.create(next, key).catch(throwUnsent))) return undefined;
    this.#onSuspended(next);
    return toSuspended(next);
  }

  async suspend(
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
      token: isSameLogin ? record.token : createToken(),
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
    this.#onSuspended(next);
    return toSuspended(next);
  }

  /** The server that asks; after a fallback, another one than that of the tool. */
  async #asker(record: SuspensionRecord, { server, sourceName }: Extract<Pause, { reason: "input" }>) {
    if (server === record.server) return {};
    const { pool, catalog } = this.#port;
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

  #warn({ server }: SuspensionRecord, error: unknown): void {
    this.#port.parts.warn(server, `A suspended call could not be saved: ${toToolportError(error).message}`);
  }
}

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
export const definedOnly = <Fields extends object>(fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;

export function throwUnsent(error: unknown): never {
  throw asUnsent(error);
}
