/** The innermost step: sends one request to one server and records the outcome. */

import { compileNames } from "../catalog/filters/glob.js";
import type { SourceTool } from "../catalog/source-tool.js";
import { secretsOf } from "../config/known-secrets.js";
import type { ServerConfig } from "../config/server-config.js";
import { runOnSession } from "../connection/run-on-session.js";
import type { ServerConnection, WaitOptions } from "../connection/server-connection.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import { inputPauseOf } from "../protocol/input-pause.js";
import { paramHeaders } from "../protocol/param-headers.js";
import type { Relay } from "../protocol/relay.js";
import type { Session, SessionRequestOptions } from "../protocol/session.js";
import { dependsOnInput } from "../protocol/session-result.js";
import { readCreatedTask } from "../protocol/tasks.js";
import { debugChannel } from "../telemetry/debug-channel.js";
import {
  CallProgress,
  type CallProgressParts,
  createTaskProgress,
  type TaskProgress,
} from "./call-progress.js";
import { relayResult, reportRising } from "./relay-result.js";
import { isRepeatable } from "./retry.js";
import { suspendsFor } from "./suspend/call-suspension.js";
import { suspendCall } from "./suspend/paused-result.js";
import { requestTask, requireResult, taskReceipt, withoutReceipt } from "./tasks/request-task.js";
import type { StartedTask, TaskRuns } from "./tasks/task-runs.js";
import type { ResolvedCall, ResolvedHandler } from "./tool-call.js";
import { INPUT_META_KEY, type MalformedContent, type ToolResult, toToolResult } from "./tool-result.js";

export interface AttemptParts extends CallProgressParts {
  /** Reads the lists of the server again. */
  refresh: (connection: ServerConnection, signal: AbortSignal | undefined) => Promise<void>;
  /** The connection for a call of a gateway's client. */
  connectionFor: (
    connection: ServerConnection,
    relay: Relay,
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
    request: TracedRequest,
    run: (meta: Record<string, string> | undefined) => Promise<Result>,
  ) => Promise<Result>;
}

/** What a span contains about a request. */
interface TracedRequest {
  readonly call: ResolvedCall;
  readonly session: Session;
}

/** Parts of the pipeline, in addition to those of the port. */
interface PipelineSide {
  /** The tool as its server lists it now. */
  sourceOf: (tool: ResolvedCall["tool"]) => SourceTool | undefined;
}

const debug = debugChannel("call");

/** The headers do not match the body: the server's definition of the tool has changed, and the call was not run. */
const HEADER_MISMATCH = -32020;

/** Sends `tools/call`. */
export function createAttempt(parts: AttemptParts & PipelineSide): ResolvedHandler {
  const progress = new CallProgress(parts);
  return (call) => new Attempt(parts, call, progress).run();
}

/** A class and not closures: a plain call then allocates only what it needs. */
class Attempt {
  readonly #parts: AttemptParts & PipelineSide;
  readonly #call: ResolvedCall;
  readonly #startedAt = performance.now();
  /** The connection of the target, or the one that has replaced it since. */
  readonly #connection: ServerConnection;
  readonly #timeoutMs: number;
  readonly #callProgress: CallProgress;
  #taskProgress: TaskProgress | undefined;
  /** Aborted when the work is over, which may be long after the first answer. */
  #work: AbortController | undefined;
  /** The lists of the server were read again during this attempt. */
  #isRefreshed = false;

  constructor(parts: AttemptParts & PipelineSide, call: ResolvedCall, callProgress: CallProgress) {
    const { tool, options, target } = call;
    this.#parts = parts;
    this.#call = call;
    this.#callProgress = callProgress;
    this.#connection = target.connection.current;
    const { config } = this.#connection;
    this.#timeoutMs =
      options.timeoutMs ?? toolTimeout(config, tool.sourceName) ?? config.timeoutMs ?? parts.timeoutMs;
  }

  run(): Promise<ToolResult> {
    const { attempts, task } = this.#call;
    // Only a repeated attempt, or a wait for a task's result, can have a task.
    const started =
      attempts.length === 0 && task === undefined ? undefined : this.#parts.tasks.of(this.#call);
    if (started !== undefined) return this.#finishLater(this.#follow(started));
    return this.#send().then(
      (raw) => this.#receive(raw),
      (error: unknown) => this.#finishLater(this.#resend(error)),
    );
  }

  #receive(raw: Record<string, unknown>): ToolResult | Promise<ToolResult> {
    let settled: Record<string, unknown> | Promise<Record<string, unknown>>;
    try {
      settled = this.#settle(raw);
    } catch (cause) {
      return this.#fail(cause);
    }
    return settled instanceof Promise ? this.#finishLater(settled) : this.#finish(settled);
  }

  /** The result of the call; a promise of it if the call became a task. */
  #settle(raw: Record<string, unknown>): Record<string, unknown> | Promise<Record<string, unknown>> {
    // Fast path: an ordinary result.
    if (raw["resultType"] !== "task" && raw["content"] !== undefined) {
      this.#work?.abort();
      return raw;
    }
    // A gateway's client follows its tasks, and answers its questions, itself.
    if (this.#call.relay !== undefined) return raw;
    const state = this.#call.suspension && inputPauseOf(raw) ? undefined : readCreatedTask(raw);
    if (state !== undefined) {
      const begun = this.#parts.tasks.begin(this.#call, state, dependsOnInput(raw));
      return begun.then((task) => this.#follow(task));
    }
    this.#work?.abort();
    return requireResult(this.#call, raw);
  }

  async #resend(error: unknown): Promise<Record<string, unknown>> {
    const isMismatch = error instanceof ToolCallError && error.rpcCode === HEADER_MISMATCH;
    if (!isMismatch || this.#call.resends?.takeHealing() === false) {
      this.#work?.abort();
      throw error;
    }
    await this.#parts.refresh(this.#connection, this.#call.options.signal);
    this.#isRefreshed = true;
    return this.#settle(await this.#send());
  }

  async #follow(task: StartedTask): Promise<Record<string, unknown>> {
    const call = this.#call;
    try {
      if (call.options.task && call.task === undefined) return taskReceipt(task.record);
      return await this.#parts.tasks.finish(call, task, {
        connection: this.#connection,
        timeoutMs: this.#timeoutMs,
        progress: this.#progress(),
        report: this.#parts.report,
      });
    } finally {
      this.#work?.abort();
    }
  }

  #finishLater(settled: Promise<Record<string, unknown>>): Promise<ToolResult> {
    return settled.then(
      (raw) => this.#finish(raw),
      (cause: unknown) => this.#fail(cause),
    );
  }

  #finish(raw: Record<string, unknown>): ToolResult {
    const call = this.#call;
    const { tool } = call;
    const { suspension } = call;
    const input = suspension && inputPauseOf(raw);
    if (input !== undefined) {
      this.#record();
      const { server, sourceName } = tool;
      const pause = { reason: "input", input, server, sourceName, args: call.args } as const;
      return suspendCall(suspension!, pause, server);
    }
    let result: ToolResult;
    try {
      result = toToolResult(raw, tool.server);
      if (call.options.task) result = withoutReceipt(call, result, raw);
      if (call.relay !== undefined) result = relayResult(call.relay, raw, result);
    } catch (cause) {
      return this.#fail(cause);
    }
    this.#record();
    if (result.malformed !== undefined) this.#parts.onMalformed(this.#connection, call, result.malformed);
    // Copies of the result lose the mark of `isFromRounds`, but keep `_meta`.
    return dependsOnInput(raw) ? { ...result, _meta: { ...result._meta, [INPUT_META_KEY]: true } } : result;
  }

  #fail(cause: unknown): never {
    const { tool, options } = this.#call;
    // After an abort, the caller gets the reason of its own signal.
    if (options.signal?.aborted) throw cause;
    const converted = toToolportError(cause, { server: tool.server, tool: tool.sourceName });
    const error = secretsOf(this.#connection.config).redactError(converted);
    this.#record(error);
    throw error;
  }

  #record(error?: ToolportError): void {
    const { tool, attempts } = this.#call;
    const durationMs = performance.now() - this.#startedAt;
    attempts.push({ server: tool.server, durationMs, error });
    if (!debug.enabled) return;
    const end = error?.message ?? "answered";
    debug(`[${tool.server}/${tool.sourceName}] ${end} after ${Math.round(durationMs)} ms`);
  }

  #send(): Promise<Record<string, unknown>> {
    const { relay, options, patient } = this.#call;
    if (relay === undefined || relay.capabilityKey === "") return this.#sendOn(this.#connection);
    const wait = { timeoutMs: this.#waitMs(), signal: options.signal, patient };
    return this.#parts
      .connectionFor(this.#connection, relay, wait)
      .then((connection) => this.#sendOn(connection));
  }

  #sendOn(connection: ServerConnection): Promise<Record<string, unknown>> {
    const call = this.#call;
    const { options, patient } = call;
    const { telemetry, trace } = this.#parts;
    return runOnSession(
      connection,
      (session) =>
        telemetry.isActive
          ? trace({ call, session }, (meta) => this.#request(session, meta))
          : this.#request(session),
      {
        repeatable: isRepeatable(call),
        resends: call.resends,
        waitMs: this.#waitMs(),
        patient,
        caller: options,
      },
    );
  }

  #waitMs(): number {
    return Math.min(this.#timeoutMs, this.#call.deadline - this.#startedAt);
  }

  #request(session: Session, trace?: Record<string, string>): Promise<Record<string, unknown>> {
    const { tool, args, options, deadline, suspension, relay } = this.#call;
    const source = this.#sourceOn(session);
    const execution = source?.execution ?? tool.execution;
    const meta = trace === undefined ? options.meta : { ...trace, ...options.meta };
    const task =
      relay !== undefined || (execution === undefined && !options.task)
        ? undefined
        : requestTask(this.#call, session, execution);
    // Spreading objects would take longer than the rest of this function.
    const params: Record<string, unknown> = { name: tool.sourceName, arguments: args };
    if (task !== undefined) params["task"] = task;
    if (meta !== undefined) params["_meta"] = meta;
    // Few tools repeat arguments as headers.
    const declared = source?.paramHeaders.length ? paramHeaders(source.paramHeaders, args) : undefined;
    const limits: SessionRequestOptions = {
      timeoutMs: this.#timeoutMs,
      maxTimeoutMs: deadline - performance.now(),
      signal: options.signal,
      headers: declared === undefined ? options.headers : { ...options.headers, ...declared },
      resends: this.#call.resends,
      // Always requested: progress shows that a slow server is still at work.
      onProgress:
        relay === undefined
          ? (report) => this.#progress().reported(report)
          : (report) => reportRising(relay, report, this.#progress()),
      progressUntil: relay === undefined ? task && this.#worked() : relay.progressUntil,
      relay,
    };
    if (suspension !== undefined) {
      suspension.isSent = true;
      suspension.pause = undefined;
      if (suspendsFor(suspension, "input"))
        limits.suspendable = { resumed: suspension.input, report: this.#parts.report };
    }
    return session.request("tools/call", params, limits);
  }

  /** The tool as listed on this session: a new session, or a refresh, may have changed the definition. */
  #sourceOn(session: Session): SourceTool | undefined {
    const { target, tool } = this.#call;
    const isCurrent = session === target.session && !this.#isRefreshed;
    return isCurrent ? target.source : this.#parts.sourceOf(tool);
  }

  #progress(): TaskProgress {
    this.#taskProgress ??= createTaskProgress(this.#callProgress.of(this.#call, this.#connection.config));
    return this.#taskProgress;
  }

  #worked(): AbortSignal {
    this.#work ??= new AbortController();
    return this.#work.signal;
  }
}

/** The time limit of this tool, if the server's entry sets one. */
function toolTimeout({ toolTimeoutsMs }: ServerConfig, tool: string): number | undefined {
  if (toolTimeoutsMs === undefined) return undefined;
  return Object.entries(toolTimeoutsMs).find(([pattern]) => compileNames([pattern])(tool))?.[1];
}
