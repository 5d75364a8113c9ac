/** The innermost step: sends one request to one server and records the outcome. */

import type { SourceTool } from "../catalog/source-tool.js";
import { secretsOf } from "../config/known-secrets.js";
import type { ServerConfig } from "../config/server-config.js";
import { runOnSession, type ServerConnection, type WaitOptions } from "../connection/server-connection.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import { CatalogError, ToolCallError, type ToolportError } from "../errors/toolport-error.js";
import { dependsOnInput, inputPauseOf } from "../protocol/input-rounds.js";
import { paramHeaders } from "../protocol/param-headers.js";
import type { Session, SessionRequestOptions } from "../protocol/session.js";
import type { SessionHooks } from "../protocol/session-hooks.js";
import { readCreatedTask, taskSupport } from "../protocol/tasks.js";
import { debugChannel } from "../telemetry/logger.js";
import { compileNames } from "../util/glob.js";
import {
  CallProgress,
  type CallProgressParts,
  createTaskProgress,
  type TaskProgress,
} from "./call-progress.js";
import { isRepeatable } from "./retry.js";
import { suspendsFor } from "./suspend/call-suspension.js";
import { suspendedAnswer } from "./suspend/paused-result.js";
import { taskFault } from "./tasks/task-errors.js";
import { TASK_META_KEY, type TaskRecord } from "./tasks/task-record.js";
import type { StartedTask, TaskRuns } from "./tasks/task-runs.js";
import type { CallAnswer, ResolvedCall, ResolvedHandler, ToolCall } from "./tool-call.js";
import { INPUT_META_KEY, type MalformedContent, type ToolResult, toToolResult } from "./tool-result.js";

export interface AttemptParts extends CallProgressParts {
  /** Reads the lists of the server again. */
  refresh: (connection: ServerConnection, signal: AbortSignal | undefined) => Promise<void>;
  /** The connection for a caller with capabilities of its own. */
  connectionFor: (
    connection: ServerConnection,
    hooks: SessionHooks,
    wait: WaitOptions & { patient: boolean },
  ) => Promise<ServerConnection>;
  timeoutMs: number;
  /** Called for every result with malformed content. */
  onMalformed: (connection: ServerConnection, call: ResolvedCall, malformed: MalformedContent) => void;
  /** Calls that became tasks. */
  tasks: TaskRuns;
  telemetry: { readonly isActive: boolean };
  /** Runs one request inside a span with the trace context for `_meta`. Called only while `telemetry` is active. */
  trace: <Result>(
    request: { readonly call: ResolvedCall; readonly session: Session },
    run: (meta: Record<string, string> | undefined) => Promise<Result>,
  ) => Promise<Result>;
  /** The tool as its server lists it now. */
  sourceOf: (tool: ResolvedCall["tool"]) => SourceTool | undefined;
}

const debug = debugChannel("call");

type RawResult = Record<string, unknown>;

/** The headers do not match the body: the server's definition of the tool has changed, and the call was not run. */
const HEADER_MISMATCH = -32020;

/** Sends `tools/call`. */
export function createAttempt(parts: AttemptParts): ResolvedHandler {
  const progress = new CallProgress(parts);
  return (call) => new Attempt(parts, call, progress).run();
}

/** One attempt: one request, or two if the definition of the tool turns out to be outdated, and the task that it may become. */
class Attempt {
  readonly #startedAt = performance.now();
  /** The connection of the target, or the one that has replaced it since. */
  readonly #connection: ServerConnection;
  readonly #timeoutMs: number;
  #taskProgress: TaskProgress | undefined;
  /** Aborted when the work is over, which may be long after the first answer. Only for calls that may become tasks. */
  #work: AbortController | undefined;
  /** The lists of the server were read again during this attempt. */
  #isRefreshed = false;

  constructor(
    readonly parts: AttemptParts,
    readonly call: ResolvedCall,
    readonly callProgress: CallProgress,
  ) {
    const { tool, options, target } = call;
    this.#connection = target.connection.current;
    const { config } = this.#connection;
    const ofTool = config.toolTimeoutsMs && toolTimeout(config.toolTimeoutsMs, tool.sourceName);
    this.#timeoutMs = options.timeoutMs ?? ofTool ?? config.timeoutMs ?? parts.timeoutMs;
  }

  async run(): Promise<CallAnswer> {
    const { tool, options } = this.call;
    let answer: CallAnswer;
    try {
      // A caller with hooks follows its tasks, and answers its questions, itself.
      answer = this.#toAnswer(await (this.call.hooks === undefined ? this.#receive() : this.#send()));
    } catch (cause) {
      // After an abort, the caller gets the reason of its own signal.
      if (options.signal?.aborted) throw cause;
      const converted = toToolportError(cause, { server: tool.server, tool: tool.sourceName });
      const error = secretsOf(this.#connection.config).redactError(converted);
      this.#record(error);
      throw error;
    }
    this.#record();
    const { malformed } = answer.result;
    if (malformed !== undefined) this.parts.onMalformed(this.#connection, this.call, malformed);
    return answer;
  }

  /** The result as the server sent it; that of the task if the call has become one. */
  async #receive(): Promise<RawResult> {
    const call = this.call;
    const { tasks } = this.parts;
    try {
      const started = tasks.of(call);
      if (started !== undefined) return await this.#follow(started);
      const raw = await this.#send();
      if (raw["resultType"] !== "task" && raw["content"] !== undefined) return raw;
      const isPaused = call.suspension !== undefined && inputPauseOf(raw) !== undefined;
      const state = isPaused ? undefined : readCreatedTask(raw);
      if (state === undefined && raw["resultType"] !== "task") return raw;
      if (state === undefined) throw malformedTask(call, raw);
      return await this.#follow(await tasks.begin(call, state, dependsOnInput(raw)));
    } finally {
      this.#work?.abort();
    }
  }

  async #follow(task: StartedTask): Promise<RawResult> {
    const call = this.call;
    if (call.options.task && call.task === undefined) return taskReceipt(task.record);
    return this.parts.tasks.finish(call, task, {
      connection: this.#connection,
      timeoutMs: this.#timeoutMs,
      progress: this.#progress(),
      report: this.parts.report,
    });
  }

  /** Sends the call. If the server refuses its headers, reads the definition of the tool again and sends it once more. */
  async #send(): Promise<RawResult> {
    const call = this.call;
    const { hooks, options, patient, resends } = call;
    const { telemetry, trace, connectionFor, refresh } = this.parts;
    const { signal } = options;
    const waitMs = Math.min(this.#timeoutMs, call.deadline - this.#startedAt);
    const connection =
      hooks === undefined || hooks.capabilityKey === ""
        ? this.#connection
        : await connectionFor(this.#connection, hooks, { timeoutMs: waitMs, signal, patient });
    const request = (session: Session) =>
      telemetry.isActive
        ? trace({ call, session }, (meta) => this.#request(session, meta))
        : this.#request(session);
    const wait = { repeatable: isRepeatable(call), resends, waitMs, patient, signal };
    try {
      return await runOnSession(connection, request, wait);
    } catch (error) {
      const isMismatch = error instanceof ToolCallError && error.rpcCode === HEADER_MISMATCH;
      if (!isMismatch || this.#isRefreshed || resends?.takeHealing() === false) throw error;
    }
    await refresh(this.#connection, signal);
    this.#isRefreshed = true;
    return this.#send();
  }

  #request(session: Session, trace?: Record<string, string>): Promise<RawResult> {
    const { tool, args, options, deadline, suspension, hooks, round, resends, target } = this.call;
    // A new session, or a refresh, may have changed the definition of the tool.
    const isCurrent = session === target.session && !this.#isRefreshed;
    const source = isCurrent ? target.source : this.parts.sourceOf(tool);
    const execution = source?.execution ?? tool.execution;
    const mayBeTask = hooks === undefined && (execution !== undefined || Boolean(options.task));
    const task = mayBeTask ? requestTask(this.call, session, execution) : round?.task;
    const meta = trace === undefined ? options.meta : { ...trace, ...options.meta };
    // Always with `_meta`, which the channel sets: see `Port.run`.
    const params = {
      name: tool.sourceName,
      arguments: args,
      _meta: meta,
      ...(task !== undefined && { task }),
    };
    // Few tools repeat arguments as headers.
    const declared = source?.paramHeaders.length ? paramHeaders(source.paramHeaders, args) : undefined;
    const limits: SessionRequestOptions = {
      timeoutMs: this.#timeoutMs,
      maxTimeoutMs: deadline - performance.now(),
      signal: options.signal,
      headers: declared === undefined ? options.headers : { ...options.headers, ...declared },
      resends,
      // Always requested: progress shows that a slow server is still at work.
      onProgress: (report) => this.#progress().reported(report),
      progressUntil: hooks === undefined ? task && this.#worked() : round?.progressUntil,
      hooks,
      round,
    };
    suspension?.onStage?.("sending");
    if (suspension !== undefined && suspendsFor(suspension, "input"))
      limits.suspendable = { resumed: suspension.input, report: this.parts.report };
    return session.request("tools/call", params, limits);
  }

  #toAnswer(raw: RawResult): CallAnswer {
    const call = this.call;
    const { tool, options } = call;
    const input = inputPauseOf(raw);
    if (input !== undefined) {
      const { server, sourceName } = tool;
      return suspendedAnswer({ reason: "input", input, server, sourceName, args: call.args }, server);
    }
    const made = toToolResult(raw, tool.server);
    const result = options.task ? withoutReceipt(call, made, raw) : made;
    const isOwn = call.hooks !== undefined && isUnanswered(raw);
    // Copies of the result lose the mark of `dependsOnInput`, but keep `_meta`, which keeps caches from sharing it.
    if (isOwn || dependsOnInput(raw)) {
      const marked = { ...result, _meta: { ...result._meta, [INPUT_META_KEY]: true } };
      return { result: marked, received: raw, isOpen: isOwn };
    }
    return { result, received: raw, isOpen: options.task ? receipts.has(raw) : false };
  }

  #record(error?: ToolportError): void {
    const { tool, attempts } = this.call;
    const durationMs = performance.now() - this.#startedAt;
    attempts.push({ server: tool.server, durationMs, error });
    if (!debug.enabled) return;
    const end = error?.message ?? "answered";
    debug(`[${tool.server}/${tool.sourceName}] ${end} after ${Math.round(durationMs)} ms`);
  }

  #progress(): TaskProgress {
    this.#taskProgress ??= createTaskProgress(this.callProgress.of(this.call, this.#connection.config));
    return this.#taskProgress;
  }

  #worked(): AbortSignal {
    this.#work ??= new AbortController();
    return this.#work.signal;
  }
}

/** The time limit of this tool, if the server's entry sets one. */
function toolTimeout(
  toolTimeoutsMs: NonNullable<ServerConfig["toolTimeoutsMs"]>,
  tool: string,
): number | undefined {
  return Object.entries(toolTimeoutsMs).find(([pattern]) => compileNames([pattern])(tool))?.[1];
}

const DEFAULT_TTL_MS = 60 * 60 * 1_000;

/**
 * The `task` parameter of `tools/call`; undefined for none. In the modern era the server decides alone. Throws if the caller
 * wants a task and the tool does not support it.
 */
function requestTask(
  { tool, options, deadline }: ToolCall,
  session: Session,
  execution: Readonly<Record<string, unknown>> | undefined,
): { ttl: number } | undefined {
  const support = taskSupport(session, execution);
  if (support === "never" && options.task) {
    throw new CatalogError({
      code: "NOT_OFFERED",
      server: tool.server,
      tool: tool.sourceName,
      what: "The tool cannot run as a task",
      next: "Call it without task: true",
    });
  }
  if (session.era === "modern" || support === "never") return undefined;
  if (support === "optional" && !options.task) return undefined;
  const wish = typeof options.task === "object" ? options.task.ttlMs : undefined;
  const leftMs = deadline - performance.now();
  // At least as long as the caller waits.
  return { ttl: wish ?? Math.max(DEFAULT_TTL_MS, Number.isFinite(leftMs) ? Math.ceil(leftMs) : 0) };
}

/** The server asks for input, or has begun a task. */
const isUnanswered = (raw: RawResult): boolean =>
  raw["resultType"] === "input_required" ||
  (raw["content"] === undefined && readCreatedTask(raw) !== undefined);

/** The server announces a task in a form that is not supported. */
const malformedTask = ({ tool }: ToolCall, raw: RawResult): ToolportError =>
  taskFault(
    { server: tool.server, tool: tool.sourceName },
    "The server answered with a task that cannot be understood",
    raw,
  );

const receipts = new WeakSet<object>();

/** Takes the place of the result: names the created task. */
function taskReceipt(record: TaskRecord): Record<string, unknown> {
  const content = [{ type: "text", text: "The server continues the work as a task." }];
  const receipt = { content, _meta: { [TASK_META_KEY]: record } };
  receipts.add(receipt);
  return receipt;
}

/** Removes a receipt that came from the server, because only Toolport creates receipts. */
function withoutReceipt(
  { options, task }: ToolCall,
  result: ToolResult,
  raw: Record<string, unknown>,
): ToolResult {
  if (!options.task || task !== undefined || result._meta?.[TASK_META_KEY] === undefined) return result;
  if (receipts.has(raw)) return result;
  const { [TASK_META_KEY]: _, ...meta } = result._meta;
  return { ...result, _meta: meta };
}
