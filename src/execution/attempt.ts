/** The innermost step: one request to one server, its time, its headers, its trace. */
import type { CatalogEntry } from "../catalog/build-snapshot.js";
import { compileNames } from "../catalog/filters/glob.js";
import { secretsOf } from "../config/known-secrets.js";
import type { ServerConfig } from "../config/server-config.js";
import { runOnSession } from "../connection/run-on-session.js";
import type { ServerConnection } from "../connection/server-connection.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import { paramHeaders } from "../protocol/param-headers.js";
import { dependsOnInput, type Session, type SessionRequestOptions } from "../protocol/session.js";
import { readCreatedTask } from "../protocol/tasks.js";
import { debugChannel } from "../telemetry/debug-channel.js";
import { ProgressCallbacks, type ProgressParts } from "./progress-callbacks.js";
import { askForTask, requireResult, taskReceipt, withoutReceipt } from "./tasks/ask-for-task.js";
import { createTaskProgress, type TaskProgress } from "./tasks/task-progress.js";
import type { StartedTask, TaskRuns } from "./tasks/task-runs.js";
import type { CallHandler, ToolCall } from "./tool-call.js";
import { INPUT_META_KEY, type MalformedContent, type ToolResult, toToolResult } from "./tool-result.js";

export interface AttemptParts extends ProgressParts {
  connectionOf: (server: string) => ServerConnection;
  /** The tool as the server listed it. */
  sourceOf: (server: string, sourceName: string) => CatalogEntry | undefined;
  /** Reads the server's lists anew. */
  refresh: (server: string, call: ToolCall) => Promise<void>;
  timeoutMs: number;
  /** May run twice although its caller did not say so. */
  isRepeatable?: ((call: ToolCall) => boolean) | undefined;
  /** Called for every result with malformed content. */
  onMalformed: (connection: ServerConnection, call: ToolCall, malformed: MalformedContent) => void;
  /** Calls that became tasks. */
  tasks: TaskRuns;
  /** Spans are wanted at this moment; if not, `trace` need not be called. */
  isTraced: () => boolean;
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
  const progress = new ProgressCallbacks(parts);
  return (call) => new Attempt(parts, call, progress).run();
}

/**
 * An object with methods and not functions within functions: of all that an attempt can come to, a plain call needs next to
 * nothing, and what it does not need is not made for it.
 */
class Attempt {
  readonly #parts: AttemptParts;
  readonly #call: ToolCall;
  readonly #startedAt = performance.now();
  #connection!: ServerConnection;
  #timeoutMs = 0;
  readonly #callbacks: ProgressCallbacks;
  #progress: TaskProgress | undefined;
  /** Aborted when the work is over, which may be long after the answer. */
  #work: AbortController | undefined;

  constructor(parts: AttemptParts, call: ToolCall, callbacks: ProgressCallbacks) {
    this.#parts = parts;
    this.#call = call;
    this.#callbacks = callbacks;
  }

  run(): Promise<ToolResult> {
    try {
      const { tool, options } = this.#call;
      const connection = this.#parts.connectionOf(tool.server);
      const { config } = connection;
      this.#connection = connection;
      this.#timeoutMs =
        options.timeoutMs ??
        toolTimeout(config, tool.sourceName) ??
        config.timeoutMs ??
        this.#parts.timeoutMs;
      const started = this.#parts.tasks.of(this.#call);
      if (started !== undefined) return this.#finishLater(this.#follow(started));
      return this.#send().then(
        (raw) => this.#receive(raw),
        (error: unknown) => this.#finishLater(this.#resend(error)),
      );
    } catch (cause) {
      return this.#finishLater(Promise.reject(cause));
    }
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

  /** What the call answers, if it did not become a task; else a promise of what that comes to. */
  #settle(raw: Record<string, unknown>): Record<string, unknown> | Promise<Record<string, unknown>> {
    const state = readCreatedTask(raw);
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
    await this.#parts.refresh(this.#call.tool.server, this.#call);
    return this.#settle(await this.#send());
  }

  async #follow(task: StartedTask): Promise<Record<string, unknown>> {
    const call = this.#call;
    try {
      if (call.options.task && call.task === undefined) return taskReceipt(task.record);
      return await this.#parts.tasks.finish(call, task, {
        connection: this.#connection,
        timeoutMs: this.#timeoutMs,
        progress: this.#ofTask(),
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
    let result: ToolResult;
    try {
      result = withoutReceipt(call, toToolResult(raw, call.tool.server), raw);
    } catch (cause) {
      return this.#fail(cause);
    }
    this.#note();
    if (result.malformed !== undefined) this.#parts.onMalformed(this.#connection, call, result.malformed);
    // The mark on the raw answer would be lost in any copy; this one stays.
    return dependsOnInput(raw) ? { ...result, _meta: { ...result._meta, [INPUT_META_KEY]: true } } : result;
  }

  #fail(cause: unknown): never {
    const { tool, options } = this.#call;
    // An abort is the caller's own: its reason passes through as it is.
    if (options.signal?.aborted) throw cause;
    const converted = toToolportError(cause, { server: tool.server, tool: tool.sourceName });
    const error =
      this.#connection === undefined ? converted : secretsOf(this.#connection.config).redactError(converted);
    this.#note(error);
    throw error;
  }

  #note(error?: ToolportError): void {
    const { tool, attempts } = this.#call;
    const durationMs = performance.now() - this.#startedAt;
    attempts.push({ server: tool.server, durationMs, error });
    if (!debug.enabled) return;
    const end = error?.message ?? "answered";
    debug(`[${tool.server}/${tool.sourceName}] ${end} after ${Math.round(durationMs)} ms`);
  }

  #send(): Promise<Record<string, unknown>> {
    const call = this.#call;
    const { options, deadline, patient } = call;
    const { isRepeatable, isTraced, trace } = this.#parts;
    return runOnSession(
      this.#connection,
      (session) =>
        isTraced()
          ? trace({ call, session }, (meta) => this.#request(session, meta))
          : this.#request(session),
      {
        repeatable: options.idempotent === true || isRepeatable?.(call) === true,
        resends: call.resends,
        waitMs: Math.min(this.#timeoutMs, deadline - this.#startedAt),
        patient,
        signal: options.signal,
      },
    );
  }

  #request(session: Session, trace?: Record<string, string>): Promise<Record<string, unknown>> {
    const { tool, args, options, deadline } = this.#call;
    const source = this.#parts.sourceOf(tool.server, tool.sourceName)?.source;
    const meta = trace === undefined ? options.meta : { ...trace, ...options.meta };
    const task = askForTask(this.#call, session, source?.execution ?? tool.execution);
    const plain = { name: tool.sourceName, arguments: args };
    const params =
      task === undefined && meta === undefined
        ? plain
        : { ...plain, ...(task && { task }), ...(meta && { _meta: meta }) };
    // Few tools repeat arguments as headers.
    const declared = source?.paramHeaders.length ? paramHeaders(source.paramHeaders, args) : undefined;
    const limits: SessionRequestOptions = {
      timeoutMs: this.#timeoutMs,
      maxTimeoutMs: deadline - performance.now(),
      signal: options.signal,
      headers: declared === undefined ? options.headers : { ...options.headers, ...declared },
      resends: this.#call.resends,
      // Always asked for: without it a server that works for long looks silent.
      onProgress: (report) => this.#ofTask().reported(report),
      progressUntil: task && this.#worked(),
    };
    return session.request("tools/call", params, limits);
  }

  #ofTask(): TaskProgress {
    this.#progress ??= createTaskProgress(this.#callbacks.of(this.#call, this.#connection.config));
    return this.#progress;
  }

  #worked(): AbortSignal {
    this.#work ??= new AbortController();
    return this.#work.signal;
  }
}

/** The limit of this one tool, if its server's entry names it. */
function toolTimeout({ toolTimeoutsMs }: ServerConfig, tool: string): number | undefined {
  if (toolTimeoutsMs === undefined) return undefined;
  return Object.entries(toolTimeoutsMs).find(([pattern]) => compileNames([pattern])(tool))?.[1];
}
