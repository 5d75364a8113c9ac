/** Stores running tasks, so that a restarted process finds them. */
import type { ServerConfig } from "../../config/server-config.js";
import { toToolportError } from "../../errors/to-toolport-error.js";
import type { TaskRecord } from "../../execution/tasks/task-record.js";
import { serverKey, userPrefix } from "../../state/server-keys.js";
import type { Store } from "../../state/store.js";
import { hashText } from "../../util/hash-text.js";

/** Kept slightly longer than on the server, so that a question about an expired task gets a clear error. */
const GRACE_MS = 60 * 60 * 1_000;
/** For a server that keeps tasks for ever. */
const MAX_AGE_MS = 30 * 24 * 60 * 60 * 1_000;

type Warn = (server: string | undefined, message: string) => void;

export class TaskRecords {
  readonly #store: Store;
  readonly #principal: string | undefined;
  readonly #warn: Warn;

  constructor(store: Store, principal: string | undefined, warn: Warn) {
    this.#store = store;
    this.#principal = principal;
    this.#warn = warn;
  }

  /** Never throws: a task runs even if it cannot be saved. */
  async save(config: ServerConfig, record: TaskRecord): Promise<void> {
    const ttlMs = record.ttlMs === null ? MAX_AGE_MS : Math.min(record.ttlMs + GRACE_MS, MAX_AGE_MS);
    try {
      // Secret, because the id alone gives access to the result.
      await this.#store.put(this.#key(config, record.taskId), record, { secret: true, ttlMs });
    } catch (error) {
      this.#warn(config.name, `A task could not be saved: ${toToolportError(error).message}`);
    }
  }

  /** Never throws. */
  async delete(config: ServerConfig, taskId: string): Promise<void> {
    try {
      await this.#store.delete(this.#key(config, taskId));
    } catch (error) {
      this.#warn(
        config.name,
        `A task could not be deleted from the store: ${toToolportError(error).message}`,
      );
    }
  }

  /** All tasks of these servers, oldest first, with the current names of the servers. */
  async list(configs: readonly ServerConfig[]): Promise<TaskRecord[]> {
    const names = new Map(configs.map((config) => [this.#folder(config), config.name]));
    const keys = await this.#store.list(userPrefix("tasks", this.#principal));
    const found = await Promise.all(
      keys.map(async (key): Promise<TaskRecord | undefined> => {
        const server = names.get(key.slice(0, key.lastIndexOf("/") + 1));
        if (server === undefined) return undefined;
        const value = (await this.#store.get(key))?.value;
        return isRecord(value) ? { ...value, server } : undefined;
      }),
    );
    return found
      .filter((record) => record !== undefined)
      .sort((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt));
  }

  #folder(config: ServerConfig): string {
    return `${serverKey("tasks", this.#principal, config)}/`;
  }

  #key(config: ServerConfig, taskId: string): string {
    return `${this.#folder(config)}${hashText(taskId)}`;
  }
}

function isRecord(value: unknown): value is TaskRecord {
  if (typeof value !== "object" || value === null) return false;
  const { taskId, tool, sourceName, createdAt, ttlMs } = value as Record<string, unknown>;
  const texts = [taskId, tool, sourceName, createdAt];
  return texts.every((text) => typeof text === "string") && (ttlMs === null || typeof ttlMs === "number");
}
