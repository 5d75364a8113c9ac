/**
 * What a client asks about tasks: the experimental ones of 2025-11-25, and the extension of 2026-07-28.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
 * @see https://github.com/modelcontextprotocol/ext-tasks
 */
import { ToolCallError } from "../errors/tool-call-error.js";
import { TASKS_EXTENSION } from "./era.js";
import type { ServerRequest } from "./server-requests/request-responder.js";
import type { Session, SessionRequestOptions } from "./session.js";

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

const STATUSES = ["working", "input_required", "completed", "failed", "cancelled"] as const;

/** Where a task stands. The last three are final. */
export type TaskStatusName = (typeof STATUSES)[number];

/** What a server says about a task. */
export interface TaskStatus {
  readonly status: TaskStatusName;
  /** In the server's own words; may be shown to a user. */
  readonly message?: string;
  /** When it was made, in ISO 8601. */
  readonly createdAt?: string;
  /** When it last changed, in ISO 8601. */
  readonly updatedAt?: string;
  /** How long after `createdAt` the server keeps it; `null`: without end. */
  readonly ttlMs?: number | null;
  /** How often the server wants to be asked. */
  readonly pollIntervalMs?: number;
}

/** The same with what the modern wire puts beside it. */
export interface TaskState {
  readonly taskId: string;
  readonly status: TaskStatus;
  /** What the server wants to know before it goes on. */
  readonly inputRequests?: Readonly<Record<string, ServerRequest>> | undefined;
  /** What the call would have answered. */
  readonly result?: Readonly<Record<string, unknown>> | undefined;
  /** The JSON-RPC error the call would have ended in. */
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown } | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isStatus = (value: unknown): value is TaskStatusName =>
  (STATUSES as readonly unknown[]).includes(value);

const isSpan = (value: unknown): value is number => typeof value === "number" && value >= 0;

/** No status can follow this one. */
export const isFinal = (status: TaskStatusName): boolean =>
  status !== "working" && status !== "input_required";

/** The answer to `tasks/get`; undefined if it is no task. */
export function readTask(raw: unknown): TaskState | undefined {
  if (!isObject(raw)) return undefined;
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, inputRequests, result, error } = raw;
  if (typeof taskId !== "string" || taskId === "" || !isStatus(status)) return undefined;
  // The two wires differ in the names of the spans only.
  const ttlMs = raw["ttlMs"] ?? raw["ttl"];
  const pollIntervalMs = raw["pollIntervalMs"] ?? raw["pollInterval"];
  const isKeptForever = raw["ttlMs"] === null || raw["ttl"] === null;
  return {
    taskId,
    status: {
      status,
      ...(typeof statusMessage === "string" && { message: statusMessage }),
      ...(typeof createdAt === "string" && { createdAt }),
      ...(typeof lastUpdatedAt === "string" && { updatedAt: lastUpdatedAt }),
      ...(isSpan(ttlMs) ? { ttlMs } : isKeptForever && { ttlMs: null }),
      ...(isSpan(pollIntervalMs) && { pollIntervalMs }),
    },
    inputRequests: isObject(inputRequests) ? readRequests(inputRequests) : undefined,
    result: isObject(result) ? result : undefined,
    error: readError(error),
  };
}

/** The task that a server answered `tools/call` with; undefined if it answered with a result. */
export function readCreatedTask(raw: Fields): TaskState | undefined {
  if (raw["resultType"] === "task") return readTask(raw);
  return raw["content"] === undefined ? readTask(raw["task"]) : undefined;
}

function readRequests(requests: Fields): Record<string, ServerRequest> {
  const isRequest = (value: unknown): value is ServerRequest =>
    isObject(value) && typeof value["method"] === "string";
  const valid = Object.entries(requests).filter((entry): entry is [string, ServerRequest] =>
    isRequest(entry[1]),
  );
  return Object.fromEntries(valid);
}

function readError(error: unknown): TaskState["error"] {
  if (!isObject(error)) return undefined;
  const { code, message, data } = error;
  return {
    code: typeof code === "number" ? code : -32603,
    message: typeof message === "string" ? message : "no reason given",
    ...(data !== undefined && { data }),
  };
}
