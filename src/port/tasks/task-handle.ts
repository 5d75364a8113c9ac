/** The handle of a task. */
import type { WaitOptions } from "../../connection/server-connection.js";
import type { ToolResult } from "../../execution/tool-result.js";
import type { Progress } from "../../protocol/pending-request.js";
import type { TaskStatus } from "../../protocol/tasks.js";

/** Options of `TaskHandle.result()`. */
export interface TaskResultOptions {
  /** How long the server may take to answer one question about the task. @default as for a call */
  timeoutMs?: number;
  /** Time limit for the whole wait. @default Infinity */
  maxTimeoutMs?: number;
  /** Aborts the wait, not the task; use `cancel()` for that. */
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => unknown;
}

/** A task as plain data. */
export interface TaskInfo {
  readonly id: string;
  readonly server: string;
  /** Public name of the tool. */
  readonly tool: string;
  /** When the task was created, in ISO 8601. */
  readonly createdAt: string;
  /** How long after `createdAt` the server keeps the task; `null`: for ever, or the server gave no time. */
  readonly ttlMs: number | null;
}

/**
 * A task on a server. While it runs, it is in the store: `toolport.task(id)` returns the same handle in another process.
 */
export interface TaskHandle<Structured = unknown> extends TaskInfo {
  /** Asks the server for the status. */
  status(options?: WaitOptions): Promise<TaskStatus>;
  /**
   * Waits for the result and polls at the interval that the server asks for. Rejects with `TASK_CANCELLED`, `TASK_LOST` or
   * the error of the call. An abort or a timeout ends only the wait; you can wait again.
   */
  result(options?: TaskResultOptions): Promise<ToolResult<Structured>>;
  /** Asks the server to cancel the task. The task may still finish first. */
  cancel(options?: WaitOptions): Promise<void>;
  toJSON(): TaskInfo;
}
