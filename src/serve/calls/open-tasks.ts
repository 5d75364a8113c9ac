/** Tasks of legacy servers that clients have begun on this replica. */
import type { GatewayUser } from "../users.js";

/** A task of one server. */
export interface TaskTarget {
  readonly server: string;
  readonly taskId: string;
}

interface OpenTask {
  /** As the client knows it. */
  readonly id: string;
  /** Ends its progress. */
  readonly stop: (() => void) | undefined;
}

/** Tasks of one user. Of more, the oldest are forgotten: their progress ends. */
const MAX_TASKS = 64;
const OVER: readonly unknown[] = ["completed", "failed", "cancelled"];

export class OpenTasks {
  /** Forgotten with the user. */
  readonly #users = new WeakMap<GatewayUser, Map<string, OpenTask>>();

  begin(user: GatewayUser, target: TaskTarget, task: OpenTask): void {
    const tasks = this.#users.get(user) ?? new Map<string, OpenTask>();
    this.#users.set(user, tasks);
    // A server may give two tasks the same id, by mistake or on purpose.
    tasks.get(keyOf(target))?.stop?.();
    tasks.set(keyOf(target), task);
    for (const [oldest, { stop }] of tasks) {
      if (tasks.size <= MAX_TASKS) break;
      tasks.delete(oldest);
      stop?.();
    }
  }

  /** The client's id of a task. */
  idOf(user: GatewayUser, target: TaskTarget): string | undefined {
    return this.#users.get(user)?.get(keyOf(target))?.id;
  }

  /** Takes the status of a task from its server. */
  observe(user: GatewayUser, target: TaskTarget, status: unknown): void {
    if (!OVER.includes(status)) return;
    const tasks = this.#users.get(user);
    tasks?.get(keyOf(target))?.stop?.();
    tasks?.delete(keyOf(target));
  }
}

const keyOf = ({ server, taskId }: TaskTarget): string => JSON.stringify([server, taskId]);
