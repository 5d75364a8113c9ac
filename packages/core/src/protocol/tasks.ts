/**
 * Tasks on the wire: the experimental ones of 2025-11-25 and the extension of 2026-07-28.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
 * @see https://github.com/modelcontextprotocol/ext-tasks
 */
import { type Fields, isRecord, ToolCallError } from "@toolport/base";
import { TASKS_EXTENSION } from "./era.js";
import type { ServerRequest } from "./server-requests/request-responder.js";
import type { Session, SessionRequestOptions } from "./session.js";

/**
 * - `never`: the tool cannot run as a task.
 * - `optional`: it can; the client decides on the legacy wire, the server on the modern one.
 * - `required`: it runs only as a task.
 */
type TaskSupport = "never" | "optional" | "required";

type Capable = Pick<Session, "era" | "capabilities">;

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

/** Legacy servers advertise whether tasks can be cancelled; with the extension they always can. */
export const canCancel = ({ era, capabilities }: Capable): boolean =>
  era === "modern" || capabilities.tasks?.cancel !== undefined;

/** Requests the state of a task. */
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
    what: "The result of tasks/get is not the requested task",
    next: "Report this to the author of the server",
    result,
  });
}

/** Legacy wire: the result of the call. The server responds when the task is done, and may send requests until then. */
export const getTaskResult = (
  session: Session,
  taskId: string,
  options: SessionRequestOptions,
): Promise<Record<string, unknown>> => session.request("tasks/result", { taskId }, options);

/** Modern wire: sends the input that the task waits for. */
export async function updateTask(
  session: Session,
  update: { taskId: string; inputResponses: Record<string, unknown> },
  options: SessionRequestOptions,
): Promise<void> {
  await session.request("tasks/update", { ...update }, options);
}

export async function cancelTask(
  session: Session,
  taskId: string,
  options: SessionRequestOptions,
): Promise<void> {
  await session.request("tasks/cancel", { taskId }, options);
}

const STATUSES = ["working", "input_required", "completed", "failed", "cancelled"] as const;

/** The status of a task. The last three are final. */
export type TaskStatusName = (typeof STATUSES)[number];

/** The state of a task, as its server reports it. */
export interface TaskStatus {
  readonly status: TaskStatusName;
  /** Text from the server; may be shown to a user. */
  readonly message?: string;
  /** When the task was created, in ISO 8601. */
  readonly createdAt?: string;
  /** When the task last changed, in ISO 8601. */
  readonly updatedAt?: string;
  /** How long after `createdAt` the server keeps the task; `null`: without limit. */
  readonly ttlMs?: number | null;
  /** How often the server wants to be polled. */
  readonly pollIntervalMs?: number;
}

/** The status with the additional fields of the modern wire. */
export interface TaskState {
  readonly taskId: string;
  readonly status: TaskStatus;
  /** Input that the server needs to continue. */
  readonly inputRequests?: Readonly<Record<string, ServerRequest>> | undefined;
  /** The result of the call. */
  readonly result?: Readonly<Record<string, unknown>> | undefined;
  /** The JSON-RPC error of the call. */
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown } | undefined;
}

const isStatus = (value: unknown): value is TaskStatusName =>
  (STATUSES as readonly unknown[]).includes(value);

const isDuration = (value: unknown): value is number => typeof value === "number" && value >= 0;

export const isFinal = (status: TaskStatusName): boolean =>
  status !== "working" && status !== "input_required";

/** Reads a task tolerantly; undefined if the value is not a task. */
export function readTask(raw: unknown): TaskState | undefined {
  if (!isRecord(raw)) return undefined;
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, inputRequests, result, error } = raw;
  if (typeof taskId !== "string" || taskId === "" || !isStatus(status)) return undefined;
  // The two wires differ only in the names of these fields.
  const ttlMs = raw["ttlMs"] ?? raw["ttl"];
  const pollIntervalMs = raw["pollIntervalMs"] ?? raw["pollInterval"];
  const isUnlimited = raw["ttlMs"] === null || raw["ttl"] === null;
  return {
    taskId,
    status: {
      status,
      ...(typeof statusMessage === "string" && { message: statusMessage }),
      ...(typeof createdAt === "string" && { createdAt }),
      ...(typeof lastUpdatedAt === "string" && { updatedAt: lastUpdatedAt }),
      ...(isDuration(ttlMs) ? { ttlMs } : isUnlimited && { ttlMs: null }),
      ...(isDuration(pollIntervalMs) && { pollIntervalMs }),
    },
    inputRequests: isRecord(inputRequests) ? readRequests(inputRequests) : undefined,
    result: isRecord(result) ? result : undefined,
    error: readError(error),
  };
}

/** The task in the response to `tools/call`; undefined if it is a result. */
export function readCreatedTask(raw: Fields): TaskState | undefined {
  if (raw["resultType"] === "task") return readTask(raw);
  return raw["content"] === undefined ? readTask(raw["task"]) : undefined;
}

function readRequests(requests: Fields): Record<string, ServerRequest> {
  const isRequest = (value: unknown): value is ServerRequest =>
    isRecord(value) && typeof value["method"] === "string";
  const valid = Object.entries(requests).filter((entry): entry is [string, ServerRequest] =>
    isRequest(entry[1]),
  );
  return Object.fromEntries(valid);
}

function readError(error: unknown): TaskState["error"] {
  if (!isRecord(error)) return undefined;
  const { code, message, data } = error;
  return {
    code: typeof code === "number" ? code : -32603,
    message: typeof message === "string" ? message : "no reason given",
    ...(data !== undefined && { data }),
  };
}
