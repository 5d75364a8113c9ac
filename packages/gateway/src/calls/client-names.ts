/** Results with the names that clients know: the ids of tasks, and the URIs of resources. */
import { type Fields, isRecord } from "@toolport/base";
import { resourceNames } from "../lists/list-entries.js";
import { META } from "../message.js";
import type { RequestContext } from "../request-context.js";

/** A result of this server with the ids of the tasks that the client has, and with links to resources that lead through the gateway. */
export async function withClientNames(
  { parts, user, exchange }: Pick<RequestContext, "parts" | "user" | "exchange">,
  server: string,
  fields: Fields,
): Promise<Fields> {
  const renamed = renameTasks(fields, (taskId) => parts.tasks.find(user, { server, taskId })?.id);
  if (!hasUris(renamed)) return renamed;
  const names = await resourceNames(user.port, { signal: exchange.signal });
  return renameUris(renamed, (uri) => names.toPublic(server, uri));
}

/**
 * A result or a notification with the ids that the client has; itself if it names no task. A server can name any task, also at the wish of a
 * client, so no id is sealed here: the id of a task that the client does not have stays the server's own, which opens nothing.
 *
 * @param idOf the client's id of a task; undefined if it has none
 */
export function renameTasks(fields: Fields, idOf: (taskId: string) => string | undefined): Fields {
  const { task, taskId, _meta } = fields;
  const related = isRecord(_meta) ? _meta[META.relatedTask] : undefined;
  if (task === undefined && taskId === undefined && related === undefined) return fields;
  const known = (given: unknown): Fields | undefined => {
    const id = isRecord(given) && typeof given["taskId"] === "string" ? idOf(given["taskId"]) : undefined;
    return id === undefined ? undefined : { ...(given as Fields), taskId: id };
  };
  const renamed = { ...(known(fields) ?? fields), ...(task !== undefined && { task: known(task) ?? task }) };
  if (related === undefined) return renamed;
  const { [META.relatedTask]: _, ...others } = _meta as Fields;
  const shown = known(related);
  return { ...renamed, _meta: { ...others, ...(shown && { [META.relatedTask]: shown }) } };
}

/** The fields of results that list what may have a URI. */
const LISTS = ["content", "contents", "messages"];

/** A result with other URIs; itself if nothing changes. */
function renameUris(result: Fields, rename: (uri: string) => string): Fields {
  const changes = LISTS.flatMap((key) => {
    const list = result[key];
    if (!Array.isArray(list)) return [];
    const renamed = list.map((item) => (isRecord(item) ? renameItem(item, rename) : item));
    return renamed.some((item, index) => item !== list[index]) ? [[key, renamed]] : [];
  });
  return changes.length === 0 ? result : { ...result, ...Object.fromEntries(changes) };
}

/** Whether a result contains URIs that may have to be renamed. */
function hasUris(result: Fields): boolean {
  for (const key of LISTS) {
    const list = result[key];
    if (Array.isArray(list) && list.some(isNamed)) return true;
  }
  return false;
}

function isNamed(item: unknown): boolean {
  if (!isRecord(item)) return false;
  return typeof item["uri"] === "string" || isRecord(item["resource"]) || isNamed(item["content"]);
}

/** A content block, the contents of a resource, or a message of a prompt. */
function renameItem(item: Fields, rename: (uri: string) => string): Fields {
  const { uri, resource, content } = item;
  if (typeof uri === "string") {
    const name = rename(uri);
    return name === uri ? item : { ...item, uri: name };
  }
  const key = isRecord(resource) ? "resource" : isRecord(content) ? "content" : undefined;
  if (key === undefined) return item;
  const inner = renameItem(item[key] as Fields, rename);
  return inner === item[key] ? item : { ...item, [key]: inner };
}
