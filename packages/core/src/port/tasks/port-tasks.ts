/** The tasks of one port. */

import {
  CatalogError,
  ConnectionError,
  hashText,
  isRecord,
  type ToolInfo,
  toToolportError,
} from "@toolport/base";
import { type Store, userPrefix } from "@toolport/stores";
import type { ServerConfig } from "../../config/server-config.js";
import { serverKey } from "../../config/server-keys.js";
import type { WaitOptions } from "../../connection/server-connection.js";
import { isUnknownTask, taskLost } from "../../execution/tasks/task-errors.js";
import { receiptOf, type TaskRecord } from "../../execution/tasks/task-record.js";
import { TaskRuns, type TaskRunsParts } from "../../execution/tasks/task-runs.js";
import type { CallHandler, TaskCallOptions, ToolCall } from "../../execution/tool-call.js";
import type { ToolResult } from "../../execution/tool-result.js";
import type { Progress } from "../../protocol/pending-request.js";
import type { Session } from "../../protocol/session.js";
import { getTask, type TaskStatus } from "../../protocol/tasks.js";
import type { PortCore } from "../port-core.js";

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

/** Notifications about tasks in the two protocol eras. */
const NEWS: readonly string[] = ["notifications/tasks/status", "notifications/tasks"];

export class PortTasks implements TaskRunsParts {
  readonly runs = new TaskRuns(this);
  readonly #closing = new AbortController();
  readonly #writing = new Set<Promise<void>>();
  #records: TaskRecords | undefined;

  /** @param waitForResult runs the pipeline for a task that an earlier call started */
  constructor(
    private readonly port: PortCore,
    private readonly waitForResult: CallHandler,
  ) {}

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Calls a tool as a task. */
  async start(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: TaskCallOptions,
  ): Promise<TaskHandle> {
    const result = await this.port.callTool(name, args, options);
    const record = receiptOf(result);
    return record === undefined ? answeredTask(name, result) : this.#handle(record, result.repaired);
  }

  /** The running tasks of the servers of this port. */
  async list(): Promise<TaskHandle[]> {
    return (await this.#saved().list(this.port.configs())).map((record) => this.#handle(record));
  }

  async find(id: string): Promise<TaskHandle | undefined> {
    return (await this.list()).find((task) => task.id === id);
  }

  keep(record: TaskRecord): Promise<void> {
    const config = this.port.pool.get(record.server)?.config;
    return config === undefined ? Promise.resolve() : this.#track(this.#saved().save(config, record));
  }

  drop({ server, taskId }: TaskRecord): Promise<void> {
    const config = this.port.pool.get(server)?.config;
    return config === undefined ? Promise.resolve() : this.#track(this.#saved().delete(config, taskId));
  }

  onNews({ server, taskId }: TaskRecord, listener: () => void): () => void {
    const principal = this.port.principal?.name;
    return this.port.parts.emitter.on("notification", (news) => {
      if (news.server !== server || news.principal !== principal || !NEWS.includes(news.method)) return;
      if (news.params["taskId"] === taskId) listener();
    });
  }

  /** Stops waiting. The tasks continue on their servers and stay in the store. */
  async close(): Promise<void> {
    this.#closing.abort(
      new ConnectionError({
        code: "CLOSED",
        what: "The port was closed while it waited for a task",
        next: "The task continues on its server: see tasks() of a new port with the same store",
      }),
    );
    await Promise.all(this.#writing);
  }

  /** @param repaired how the arguments were repaired, if this process made the call */
  #handle(record: TaskRecord, repaired?: ToolResult["repaired"]): TaskHandle {
    let finished: ToolResult | undefined;
    const { taskId: id, server, tool, createdAt, ttlMs } = record;
    const info: TaskInfo = { id, server, tool, createdAt, ttlMs };
    return {
      ...info,
      status: async (wait = {}) => (finished === undefined ? this.#status(record, wait) : COMPLETED),
      result: async (options = {}) => {
        finished ??= { ...(await this.#result(record, options)), ...(repaired && { repaired }) };
        return finished as ToolResult<never>;
      },
      cancel: async ({ timeoutMs = this.port.parts.settings.timeoutMs } = {}) => {
        const connection = await this.#connection(server);
        if (await this.runs.cancel(connection, record, timeoutMs)) return;
        throw new CatalogError({
          code: "NOT_OFFERED",
          server,
          what: "The server cannot cancel tasks",
          next: "Wait for its result, or ignore the task",
        });
      },
      toJSON: () => info,
    };
  }

  async #status(
    record: TaskRecord,
    { timeoutMs = this.port.parts.settings.timeoutMs, signal }: WaitOptions,
  ): Promise<TaskStatus> {
    const limits = { timeoutMs, maxTimeoutMs: timeoutMs, signal };
    const connection = await this.#connection(record.server);
    try {
      const read = (session: Session) => getTask(session, record.taskId, limits);
      return (await this.port.read(connection, read, { timeoutMs, signal })).status;
    } catch (error) {
      if (!isUnknownTask(error)) throw error;
      await this.drop(record);
      throw taskLost({ server: record.server, tool: record.sourceName }, error);
    }
  }

  async #result(record: TaskRecord, options: TaskResultOptions): Promise<ToolResult> {
    const { maxTimeoutMs = Number.POSITIVE_INFINITY, ...limits } = options;
    const { name } = await this.#connection(record.server);
    const startedAt = performance.now();
    const call: ToolCall = {
      tool: await this.#tool(record),
      args: {},
      options: limits,
      task: record,
      principal: this.port.principal?.name,
      attempts: [],
      startedAt,
      deadline: startedAt + maxTimeoutMs,
      patient: true,
      budget: this.port.parts.validator.createBudget(),
    };
    const result = await this.waitForResult(call);
    return { ...result, server: name, durationMs: performance.now() - startedAt };
  }

  /** The tool as listed now. A tool that is no longer listed has no output schema. */
  async #tool({ server, sourceName, tool }: TaskRecord): Promise<ToolInfo> {
    const { catalog, pool } = this.port;
    if (!catalog.knows(server)) await this.port.ensureLists([pool.require(server)], {});
    const listed = catalog.find(server, sourceName)?.info;
    return listed ?? { name: tool, server, sourceName, inputSchema: { type: "object" } };
  }

  async #connection(server: string) {
    this.port.assertOpen();
    await this.port.restored();
    return this.port.pool.require(server);
  }

  #saved(): TaskRecords {
    const { settings, warn } = this.port.parts;
    this.#records ??= new TaskRecords(settings.store, this.port.principal?.name, warn);
    return this.#records;
  }

  #track(work: Promise<void>): Promise<void> {
    const tracked = work.finally(() => this.#writing.delete(tracked));
    this.#writing.add(tracked);
    return tracked;
  }
}

const COMPLETED: TaskStatus = { status: "completed" };

/** A handle for a call that the server answered at once, without a task. */
function answeredTask(tool: string, result: ToolResult): TaskHandle {
  const createdAt = new Date().toISOString();
  const info: TaskInfo = { id: crypto.randomUUID(), server: result.server, tool, createdAt, ttlMs: 0 };
  return {
    ...info,
    status: async () => COMPLETED,
    result: async () => result as ToolResult<never>,
    cancel: async () => {},
    toJSON: () => info,
  };
}

/** Kept slightly longer than on the server, so that a question about an expired task gets a clear error. */
const GRACE_MS = 60 * 60 * 1_000;
/** For a server that keeps tasks for ever. */
const MAX_AGE_MS = 30 * 24 * 60 * 60 * 1_000;

/** Stores running tasks, so that a restarted process finds them. */
class TaskRecords {
  constructor(
    readonly store: Store,
    readonly principal: string | undefined,
    readonly warn: (server: string | undefined, message: string) => void,
  ) {}

  /** Never throws: a task runs even if it cannot be saved. */
  async save(config: ServerConfig, record: TaskRecord): Promise<void> {
    const ttlMs = record.ttlMs === null ? MAX_AGE_MS : Math.min(record.ttlMs + GRACE_MS, MAX_AGE_MS);
    // Secret, because the id alone gives access to the result.
    const saving = this.store.put(this.#key(config, record.taskId), record, { secret: true, ttlMs });
    await this.#warnOf(saving, config, "saved");
  }

  /** Never throws. */
  async delete(config: ServerConfig, taskId: string): Promise<void> {
    await this.#warnOf(this.store.delete(this.#key(config, taskId)), config, "deleted from the store");
  }

  async #warnOf(work: Promise<unknown>, { name }: ServerConfig, what: string): Promise<void> {
    await work.catch((error: unknown) =>
      this.warn(name, `A task could not be ${what}: ${toToolportError(error).message}`),
    );
  }

  /** All tasks of these servers, oldest first, with the current names of the servers. */
  async list(configs: readonly ServerConfig[]): Promise<TaskRecord[]> {
    const names = new Map(configs.map((config) => [this.#folder(config), config.name]));
    const keys = await this.store.list(userPrefix("tasks", this.principal));
    const found = await Promise.all(
      keys.map(async (key): Promise<TaskRecord | undefined> => {
        const server = names.get(key.slice(0, key.lastIndexOf("/") + 1));
        if (server === undefined) return undefined;
        const value = (await this.store.get(key))?.value;
        return isTaskRecord(value) ? { ...value, server } : undefined;
      }),
    );
    return found
      .filter((record) => record !== undefined)
      .sort((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt));
  }

  #folder(config: ServerConfig): string {
    return `${serverKey("tasks", this.principal, config)}/`;
  }

  #key(config: ServerConfig, taskId: string): string {
    return `${this.#folder(config)}${hashText(taskId)}`;
  }
}

function isTaskRecord(value: unknown): value is TaskRecord {
  if (!isRecord(value)) return false;
  const { taskId, tool, sourceName, createdAt, ttlMs } = value;
  const texts = [taskId, tool, sourceName, createdAt];
  return texts.every((text) => typeof text === "string") && (ttlMs === null || typeof ttlMs === "number");
}
