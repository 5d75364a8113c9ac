/** Ids of tasks as clients get them: sealed, and bound to the user and the server. */
import { unknownTask } from "../faults.js";
import { type Fields, isFields, META } from "../message.js";
import type { RequestContext } from "../request-context.js";
import type { TaskTarget } from "./open-tasks.js";

const PURPOSE = "task";

/** What sealing needs of a request. */
type SealContext = Pick<RequestContext, "parts" | "client">;

const sealId = ({ parts, client }: SealContext, { server, taskId }: TaskTarget): string =>
  parts.seal.seal(PURPOSE, { s: server, t: taskId, p: client.principal });

/** Rejects with the same error for a task of another user as for an unknown one. */
export async function openTaskId({ parts, client }: RequestContext, sealed: unknown): Promise<TaskTarget> {
  const opened = typeof sealed === "string" ? await parts.seal.openFresh(PURPOSE, sealed) : undefined;
  if (!isFields(opened) || opened["p"] !== client.principal) throw unknownTask();
  return { server: opened["s"] as string, taskId: opened["t"] as string };
}

/**
 * A result or a notification with the ids that clients see; itself if it has none.
 *
 * @param known the client's id of the task it asked for: sealing the same task again would give another text
 */
export function sealTaskIds(
  context: SealContext,
  server: string,
  fields: Fields,
  known?: string | undefined,
): Fields {
  const { task, taskId, tasks, _meta } = fields;
  const related = isFields(_meta) ? _meta[META.relatedTask] : undefined;
  if (task === undefined && taskId === undefined && tasks === undefined && related === undefined)
    return fields;
  const seal = (given: unknown): unknown =>
    isFields(given) && typeof given["taskId"] === "string"
      ? { ...given, taskId: known ?? sealId(context, { server, taskId: given["taskId"] }) }
      : given;
  return {
    ...(seal(fields) as Fields),
    ...(task !== undefined && { task: seal(task) }),
    ...(Array.isArray(tasks) && { tasks: tasks.map(seal) }),
    ...(related !== undefined && { _meta: { ...(_meta as Fields), [META.relatedTask]: seal(related) } }),
  };
}
