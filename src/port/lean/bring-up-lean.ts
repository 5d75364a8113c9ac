/** The public methods on a lean port: they need all lists of a server, as those of an ordinary port do. */
import type { ListOptions } from "../../catalog/list-pages.js";
import type { ListKey } from "../../catalog/server-lists.js";
import type { ServerConnection, WaitOptions } from "../../connection/server-connection.js";
import type { Session } from "../../protocol/session.js";
import { withDeadline } from "../../util/with-deadline.js";
import type { PortLists } from "./port-lists.js";

const ALL: readonly ListKey[] = ["tools", "resources", "resourceTemplates", "prompts"];

/** Makes all lists of these servers known. Servers that cannot be reached keep the lists they had. */
export async function bringUpLean(
  { lists }: { readonly lists: PortLists },
  connections: readonly ServerConnection[],
  { signal, timeoutMs }: WaitOptions,
): Promise<void> {
  const providing = connections.flatMap(({ name }) => ALL.flatMap((key) => lists.provide(name, key) ?? []));
  const onTimeout = () => new Error("The lists are late");
  await withDeadline(Promise.all(providing), { signal, timeoutMs, onTimeout }).catch(() =>
    signal?.throwIfAborted(),
  );
}

/** Reads the known lists of a server again, and its tools in any case. */
export async function rereadLean(
  { lists: { onDemand } }: { readonly lists: PortLists },
  session: Session,
  wait: Partial<ListOptions>,
): Promise<void> {
  const keys = new Set<ListKey>(["tools", ...onDemand.knownOf(session.server)]);
  await Promise.all([...keys].map((key) => onDemand.read(session, key, wait)));
}
