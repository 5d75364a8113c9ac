/** Calls that became tasks: records them, waits for their results, and cancels them when the caller gives up. */

import { onSharedAbort, ToolCallError, timerMs } from "@toolport/base";
import { runOnSession, type ServerConnection } from "../../connection/server-connection.js";
import { toPausedRaw } from "../../protocol/input-rounds.js";
import { markDependsOnInput } from "../../protocol/session.js";
import { canCancel, cancelTask, type TaskState } from "../../protocol/tasks.js";
import type { TaskProgress } from "../call-progress.js";
import { suspendsFor } from "../suspend/call-suspension.js";
import type { CallAttempt, ToolCall } from "../tool-call.js";
import { followTask } from "./follow-task.js";
import { isTaskOver, isUnknownTask, taskTimedOut } from "./task-errors.js";
import type { TaskRecord } from "./task-record.js";

/** The part of a port that tasks need. */
export interface TaskRunsParts {
  /** Saves a running task. Never rejects. */
  keep(record: TaskRecord): Promise<void>;
  /** Deletes a task that has ended. Never rejects. */
  drop(record: TaskRecord): Promise<void>;
  /** Registers a listener for notifications about the task; returns a function that removes it. */
  onNews(record: TaskRecord, listener: () => void): () => void;
  /** Aborted when the port closes. The tasks continue on their servers. */
  readonly closing: AbortSignal;
}

/** A task and its state at creation. */
export interface StartedTask {
  readonly record: TaskRecord;
  readonly state?: TaskState | undefined;
  /** Input of the user went into the call before the task was created. */
  readonly usedInput?: boolean;
}

interface FollowOptions {
  readonly connection: ServerConnection;
  readonly timeoutMs: number;
  readonly progress: TaskProgress;
  /** Receives questions to the user that Toolport declines. */
  readonly report: (error: unknown) => void;
}

const CANCEL_TIMEOUT_MS = 5_000;

export class TaskRuns {
  /** By the array that all attempts of one call share: a repeated attempt continues with the same task. */
  #started: WeakMap<readonly CallAttempt[], StartedTask> | undefined;

  constructor(private readonly parts: TaskRunsParts) {}

  /** The task that this attempt continues with. */
  of({ task, attempts, tool }: ToolCall): StartedTask | undefined {
    if (task !== undefined) return { record: task };
    const started = this.#started?.get(attempts);
    return started?.record.server === tool.server ? started : undefined;
  }

  /** The server answered the call with a task. */
  async begin(call: ToolCall, state: TaskState, usedInput: boolean): Promise<StartedTask> {
    const { attempts, tool, suspension } = call;
    suspension?.onStage?.("begun");
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
    this.#started ??= new WeakMap();
    this.#started.set(attempts, started);
    await this.parts.keep(record);
    return started;
  }

  /** The raw result of a task, as the call itself would have returned it. */
  async finish(
    call: ToolCall,
    started: StartedTask,
    options: FollowOptions,
  ): Promise<Record<string, unknown>> {
    const { record, state } = started;
    const over = new AbortController();
    const release = this.#endWith(over, call);
    try {
      const suspension = suspendsFor(call.suspension, "input") ? call.suspension : undefined;
      const { raw, usedInput, pause } = await followTask(
        {
          ...options,
          suspension,
          taskId: record.taskId,
          tool: record.sourceName,
          deadline: call.deadline,
          signal: over.signal,
          onStatus: options.progress.statusChanged,
          onNews: (listener) => this.parts.onNews(record, listener),
        },
        state,
      );
      // The task waits at the server for the answer.
      if (pause !== undefined) return toPausedRaw(pause);
      this.#forget(call, record);
      return usedInput || started.usedInput ? markDependsOnInput(raw) : raw;
    } catch (error) {
      const reason = over.signal.aborted ? over.signal.reason : error;
      if (isTaskOver(reason)) this.#forget(call, record);
      else if (call.task === undefined && this.#isGivenUp(call, reason))
        // No caller waits for it; if the request fails, the server deletes the task when its ttl ends.
        this.cancel(options.connection, record, CANCEL_TIMEOUT_MS).catch(() => {});
      throw reason;
    } finally {
      release();
      // Stops pending polls.
      over.abort();
    }
  }

  /** Asks the server to cancel the task; false if it does not support that. */
  async cancel(connection: ServerConnection, record: TaskRecord, timeoutMs: number): Promise<boolean> {
    const limits = { timeoutMs, maxTimeoutMs: timeoutMs };
    const isCancelled = await runOnSession(
      connection,
      async (session) => {
        if (!canCancel(session)) return false;
        await cancelTask(session, record.taskId, limits).catch((error: unknown) => {
          // The task has already ended.
          if (!isUnknownTask(error)) throw error;
        });
        return true;
      },
      { repeatable: true, waitMs: timeoutMs },
    );
    if (isCancelled) await this.parts.drop(record);
    return isCancelled;
  }

  /** The caller has given up. Retryable errors do not count: the call may be repeated and continue with the task. */
  #isGivenUp({ options }: ToolCall, reason: unknown): boolean {
    if (options.signal?.aborted) return true;
    return reason instanceof ToolCallError && !reason.retryable;
  }

  #forget({ attempts }: ToolCall, record: TaskRecord): void {
    this.#started?.delete(attempts);
    void this.parts.drop(record);
  }

  /** Aborts `over` with the caller's signal, the port or the deadline; returns a function that removes all three. */
  #endWith(over: AbortController, call: ToolCall): () => void {
    const { tool, deadline, startedAt, options } = call;
    const signals = [options.signal, this.parts.closing].filter((signal) => signal !== undefined);
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
