/**
 * What a client asks about tasks: the experimental ones of 2025-11-25, and the extension of 2026-07-28.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
 * @see https://github.com/modelcontextprotocol/ext-tasks
 */
import { ToolCallError } from "../../errors/tool-call-error.js";
import { TASKS_EXTENSION } from "../era.js";
import type { Session, SessionRequestOptions } from "../session.js";
import { readTask, type TaskState } from "./task-state.js";

/**
 * - `never`: the tool cannot run as a task.
 * - `optional`: it can; on the legacy wire if the client wants it, on the modern one if the server does.
 * - `required`: it cannot run otherwise.
 */
export type TaskSupport = "never" | "optional" | "required";

type Capable = Pick<Session, "era" | "capabilities">;

/** Whether a tool of this server can run as a task. */
export function taskSupport(
  { era, capabilities }: Capable,
  execution: Readonly<Record<string, unknown>> | undefined,
): TaskSupport {
  if (era === "modern")
    return capabilities.extensions?.[TASKS_EXTENSION] === undefined ? "never" : "optional";
  if (capabilities.tasks?.requests?.tools?.call === undefined) return "never";
  const support = execution?.["taskSupport"];
  return support === "required" || support === "optional" ? support : "never";
}

/** A legacy server says by itself whether tasks can be cancelled; the extension always can. */
export const canCancel = ({ era, capabilities }: Capable): boolean =>
  era === "modern" || capabilities.tasks?.cancel !== undefined;

/** How a task stands. */
export async function getTask(
  session: Session,
  taskId: string,
  options: SessionRequestOptions,
): Promise<TaskState> {
  const result = await session.request("tasks/get", { taskId }, options);
  const state = readTask(result);
  if (state !== undefined && state.taskId === taskId) return state;
  throw new ToolCallError({
    code: "PROTOCOL",
    server: session.server,
    what: "The answer to tasks/get is not this task",
    next: "Report this to the maker of the server",
    result,
  });
}

/** Legacy wire: what the call would have answered. The server answers when the task is over, and may ask until then. */
export const getTaskResult = (
  session: Session,
  taskId: string,
  options: SessionRequestOptions,
): Promise<Record<string, unknown>> => session.request("tasks/result", { taskId }, options);

/** Modern wire: answers what the task waits for. */
export async function updateTask(
  session: Session,
  update: { taskId: string; inputResponses: Record<string, unknown> },
  options: SessionRequestOptions,
): Promise<void> {
  await session.request("tasks/update", { ...update }, options);
}

/** Says that nobody wants the result any more. */
export async function cancelTask(
  session: Session,
  taskId: string,
  options: SessionRequestOptions,
): Promise<void> {
  await session.request("tasks/cancel", { taskId }, options);
}
