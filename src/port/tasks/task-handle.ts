/** A task in the caller's hand. */
import type { WaitOptions } from "../../connection/server-connection.js";
import type { ToolResult } from "../../execution/tool-result.js";
import type { Progress } from "../../protocol/pending-request.js";
import type { TaskStatus } from "../../protocol/tasks.js";

/** What `TaskHandle.result()` takes. */
export interface TaskResultOptions {
  /** Longest silence of the server's: questions about the task must be answered within it. @default as for a call */
  timeoutMs?: number;
  /** Longest time in all. @default Infinity */
  maxTimeoutMs?: number;
  /** Ends the wait, not the task: for that there is `cancel()`. */
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => unknown;
}

/** A task as plain data. */
export interface TaskInfo {
  readonly id: string;
  readonly server: string;
  /** Public name of the tool. */
  readonly tool: string;
  /** When it was made, in ISO 8601. */
  readonly createdAt: string;
  /** How long after `createdAt` the server keeps it; `null`: without end, or it did not say. */
  readonly ttlMs: number | null;
}

/**
 * Work that goes on at a server. While it does, it is in the store: `toolport.task(id)` gives the same handle in another
 * process.
 */
export interface TaskHandle<Structured = unknown> extends TaskInfo {
  /** Asks the server how it stands. */
  status(options?: WaitOptions): Promise<TaskStatus>;
  /**
   * Waits for the result, at the pace the server wants to be asked. Rejects with `TASK_CANCELLED`, `TASK_LOST` or the error
   * the call ended in. A wait that is aborted or takes too long leaves the task alone; wait again whenever you like.
   */
  result(options?: TaskResultOptions): Promise<ToolResult<Structured>>;
  /** Tells the server that nobody wants the result. It may take a while, or come too late. */
  cancel(options?: WaitOptions): Promise<void>;
  toJSON(): TaskInfo;
}
