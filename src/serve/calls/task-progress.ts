/** Progress of tasks of legacy servers, from the call until the task ends. */
import type { Progress } from "../../protocol/pending-request.js";
import { type Fields, isFields, metaOf } from "../message.js";
import type { RequestContext } from "../request-context.js";
import { notificationText } from "../results.js";
import type { GatewayUser } from "../users.js";
import { sealTaskIds } from "./task-ids.js";

/** The progress of a call that may become a task: on the stream of the call, and then on the client's stream for news. */
export class TaskProgress {
  readonly #user: GatewayUser;
  readonly #client: RequestContext["client"];
  readonly #parts: RequestContext["parts"];
  readonly #token: string | number;
  readonly #end = new AbortController();
  /** Undefined after the answer. */
  #notify: ((text: string) => void) | undefined;
  #task: { readonly server: string; readonly id: string } | undefined;

  constructor({ user, client, parts, exchange }: RequestContext, token: string | number) {
    this.#user = user;
    this.#client = client;
    this.#parts = parts;
    this.#token = token;
    this.#notify = (text) => exchange.notify(text);
  }

  /** Aborts when no more progress is wanted. */
  get until(): AbortSignal {
    return this.#end.signal;
  }

  readonly report = (progress: Progress): void => {
    if (this.#end.signal.aborted) return;
    const { session } = this.#client;
    const params = { progressToken: this.#token, ...progress };
    const task = this.#task;
    if (task === undefined) return this.#notify?.(notificationText("notifications/progress", params));
    const sealing = { parts: this.#parts, client: this.#client };
    const shown = sealTaskIds(sealing, task.server, params, task.id);
    const text = notificationText("notifications/progress", shown);
    if (session !== undefined) this.#parts.feeds.sendTo(this.#user, session, text);
  };

  /** The call is answered with a task. @param id as the client knows it */
  becomesTask(server: string, id: string): void {
    this.#notify = undefined;
    this.#task = { server, id };
  }

  stop(): void {
    this.#notify = undefined;
    this.#end.abort();
  }
}

/** Undefined unless a legacy client asks for a task and for its progress. */
export function createTaskProgress(context: RequestContext): TaskProgress | undefined {
  const { client, request } = context;
  const progressToken = metaOf(request.params)?.["progressToken"];
  if (client.era !== "legacy" || !isFields(request.params["task"])) return undefined;
  if (typeof progressToken !== "string" && typeof progressToken !== "number") return undefined;
  return new TaskProgress(context, progressToken);
}

/**
 * A call that asked for a task is answered.
 *
 * @param fields the result of the server
 * @param sealed the same with the ids that clients see
 */
export function noteTask(
  { parts, user, client }: RequestContext,
  { server, fields, sealed }: { server: string; fields: Fields; sealed: Fields },
  progress: TaskProgress | undefined,
): void {
  const { task: made } = fields;
  const { task: shown } = sealed;
  if (client.era !== "legacy" || !isFields(made) || !isFields(shown)) return progress?.stop();
  const { taskId, status } = made;
  const { taskId: id } = shown;
  if (typeof taskId !== "string" || typeof id !== "string") return progress?.stop();
  progress?.becomesTask(server, id);
  parts.tasks.begin(user, { server, taskId }, { id, stop: progress && (() => progress.stop()) });
  parts.tasks.observe(user, { server, taskId }, status);
}
