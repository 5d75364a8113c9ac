/**
 * The tasks that the gateway has created for its users. A server may list, and report about, the tasks of all users of one credential;
 * only those that are known here are shown.
 */

import { getOrMake, hashText, isRecord, mapConcurrently, withDeadline } from "@toolport/base";
import { type Store, userPrefix } from "@toolport/stores";
import type { GatewayUser } from "../users.js";

/** A task of one server. */
export interface TaskTarget {
  readonly server: string;
  /** The server's own id. */
  readonly taskId: string;
}

/** A task as its user knows it. */
export interface UserTask extends TaskTarget {
  /** The name of the tool at the server. */
  readonly tool: string;
  /** The id that the user has. */
  readonly id: string;
}

interface KnownTask {
  readonly task: UserTask;
  /** Ends its progress. */
  stop: (() => void) | undefined;
}

/** Tasks of one user. Of more, the oldest are forgotten: they leave the list, and their progress ends. */
const MAX_TASKS = 64;
const OVER: readonly unknown[] = ["completed", "failed", "cancelled"];
/** Kept slightly longer than on the server, which may count from a later time. */
const GRACE_MS = 3_600_000;
/** Ids stay readable for a week after the gateway has replaced its key. */
const MAX_AGE_MS = 7 * 86_400_000;
/** A call does not wait longer for a slow store. */
const SAVE_MS = 2_000;
const READS_AT_ONCE = 8;

export class UserTasks {
  /** By server and task. Forgotten with the user. */
  readonly #known = new WeakMap<GatewayUser, Map<string, KnownTask>>();
  #lastMs = 0;

  constructor(
    private readonly store: Store,
    private readonly report: (error: unknown) => void,
  ) {}

  /** A call was answered with a task. @param stop ends its progress */
  add(user: GatewayUser, task: UserTask, stop?: () => void): void {
    const tasks = getOrMake(this.#known, user, () => new Map<string, KnownTask>());
    // A server may give two tasks the same id, by mistake or on purpose.
    tasks.get(keyOf(task))?.stop?.();
    tasks.delete(keyOf(task));
    tasks.set(keyOf(task), { task, stop });
    for (const [oldest, known] of tasks) {
      if (tasks.size <= MAX_TASKS) break;
      tasks.delete(oldest);
      known.stop?.();
    }
  }

  /**
   * Puts the task into the user's list, on every replica. Never rejects: the task runs even if it cannot be saved.
   *
   * @param ttl how long the server keeps the task, as the server says it
   */
  async save(user: GatewayUser, task: UserTask, ttl: unknown): Promise<void> {
    const saving = this.#write(user, task, ttl);
    try {
      await withDeadline(saving, { timeoutMs: SAVE_MS, onTimeout: () => new Error("The store is slow") });
    } catch (error) {
      saving.catch(() => {});
      this.report(error);
    }
  }

  /** A client has shown with its id that the task is its own. News of the task reach it from now on. */
  remember(user: GatewayUser, task: UserTask): void {
    if (this.find(user, task) === undefined) this.add(user, task);
  }

  /** Undefined for a task of another user as for an unknown one. */
  find(user: GatewayUser, target: TaskTarget): UserTask | undefined {
    return this.#known.get(user)?.get(keyOf(target))?.task;
  }

  /** Takes the status of a task from its server. */
  observe(user: GatewayUser, target: TaskTarget, status: unknown): void {
    const known = OVER.includes(status) ? this.#known.get(user)?.get(keyOf(target)) : undefined;
    known?.stop?.();
    if (known !== undefined) known.stop = undefined;
  }

  /** The latest tasks that the user has begun at legacy servers on any replica, oldest first. */
  async list(user: GatewayUser): Promise<readonly UserTask[]> {
    const keys = (await this.store.list(prefixOf(user))).slice(-MAX_TASKS);
    const tasks = await mapConcurrently(keys, READS_AT_ONCE, async (key) => {
      const record = await this.store.get(key);
      // A record that was written without the store's key could name a task of another user.
      return record?.sealed === true && isTask(record.value) ? [record.value] : [];
    });
    return tasks.flat();
  }

  /** The server does not know the task any more. */
  async forget(user: GatewayUser, target: TaskTarget): Promise<void> {
    const keys = await this.store.list(prefixOf(user));
    const ofTask = keys.filter((key) => key.endsWith(suffixOf(target)));
    await Promise.all(ofTask.map((key) => this.store.delete(key)));
  }

  /** One record for each task: replicas write at the same time. */
  async #write(user: GatewayUser, task: UserTask, ttl: unknown): Promise<void> {
    const prefix = prefixOf(user);
    // The order of the keys is the order of the list.
    this.#lastMs = Math.max(Date.now(), this.#lastMs + 1);
    const key = `${prefix}${String(this.#lastMs).padStart(15, "0")}${suffixOf(task)}`;
    const ttlMs = typeof ttl === "number" && ttl >= 0 ? Math.min(ttl + GRACE_MS, MAX_AGE_MS) : MAX_AGE_MS;
    const { server, tool, taskId, id } = task;
    await this.store.put(key, { server, tool, taskId, id }, { ttlMs, secret: true });
    const oldest = (await this.store.list(prefix)).slice(0, -MAX_TASKS);
    await Promise.all(oldest.map((each) => this.store.delete(each)));
  }
}

const prefixOf = ({ principal }: GatewayUser): string => userPrefix("serve/tasks", principal);

const keyOf = ({ server, taskId }: TaskTarget): string => JSON.stringify([server, taskId]);

const suffixOf = (target: TaskTarget): string => `-${hashText(keyOf(target))}`;

function isTask(value: unknown): value is UserTask {
  if (!isRecord(value)) return false;
  const { server, tool, taskId, id } = value;
  return [server, tool, taskId, id].every((text) => typeof text === "string");
}
