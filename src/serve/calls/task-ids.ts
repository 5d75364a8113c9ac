/** Ids of tasks as clients get them: sealed, and bound to the user, the server and the tool. */
import { unknownTask } from "../faults.js";
import { type Fields, isFields, META } from "../message.js";
import type { RequestContext } from "../request-context.js";
import { visibleTools } from "./own-tools.js";
import type { UserTask } from "./user-tasks.js";

const PURPOSE = "task";

/** The task as the user of the request gets it. */
export function sealTask(
  { parts, client }: Pick<RequestContext, "parts" | "client">,
  { server, tool, taskId }: Omit<UserTask, "id">,
): UserTask {
  const id = parts.seal.seal(PURPOSE, { s: server, n: tool, t: taskId, p: client.principal });
  return { server, tool, taskId, id };
}

/** Rejects with the same error for a task of another user as for an unknown one. */
export async function openTask({ parts, client }: RequestContext, id: unknown): Promise<UserTask> {
  const opened = typeof id === "string" ? await parts.seal.openFresh(PURPOSE, id) : undefined;
  if (!isFields(opened) || opened["p"] !== client.principal) throw unknownTask();
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

/**
 * A result or a notification with the ids that the client has; itself if it names no task. A server can name any task, also at the wish of a
 * client, so no id is sealed here: the id of a task that the client does not have stays the server's own, which opens nothing.
 *
 * @param idOf the client's id of a task; undefined if it has none
 */
export function renameTasks(fields: Fields, idOf: (taskId: string) => string | undefined): Fields {
  const { task, taskId, _meta } = fields;
  const related = isFields(_meta) ? _meta[META.relatedTask] : undefined;
  if (task === undefined && taskId === undefined && related === undefined) return fields;
  const known = (given: unknown): Fields | undefined => {
    const id = isFields(given) && typeof given["taskId"] === "string" ? idOf(given["taskId"]) : undefined;
    return id === undefined ? undefined : { ...(given as Fields), taskId: id };
  };
  const renamed = { ...(known(fields) ?? fields), ...(task !== undefined && { task: known(task) ?? task }) };
  if (related === undefined) return renamed;
  const { [META.relatedTask]: _, ...others } = _meta as Fields;
  const shown = known(related);
  return { ...renamed, _meta: { ...others, ...(shown && { [META.relatedTask]: shown }) } };
}
