/** Tasks as clients of the gateway see them: their ids, and the progress of tasks of legacy servers until the task ends. */

import { isRecord } from "@toolport/base";
import type { Progress } from "@toolport/core";
import { unknownTask } from "../faults.js";
import { metaOf } from "../message.js";
import type { CallOutcome, RequestContext } from "../request-context.js";
import { notificationText, passedParams } from "../results.js";
import { rising } from "./client-hooks.js";
import { renameTasks } from "./client-names.js";
import { visibleTools } from "./own-tools.js";
import type { UserTask } from "./user-tasks.js";

/** The progress of a call that may become a task: on the stream of the call, and then on the client's stream for news. */
export interface TaskProgress {
  /** Aborts when no more progress is wanted. */
  readonly until: AbortSignal;
  readonly report: (progress: Progress) => void;
  /** The call is answered with a task. */
  readonly becomesTask: (server: string) => void;
  readonly stop: () => void;
}

/** Undefined unless a legacy client asks for a task and for its progress. */
export function createTaskProgress(context: RequestContext): TaskProgress | undefined {
  const { user, client, parts, exchange, request } = context;
  const progressToken = metaOf(request.params)?.["progressToken"];
  if (client.era !== "legacy" || !isRecord(request.params["task"])) return undefined;
  if (typeof progressToken !== "string" && typeof progressToken !== "number") return undefined;
  const end = new AbortController();
  /** The server of the task, after the answer. */
  let taskServer: string | undefined;
  return {
    until: end.signal,
    report: rising((progress): void => {
      if (end.signal.aborted) return;
      const server = taskServer;
      const params = { progressToken, ...progress };
      if (server === undefined)
        return exchange.notify(notificationText("notifications/progress", passedParams(params)));
      const idOf = (taskId: string) => parts.tasks.find(user, { server, taskId })?.id;
      const text = notificationText("notifications/progress", renameTasks(params, idOf));
      if (client.session !== undefined) parts.feeds.sendTo(user, client.session, text);
    }),
    becomesTask: (server) => {
      taskServer = server;
    },
    stop: () => end.abort(),
  };
}

/** A call that may become a task is answered. @param tool its name at the server */
export async function beginTask(
  context: RequestContext,
  { server, tool, fields, resultType }: CallOutcome & { readonly tool: string },
  progress: TaskProgress | undefined,
): Promise<void> {
  const { parts, user, client } = context;
  const isModern = resultType === "task";
  const made = isModern ? fields : client.era === "legacy" ? fields["task"] : undefined;
  const taskId = isRecord(made) ? made["taskId"] : undefined;
  if (!isRecord(made) || typeof taskId !== "string") return progress?.stop();
  const task = sealTask(context, { server, tool, taskId });
  progress?.becomesTask(server);
  parts.tasks.add(user, task, progress?.stop);
  parts.tasks.observe(user, task, made["status"]);
  // Modern servers list no tasks, and their clients ask for no list.
  if (!isModern) await parts.tasks.save(user, task, made["ttl"]);
}

const PURPOSE = "task";

/** The task as the user of the request gets it. */
function sealTask(
  { parts, client }: Pick<RequestContext, "parts" | "client">,
  { server, tool, taskId }: Omit<UserTask, "id">,
): UserTask {
  const id = parts.seal.seal(PURPOSE, { s: server, n: tool, t: taskId, p: client.principal });
  return { server, tool, taskId, id };
}

/** Rejects with the same error for a task of another user as for an unknown one. */
export async function openTask({ parts, client }: RequestContext, id: unknown): Promise<UserTask> {
  const opened = typeof id === "string" ? await parts.seal.openFresh(PURPOSE, id) : undefined;
  if (!isRecord(opened) || opened["p"] !== client.principal) throw unknownTask();
  const { s, n, t } = opened;
  return { server: String(s), tool: String(n), taskId: String(t), id: String(id) };
}

/** For each task: whether the user may see its server, and a list would show its tool, now. */
export async function visibleTasks(
  context: Pick<RequestContext, "parts" | "client" | "user">,
  tasks: readonly UserTask[],
): Promise<readonly boolean[]> {
  const { parts, client, user } = context;
  const { catalog } = user.port;
  const find = ({ server, tool }: UserTask) => catalog.find(server, tool)?.info;
  if (tasks.some((task) => find(task) === undefined)) await user.port.need("tools", {});
  const tools = tasks.map((task) => {
    const { server, tool } = task;
    // A server that is away, or lists the tool no more.
    return find(task) ?? { server, name: tool, sourceName: tool, inputSchema: { type: "object" as const } };
  });
  const isShown = await visibleTools(context, tools);
  return tasks.map(({ server }, index) => isShown[index]! && parts.showsServer(client, server));
}
