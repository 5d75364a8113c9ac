/** The innermost step: sends one request to one server and records the outcome. */

import {
  CatalogError,
  compileNames,
  debugChannel,
  ToolCallError,
  type ToolportError,
  toToolportError,
} from "@toolport/base";
import type { SourceTool } from "../catalog/source-tool.js";
import { secretsOf } from "../config/known-secrets.js";
import type { ServerConfig } from "../config/server-config.js";
import { runOnSession, type ServerConnection, type WaitOptions } from "../connection/server-connection.js";
import { inputPauseOf } from "../protocol/input-rounds.js";
import { paramHeaders } from "../protocol/param-headers.js";
import { dependsOnInput, type Session, type SessionRequestOptions } from "../protocol/session.js";
import type { SessionHooks } from "../protocol/session-hooks.js";
import { readCreatedTask, taskSupport } from "../protocol/tasks.js";
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

/** One attempt: one request, or two if the definition of the tool turns out to be outdated, and the task that it may become. */
interface Attempt {
  readonly parts: AttemptParts;
  readonly callProgress: CallProgress;
  readonly call: ResolvedCall;
  readonly startedAt: number;
  /** The connection of the target, or the one that has replaced it since. */
  readonly connection: ServerConnection;
  readonly timeoutMs: number;
  progress: TaskProgress | undefined;
  /** Aborted when the work is over, which may be long after the first answer. Only for calls that may become tasks. */
  work: AbortController | undefined;
  /** The lists of the server were read again during this attempt. */
  isRefreshed: boolean;
}

/** Sends `tools/call`. */
export function createAttempt(parts: AttemptParts): ResolvedHandler {
  const callProgress = new CallProgress(parts);
  return async (call) => {
    const { tool, options, target } = call;
    const connection = target.connection.current;
    const { config } = connection;
    const ofTool = config.toolTimeoutsMs && toolTimeout(config.toolTimeoutsMs, tool.sourceName);
    const attempt: Attempt = {
      parts,
      callProgress,
      call,
      startedAt: performance.now(),
      connection,
      timeoutMs: options.timeoutMs ?? ofTool ?? config.timeoutMs ?? parts.timeoutMs,
      progress: undefined,
      work: undefined,
      isRefreshed: false,
    };
    let answer: CallAnswer;
    try {
      // A caller with hooks follows its tasks, and answers its questions, itself.
      answer = toAnswer(call, await (call.hooks === undefined ? sendAndFollow(attempt) : send(attempt)));
    } catch (cause) {
      // After an abort, the caller gets the reason of its own signal.
      if (options.signal?.aborted) throw cause;
      const converted = toToolportError(cause, { server: tool.server, tool: tool.sourceName });
      const error = secretsOf(config).redactError(converted);
      record(attempt, error);
      throw error;
    }
    record(attempt, undefined);
    const { malformed } = answer.result;
    if (malformed !== undefined) parts.onMalformed(connection, call, malformed);
    return answer;
  };
}

/** Sends the call. Resolves with the result as the server sent it; with that of the task if the call has become one. */
async function sendAndFollow(attempt: Attempt): Promise<RawResult> {
  const { call, parts } = attempt;
  try {
    // A call that waits for a task, or a repeated attempt of one that has become a task.
    const hasBegun = call.task !== undefined || call.attempts.length > 0;
    const started = hasBegun ? parts.tasks.of(call) : undefined;
    if (started !== undefined) return await follow(attempt, started);
    const raw = await send(attempt);
    if (raw["resultType"] !== "task" && raw["content"] !== undefined) return raw;
    const isPaused = call.suspension !== undefined && inputPauseOf(raw) !== undefined;
    const state = isPaused ? undefined : readCreatedTask(raw);
    if (state === undefined && raw["resultType"] !== "task") return raw;
    if (state === undefined) throw malformedTask(call, raw);
    return await follow(attempt, await parts.tasks.begin(call, state, dependsOnInput(raw)));
  } finally {
    attempt.work?.abort();
  }
}

async function follow(attempt: Attempt, task: StartedTask): Promise<RawResult> {
  const { call, parts, connection, timeoutMs } = attempt;
  if (call.options.task && call.task === undefined) return taskReceipt(task.record);
  const { report } = parts;
  return parts.tasks.finish(call, task, { connection, timeoutMs, progress: progressOf(attempt), report });
}

/** Sends the call. If the server refuses its headers, reads the definition of the tool again and sends it once more. */
async function send(attempt: Attempt): Promise<RawResult> {
  const { call, timeoutMs, startedAt } = attempt;
  const { hooks, options, patient, resends } = call;
  const { telemetry, trace, connectionFor, refresh } = attempt.parts;
  const { signal } = options;
  const waitMs = Math.min(timeoutMs, call.deadline - startedAt);
  const connection =
    hooks === undefined || hooks.capabilityKey === ""
      ? attempt.connection
      : await connectionFor(attempt.connection, hooks, { timeoutMs: waitMs, signal, patient });
  const operation = (session: Session) =>
    telemetry.isActive
      ? trace({ call, session }, (meta) => request(attempt, session, meta))
      : request(attempt, session);
  const runOptions = { repeatable: isRepeatable(call), resends, waitMs, patient, signal };
  try {
    return await runOnSession(connection, operation, runOptions);
  } catch (error) {
    const isMismatch = error instanceof ToolCallError && error.rpcCode === HEADER_MISMATCH;
    if (!isMismatch || attempt.isRefreshed || resends?.takeRecovery() === false) throw error;
  }
  await refresh(attempt.connection, signal);
  attempt.isRefreshed = true;
  return send(attempt);
}

function request(attempt: Attempt, session: Session, trace?: Record<string, string>): Promise<RawResult> {
  const { parts, call, isRefreshed } = attempt;
  const { tool, args, options, deadline, suspension, hooks, round, resends, target } = call;
  // A new session, or a refresh, may have changed the definition of the tool.
  const isCurrent = session === target.session && !isRefreshed;
  const source = isCurrent ? target.source : parts.sourceOf(tool);
  const execution = source?.execution ?? tool.execution;
  const mayBeTask = hooks === undefined && (execution !== undefined || Boolean(options.task));
  const task = mayBeTask ? requestTask(call, session, execution) : round?.task;
  const meta = trace === undefined ? options.meta : { ...trace, ...options.meta };
  // With `_meta` even if it is undefined: the channel sets it in a copy, and a field that the copied object lacks takes a microsecond.
  const params = {
    name: tool.sourceName,
    arguments: args,
    _meta: meta,
    ...(task !== undefined && { task }),
  };
  // Few tools repeat arguments as headers.
  const declared = source?.paramHeaders.length ? paramHeaders(source.paramHeaders, args) : undefined;
  const limits: SessionRequestOptions = {
    timeoutMs: attempt.timeoutMs,
    maxTimeoutMs: deadline - performance.now(),
    signal: options.signal,
    headers: declared === undefined ? options.headers : { ...options.headers, ...declared },
    resends,
    // Always requested: progress shows that a slow server is still at work.
    onProgress: (report) => progressOf(attempt).reported(report),
    progressUntil: hooks === undefined ? task && untilOver(attempt) : round?.progressUntil,
    hooks,
    round,
  };
  suspension?.onStage?.("sending");
  if (suspension !== undefined && suspendsFor(suspension, "input"))
    limits.suspendable = { resumed: suspension.input, report: parts.report };
  return session.request("tools/call", params, limits);
}

function toAnswer(call: ResolvedCall, raw: RawResult): CallAnswer {
  const { tool, options, suspension } = call;
  const input = suspension && inputPauseOf(raw);
  if (input !== undefined) {
    const { server, sourceName } = tool;
    return suspendedAnswer({ reason: "input", input, server, sourceName, args: call.args }, server);
  }
  const made = toToolResult(raw, tool.server);
  const result = options.task ? withoutReceipt(call, made, raw) : made;
  // The server asks for input, or has begun a task: a caller with hooks goes on itself.
  const isOpen =
    call.hooks !== undefined &&
    (raw["resultType"] === "input_required" ||
      (raw["content"] === undefined && readCreatedTask(raw) !== undefined));
  // Copies of the result lose the mark of `dependsOnInput`, but keep `_meta`, which keeps caches from sharing it.
  if (isOpen || dependsOnInput(raw)) {
    const marked = { ...result, _meta: { ...result._meta, [INPUT_META_KEY]: true } };
    return { result: marked, received: raw, isOpen };
  }
  return { result, received: raw, isOpen: options.task ? receipts.has(raw) : false };
}

function record({ call, startedAt }: Attempt, error: ToolportError | undefined): void {
  const { tool, attempts } = call;
  const durationMs = performance.now() - startedAt;
  attempts.push({ server: tool.server, durationMs, error });
  if (!debug.enabled) return;
  const end = error?.message ?? "answered";
  debug(`[${tool.server}/${tool.sourceName}] ${end} after ${Math.round(durationMs)} ms`);
}

function progressOf(attempt: Attempt): TaskProgress {
  const { callProgress, call, connection } = attempt;
  attempt.progress ??= createTaskProgress(callProgress.of(call, connection.config));
  return attempt.progress;
}

function untilOver(attempt: Attempt): AbortSignal {
  attempt.work ??= new AbortController();
  return attempt.work.signal;
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
