/** The innermost step: one request to one server, its time, its headers, its trace. */
import type { CatalogEntry } from "../catalog/build-snapshot.js";
import { compileNames } from "../catalog/glob.js";
import type { ServerConfig } from "../config/server-config.js";
import { runOnSession } from "../connection/run-on-session.js";
import type { ServerConnection } from "../connection/server-connection.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { isFromRounds } from "../protocol/input-rounds.js";
import { paramHeaders } from "../protocol/param-headers.js";
import type { Progress } from "../protocol/pending-request.js";
import type { Session } from "../protocol/session.js";
import { readCreatedTask } from "../protocol/tasks/task-state.js";
import { debugChannel } from "../telemetry/debug-channel.js";
import { callSafely } from "../util/call-safely.js";
import { askForTask, requireResult, taskReceipt, withoutReceipt } from "./tasks/ask-for-task.js";
import { createTaskProgress, type TaskProgress } from "./tasks/task-progress.js";
import type { StartedTask, TaskRuns } from "./tasks/task-runs.js";
import type { CallHandler, ToolCall } from "./tool-call.js";
import { INPUT_META_KEY, type ToolResult, toToolResult } from "./tool-result.js";

export interface AttemptParts {
  connectionOf: (server: string) => ServerConnection;
  /** The tool as the server listed it. */
  sourceOf: (server: string, sourceName: string) => CatalogEntry | undefined;
  /** Reads the server's lists anew. */
  refresh: (server: string, call: ToolCall) => Promise<void>;
  timeoutMs: number;
  /** The port's own listener for progress. */
  onProgress: ((server: { readonly name: string }, progress: Progress) => void) | undefined;
  /** Told when a callback of the user's throws. */
  report: (error: unknown) => void;
  /** May run twice although its caller did not say so. */
  isRepeatable?: ((call: ToolCall) => boolean) | undefined;
  /** Calls that became tasks. */
  tasks: TaskRuns;
  /** Runs one request inside a span, and gives it the trace context for `_meta`. */
  trace: <Result>(
    request: TracedRequest,
    run: (meta: Record<string, string> | undefined) => Promise<Result>,
  ) => Promise<Result>;
}

/** What a span needs to know about a request. */
export interface TracedRequest {
  readonly call: ToolCall;
  readonly session: Session;
}

const debug = debugChannel("call");

/** The server refused headers that do not match the body: its definition of the tool has changed, nothing was run. */
const HEADER_MISMATCH = -32020;

/** Sends `tools/call`, and writes down what became of it. */
export function createAttempt(parts: AttemptParts): CallHandler {
  return (call) => {
    const { server, sourceName } = call.tool;
    const startedAt = performance.now();
    const note = (error?: ReturnType<typeof toToolportError>) => {
      const durationMs = performance.now() - startedAt;
      call.attempts.push({ server, durationMs, error });
      if (debug.enabled)
        debug(`[${server}/${sourceName}] ${error?.message ?? "answered"} after ${Math.round(durationMs)} ms`);
    };
    const fail = (cause: unknown): never => {
      // An abort is the caller's own: its reason passes through as it is.
      if (call.options.signal?.aborted) throw cause;
      const error = toToolportError(cause, { server, tool: sourceName });
      note(error);
      throw error;
    };
    const receive = (raw: Record<string, unknown>): ToolResult => {
      let result: ToolResult;
      try {
        result = withoutReceipt(call, toToolResult(raw, server), raw);
      } catch (cause) {
        return fail(cause);
      }
      note();
      // The mark on the raw answer would be lost in any copy; this one stays.
      return isFromRounds(raw) ? { ...result, _meta: { ...result._meta, [INPUT_META_KEY]: true } } : result;
    };
    try {
      return request(parts, call).then(receive, fail);
    } catch (cause) {
      return Promise.reject(cause).catch(fail);
    }
  };
}

/** The limit of this one tool, if its server's entry names it. */
function toolTimeout({ toolTimeoutsMs }: ServerConfig, tool: string): number | undefined {
  if (toolTimeoutsMs === undefined) return undefined;
  return Object.entries(toolTimeoutsMs).find(([pattern]) => compileNames([pattern])(tool))?.[1];
}

/** Sends the call; if it becomes a task, waits for its end. Nothing is made for a task before there is one. */
function request(parts: AttemptParts, call: ToolCall): Promise<Record<string, unknown>> {
  const { tool, options } = call;
  const connection = parts.connectionOf(tool.server);
  const timeoutMs =
    options.timeoutMs ??
    toolTimeout(connection.config, tool.sourceName) ??
    connection.config.timeoutMs ??
    parts.timeoutMs;
  let progress: TaskProgress | undefined;
  let work: AbortController | undefined;
  const ofTask = (): TaskProgress => {
    progress ??= createTaskProgress((report) => tellProgress(report, { parts, call, connection }));
    return progress;
  };
  const sending: SendOptions = {
    connection,
    timeoutMs,
    reported: (report) => ofTask().reported(report),
    worked() {
      work ??= new AbortController();
      return work.signal;
    },
  };

  const started = parts.tasks.of(call);
  if (started !== undefined) return follow(started);
  return sendCall(parts, call, sending).then(receive, resend);

  async function resend(error: unknown): Promise<Record<string, unknown>> {
    if (!(error instanceof ToolCallError) || error.rpcCode !== HEADER_MISMATCH) {
      work?.abort();
      throw error;
    }
    await parts.refresh(tool.server, call);
    return receive(await sendCall(parts, call, sending));
  }

  function receive(raw: Record<string, unknown>): Record<string, unknown> | Promise<Record<string, unknown>> {
    const state = readCreatedTask(raw);
    if (state !== undefined) return parts.tasks.begin(call, state, isFromRounds(raw)).then(follow);
    work?.abort();
    return requireResult(call, raw);
  }

  async function follow(task: StartedTask): Promise<Record<string, unknown>> {
    try {
      if (options.task && call.task === undefined) return taskReceipt(task.record);
      return await parts.tasks.finish(call, task, { connection, timeoutMs, progress: ofTask() });
    } finally {
      work?.abort();
    }
  }
}

function tellProgress(
  report: Progress,
  { parts, call, connection }: { parts: AttemptParts; call: ToolCall; connection: ServerConnection },
): void {
  callSafely(() => call.options.onProgress?.(report), parts.report);
  callSafely(() => connection.config.onProgress?.(report), parts.report);
  callSafely(() => parts.onProgress?.({ name: call.tool.server }, report), parts.report);
}

interface SendOptions {
  connection: ServerConnection;
  timeoutMs: number;
  reported: (progress: Progress) => void;
  /** Aborted when the work is over, which may be long after the answer. */
  worked: () => AbortSignal;
}

function sendCall(
  parts: AttemptParts,
  call: ToolCall,
  sending: SendOptions,
): Promise<Record<string, unknown>> {
  const { tool, args, options, patient } = call;
  const { connection, timeoutMs, reported, worked } = sending;
  const source = parts.sourceOf(tool.server, tool.sourceName)?.source;
  // Few tools repeat arguments as headers.
  const declared = source?.paramHeaders.length ? paramHeaders(source.paramHeaders, args) : undefined;
  const headers = declared === undefined ? options.headers : { ...options.headers, ...declared };
  return runOnSession(
    connection,
    (session) =>
      parts.trace({ call, session }, (trace) => {
        const meta = trace === undefined ? options.meta : { ...trace, ...options.meta };
        const task = askForTask(call, session, source?.execution ?? tool.execution);
        return session.request(
          "tools/call",
          {
            name: tool.sourceName,
            arguments: args,
            ...(task !== undefined && { task }),
            ...(meta !== undefined && { _meta: meta }),
          },
          // Progress is always asked for: without it a server that works for long looks silent.
          {
            timeoutMs,
            maxTimeoutMs: call.deadline - performance.now(),
            signal: options.signal,
            headers,
            onProgress: reported,
            ...(task !== undefined && { progressUntil: worked() }),
          },
        );
      }),
    {
      repeatable: options.idempotent === true || parts.isRepeatable?.(call) === true,
      waitMs: Math.min(timeoutMs, call.deadline - performance.now()),
      patient,
      signal: options.signal,
    },
  );
}
