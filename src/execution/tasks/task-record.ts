/** What is remembered of a task while it runs: enough to ask for it again, and nothing that was sent with the call. */
import type { ToolCall } from "../tool-call.js";
import type { ToolResult } from "../tool-result.js";

/** A task of a server's. */
export interface TaskRecord {
  /** The server's own name for it. */
  readonly taskId: string;
  /** The server that runs it, as configured. */
  readonly server: string;
  /** Name of the tool on the server. */
  readonly sourceName: string;
  /** Public name of the tool. */
  readonly tool: string;
  /** When it was made, in ISO 8601. */
  readonly createdAt: string;
  /** How long after `createdAt` the server keeps it; `null`: without end, or it did not say. */
  readonly ttlMs: number | null;
}

/** Where the answer to a call with `task` says which task was made. Never taken from a server. */
export const TASK_META_KEY = "toolport/task";

/** The task that an answer stands for; undefined for a result. */
export const receiptOf = ({ _meta }: ToolResult): TaskRecord | undefined =>
  _meta?.[TASK_META_KEY] as TaskRecord | undefined;

/** The answer says that a task was made; the result is still to come. */
export const isTaskReceipt = (
  { options, task }: Pick<ToolCall, "options" | "task">,
  result: ToolResult,
): boolean => Boolean(options.task) && task === undefined && receiptOf(result) !== undefined;
