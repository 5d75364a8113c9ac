/** Errors of tasks that end without a result. */
import { ToolCallError } from "@toolport/base";
import type { TaskState } from "../../protocol/tasks.js";

interface Where {
  readonly server: string;
  readonly tool: string;
}

const INTERNAL_ERROR = -32603;
const INVALID_PARAMS = -32602;

/** The server does not know the task. */
export const isUnknownTask = (error: unknown): boolean =>
  error instanceof ToolCallError && error.code === "PROTOCOL" && error.rpcCode === INVALID_PARAMS;

const ends = new WeakSet<object>();

/** The task itself has ended: there is nothing left to wait for or to cancel. */
export const isTaskOver = (error: unknown): boolean =>
  typeof error === "object" && error !== null && ends.has(error);

function over(error: ToolCallError): ToolCallError {
  ends.add(error);
  return error;
}

const said = (message: string | undefined): string => (message === undefined ? "" : `: ${message}`);

/** The server does not know the task any more, so there will be no result. */
export const taskLost = (where: Where, cause: unknown): ToolCallError =>
  over(
    new ToolCallError({
      ...where,
      code: "TASK_LOST",
      what: "The server no longer knows the task",
      next: "Start it again if that is safe; set a longer ttlMs if it expired",
      rpcCode: INVALID_PARAMS,
      cause,
    }),
  );

export const taskCancelled = (where: Where, { status }: TaskState): ToolCallError =>
  over(
    new ToolCallError({
      ...where,
      code: "TASK_CANCELLED",
      what: `The task was cancelled${said(status.message)}`,
      next: "Start it again if you still want it",
    }),
  );

/** The call itself failed. The error is the same as without a task, if the server sends it. */
export function taskFailed(where: Where, { status, error }: TaskState, cause?: unknown): ToolCallError {
  const callError = cause instanceof ToolCallError ? cause : undefined;
  const rpcCode = error?.code ?? callError?.rpcCode;
  return over(
    new ToolCallError({
      ...where,
      code: "PROTOCOL",
      what: `The task failed${said(error?.message ?? status.message ?? callError?.what)}`,
      retryable: rpcCode === INTERNAL_ERROR,
      rpcCode,
      data: error?.data ?? callError?.data,
      cause,
    }),
  );
}

export const taskFault = (where: Where, what: string, result?: unknown): ToolCallError =>
  new ToolCallError({
    ...where,
    code: "PROTOCOL",
    what,
    next: "Report this to the author of the server",
    result,
  });

export const taskTimedOut = (where: Where, limitMs: number): ToolCallError =>
  new ToolCallError({
    ...where,
    code: "TIMEOUT",
    what: `The task did not finish within ${Math.round(limitMs)} ms`,
    next: "Raise maxTimeoutMs, or start it with task: true and fetch the result later",
    phase: "task",
  });
