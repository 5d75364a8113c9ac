/**
 * Questions that a legacy server sends as tasks: the server gets a task at once, polls its status and fetches the answer later.
 * The tasks belong to one connection and end with it.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
 */
import type { JSONRPCRequest, RequestId } from "@modelcontextprotocol/client";
import { type Fields, unrefTimer } from "@toolport/base";
import type { RequestChannel } from "../request-channel.js";
import { IncomingRequestLimit, type IncomingReply as Reply } from "../sdk-transport.js";
import {
  MAX_WAITING,
  RELATED_TASK_META_KEY,
  type RequestResponder,
  relatedTask,
} from "./request-responder.js";

/** Methods of questions that can be tasks. */
export type QuestionMethod = "elicitation/create" | "sampling/createMessage";

interface QuestionTask {
  readonly taskId: string;
  readonly createdAt: string;
  readonly ttl: number;
  readonly controller: AbortController;
  readonly expiry: ReturnType<typeof setTimeout>;
  /** The reply to `tasks/result`. Never rejects. */
  readonly reply: Promise<Reply>;
  /** Ends the task. Ignored if it has ended. */
  readonly end: (status: FinalStatus, reply: Reply) => void;
  status: "working" | FinalStatus;
  lastUpdatedAt: string;
}

type FinalStatus = "completed" | "failed" | "cancelled";

/** Maximum number of unfinished tasks on one connection. */
export const MAX_OPEN_TASKS = MAX_WAITING;
/** Maximum number of tasks on one connection, with those whose answer can still be fetched. */
export const MAX_TASKS = 64;
/** A server may request a shorter time. */
export const MAX_TTL_MS = 3_600_000;
const POLL_INTERVAL_MS = 1_000;

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

export class QuestionTasks {
  readonly #responder: RequestResponder;
  readonly #replies: IncomingRequestLimit;
  /** In order of creation. */
  readonly #tasks = new Map<string, QuestionTask>();
  /** Ids of open requests for a result. */
  readonly #waiting = new Set<RequestId>();

  constructor(channel: RequestChannel, responder: RequestResponder) {
    this.#responder = responder;
    this.#replies = new IncomingRequestLimit((message) => channel.sdkTransport.send(message));
    channel.notificationListeners.add((method, params) => {
      if (method === "notifications/cancelled") this.#stopWaiting(params["requestId"] as RequestId);
    });
    void channel.closed.then(() => this.#close());
  }

  /**
   * Answers a question that the server sends as a task, or a request about such tasks.
   *
   * @param owner that of the request on whose stream the message arrived
   */
  receive({ id, method, params = {} }: JSONRPCRequest, owner: object | undefined): void {
    switch (method) {
      case "elicitation/create":
      case "sampling/createMessage":
        return this.#replies.reply(id, this.#create(method, params, owner));
      case "tasks/get":
        return this.#replies.reply(id, this.#get(params));
      case "tasks/list":
        return this.#replies.reply(id, this.#list(params));
      case "tasks/cancel":
        return this.#replies.reply(id, this.#cancel(params));
      case "tasks/result":
        return void this.#sendResult(id, params);
      default:
        return this.#replies.reply(id, failure(METHOD_NOT_FOUND, "Method not found"));
    }
  }

  #create(method: QuestionMethod, params: Fields, owner: object | undefined): Reply {
    const open = [...this.#tasks.values()].filter(({ status }) => status === "working");
    if (open.length >= MAX_OPEN_TASKS) return failure(INTERNAL_ERROR, "Too many requests at once");
    if (this.#tasks.size >= MAX_TASKS) this.#removeOldestEnded();
    const { task: wanted, ...question } = params;
    const task = this.#add(ttlOf(wanted as Fields));
    const asked = { method, params: question };
    this.#responder.respondToMessage(asked, task.controller.signal, owner).then(
      (result) => {
        const meta = { ...(result["_meta"] as object), [RELATED_TASK_META_KEY]: { taskId: task.taskId } };
        task.end("completed", { result: { ...result, _meta: meta } });
      },
      ({ code, message }: { code: number; message: string }) => task.end("failed", failure(code, message)),
    );
    const related = relatedTask({ method, params });
    const _meta = related && { [RELATED_TASK_META_KEY]: related };
    return { result: { task: view(task), ...(_meta && { _meta }) } };
  }

  #add(ttl: number): QuestionTask {
    const taskId = crypto.randomUUID();
    const now = new Date().toISOString();
    let settle!: (reply: Reply) => void;
    const reply = new Promise<Reply>((resolve) => {
      settle = resolve;
    });
    const expiry = unrefTimer(setTimeout(() => this.#remove(task), ttl));
    const task: QuestionTask = {
      taskId,
      ttl,
      expiry,
      reply,
      createdAt: now,
      lastUpdatedAt: now,
      status: "working",
      controller: new AbortController(),
      end(status, ended) {
        if (task.status !== "working") return;
        task.status = status;
        task.lastUpdatedAt = new Date().toISOString();
        settle(ended);
      },
    };
    this.#tasks.set(taskId, task);
    return task;
  }

  #get(params: Fields): Reply {
    const task = this.#find(params);
    return task === undefined ? UNKNOWN : { result: view(task) };
  }

  #list({ cursor }: Fields): Reply {
    // All tasks fit on one page, so no cursor was ever issued.
    if (cursor !== undefined) return failure(INVALID_PARAMS, "Unknown cursor");
    return { result: { tasks: [...this.#tasks.values()].map(view) } };
  }

  #cancel(params: Fields): Reply {
    const task = this.#find(params);
    if (task === undefined) return UNKNOWN;
    if (task.status !== "working")
      return failure(INVALID_PARAMS, `The task has already ended: ${task.status}`);
    this.#abort(task);
    return { result: view(task) };
  }

  /** Responds when the task has ended. */
  async #sendResult(id: RequestId, params: Fields): Promise<void> {
    const task = this.#find(params);
    if (task === undefined) return this.#replies.reply(id, UNKNOWN);
    if (this.#waiting.has(id) || !this.#replies.admit(id)) return;
    this.#waiting.add(id);
    const reply = await task.reply;
    if (this.#stopWaiting(id)) this.#replies.reply(id, reply);
  }

  /** False if the server has withdrawn its request for the result. */
  #stopWaiting(id: RequestId): boolean {
    this.#replies.done(id);
    return this.#waiting.delete(id);
  }

  #find({ taskId }: Fields): QuestionTask | undefined {
    return typeof taskId === "string" ? this.#tasks.get(taskId) : undefined;
  }

  #abort(task: QuestionTask): void {
    task.end("cancelled", failure(INTERNAL_ERROR, "The task was cancelled"));
    task.controller.abort(new Error("The server does not wait for the answer any more"));
  }

  #remove(task: QuestionTask): void {
    clearTimeout(task.expiry);
    this.#tasks.delete(task.taskId);
    this.#abort(task);
  }

  #removeOldestEnded(): void {
    const ended = [...this.#tasks.values()].find(({ status }) => status !== "working");
    if (ended !== undefined) this.#remove(ended);
  }

  #close(): void {
    this.#waiting.clear();
    for (const task of this.#tasks.values()) this.#remove(task);
  }
}

const failure = (code: number, message: string): Reply => ({ error: { code, message } });

const UNKNOWN = failure(INVALID_PARAMS, "Unknown task: it never existed on this connection, or has expired");

/** The requested time, at most an hour. */
function ttlOf({ ttl }: Fields): number {
  return typeof ttl === "number" && ttl >= 0 ? Math.min(ttl, MAX_TTL_MS) : MAX_TTL_MS;
}

function view({ taskId, status, createdAt, lastUpdatedAt, ttl }: QuestionTask): Fields {
  return { taskId, status, createdAt, lastUpdatedAt, ttl, pollInterval: POLL_INTERVAL_MS };
}
