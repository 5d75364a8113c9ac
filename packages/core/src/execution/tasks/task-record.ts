/** The stored record of a running task. It contains nothing that was sent with the call. */
import type { ToolResult } from "../tool-result.js";

/** A task that runs on a server. */
export interface TaskRecord {
  /** The id that the server gave the task. */
  readonly taskId: string;
  /** Configured name of the server. */
  readonly server: string;
  /** Name of the tool on the server. */
  readonly sourceName: string;
  /** Public name of the tool. */
  readonly tool: string;
  /** When the task was created, in ISO 8601. */
  readonly createdAt: string;
  /** How long after `createdAt` the server keeps the task; `null`: for ever, or the server gave no time. */
  readonly ttlMs: number | null;
}

/** Key in `_meta` of the result of a call with `task`: the task that was created. Removed from results of servers. */
export const TASK_META_KEY = "toolport/task";

/** The task that a receipt names; undefined for a real result. */
export const receiptOf = ({ _meta }: ToolResult): TaskRecord | undefined =>
  _meta?.[TASK_META_KEY] as TaskRecord | undefined;
