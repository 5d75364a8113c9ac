/** Calls that became tasks: noted down, followed to their end, cancelled when nobody wants them any more. */
import { runOnSession } from "../../connection/run-on-session.js";
import type { ServerConnection } from "../../connection/server-connection.js";
import { ToolCallError } from "../../errors/tool-call-error.js";
import { markDependsOnInput } from "../../protocol/session.js";
import { canCancel, cancelTask, type TaskState } from "../../protocol/tasks.js";
import { onSharedAbort } from "../../util/shared-abort.js";
import { timerMs } from "../../util/timers.js";
import type { TaskProgress } from "../call-progress.js";
import type { CallAttempt, ToolCall } from "../tool-call.js";
import { followTask } from "./follow-task.js";
import { isTaskOver, isUnknownTask, taskTimedOut } from "./task-errors.js";
import type { TaskRecord } from "./task-record.js";

/** What a port does for its tasks. */
export interface TaskRunsParts {
  /** Remembers a task that runs. Never rejects. */
  keep(record: TaskRecord): Promise<void>;
  /** Forgets one that is over. Never rejects. */
  drop(record: TaskRecord): Promise<void>;
  /** Calls back when the server says by itself that the task changed; returns what stops it. */
  onNews(record: TaskRecord, listener: () => void): () => void;
  /** Aborted when the port closes: its tasks go on at their servers. */
  readonly closing: AbortSignal;
}

/** A task, and how it stood when it was made. */
export interface StartedTask {
  readonly record: TaskRecord;
  readonly state?: TaskState | undefined;
  /** A user had a say in it before it was made. */
  readonly usedInput?: boolean;
}

interface FollowOptions {
  readonly connection: ServerConnection;
  readonly timeoutMs: number;
  readonly progress: TaskProgress;
}

const CANCEL_TIMEOUT_MS = 5_000;

export class TaskRuns {
  readonly #parts: TaskRunsParts;
  /** By what all attempts at one call share: when one is repeated, it goes on with the task of the one before. */
  readonly #started = new WeakMap<readonly CallAttempt[], StartedTask>();

  constructor(parts: TaskRunsParts) {
    this.#parts = parts;
  }

  /** The task to go on with, if there is one. */
  of({ task, attempts, tool }: ToolCall): StartedTask | undefined {
    if (task !== undefined) return { record: task };
    const started = this.#started.get(attempts);
    return started?.record.server === tool.server ? started : undefined;
  }

  /** A server answered the call with a task. */
  async begin({ attempts, tool }: ToolCall, state: TaskState, usedInput: boolean): Promise<StartedTask> {
    const { createdAt = new Date().toISOString(), ttlMs = null } = state.status;
    const record: TaskRecord = {
      taskId: state.taskId,
      server: tool.server,
      sourceName: tool.sourceName,
      tool: tool.name,
      createdAt,
      ttlMs,
    };
    const started = { record, state, usedInput };
    this.#started.set(attempts, started);
    await this.#parts.keep(record);
    return started;
  }

  /** The result of a task, as the call itself would have answered. */
  async finish(
    call: ToolCall,
    started: StartedTask,
    options: FollowOptions,
  ): Promise<Record<string, unknown>> {
    const { record, state } = started;
    const over = new AbortController();
    const release = this.#endWith(over, call);
    try {
      const { raw, usedInput } = await followTask(
        {
          ...options,
          taskId: record.taskId,
          tool: record.sourceName,
          deadline: call.deadline,
          signal: over.signal,
          onStatus: options.progress.statusChanged,
          onNews: (listener) => this.#parts.onNews(record, listener),
        },
        state,
      );
      this.#forget(call, record);
      return usedInput || started.usedInput ? markDependsOnInput(raw) : raw;
    } catch (error) {
      const reason = over.signal.aborted ? over.signal.reason : error;
      if (isTaskOver(reason)) this.#forget(call, record);
      else if (call.task === undefined && this.#isGivenUp(call, reason))
        this.#giveUp(options.connection, record);
      throw reason;
    } finally {
      release();
      // Ends what is still asked about it.
      over.abort();
    }
  }

  /** Tells the server that nobody wants the result; true if it heard. */
  async cancel(connection: ServerConnection, record: TaskRecord, timeoutMs: number): Promise<boolean> {
    const limits = { timeoutMs, maxTimeoutMs: timeoutMs };
    const heard = await runOnSession(
      connection,
      async (session) => {
        if (!canCancel(session)) return false;
        await cancelTask(session, record.taskId, limits).catch((error: unknown) => {
          // It is over already, or forgotten: just as well.
          if (!isUnknownTask(error)) throw error;
        });
        return true;
      },
      { repeatable: true, waitMs: timeoutMs },
    );
    if (heard) await this.#parts.drop(record);
    return heard;
  }

  /** Whoever called waits no longer, and not because of the way to the server: that may come back, and the call too. */
  #isGivenUp({ options }: ToolCall, reason: unknown): boolean {
    if (options.signal?.aborted) return true;
    return reason instanceof ToolCallError && !reason.retryable;
  }

  #giveUp(connection: ServerConnection, record: TaskRecord): void {
    // Nobody waits for it, and a server that cannot be told now forgets the task by itself some time.
    this.cancel(connection, record, CANCEL_TIMEOUT_MS).catch(() => {});
  }

  #forget({ attempts }: ToolCall, record: TaskRecord): void {
    this.#started.delete(attempts);
    void this.#parts.drop(record);
  }

  /** Ends with the caller's signal, the port or the time; returns what lets go of all three. */
  #endWith(over: AbortController, call: ToolCall): () => void {
    const { tool, deadline, startedAt, options } = call;
    const signals = [options.signal, this.#parts.closing].filter((signal) => signal !== undefined);
    const stops = signals.map((signal) => {
      if (signal.aborted) over.abort(signal.reason);
      return onSharedAbort(signal, () => over.abort(signal.reason));
    });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      const left = deadline - performance.now();
      if (left > 0) timer = setTimeout(look, timerMs(left));
      else over.abort(taskTimedOut({ server: tool.server, tool: tool.sourceName }, deadline - startedAt));
    };
    if (deadline !== Number.POSITIVE_INFINITY) look();
    return () => {
      clearTimeout(timer);
      for (const stop of stops) stop();
    };
  }
}
