/** Streams on which clients receive news: `subscriptions/listen`, and the GET stream or the connection of a legacy client. */
import type { ListName } from "../../protocol/change-watch.js";
import { type Fields, isRecord } from "../../util/is-record.js";
import { isAtLeast } from "../calls/relayed.js";
import { renameTasks, visibleTasks } from "../calls/task-progress.js";
import type { GatewayClient, OpenStream } from "../client.js";
import { Fault, INTERNAL_ERROR, invalidParams } from "../faults.js";
import { META } from "../message.js";
import type { GatewayParts, RequestContext } from "../request-context.js";
import { notificationText, passedParams, resultText } from "../results.js";
import type { GatewayUser } from "../users.js";
import { TASK_STATUS } from "./feeds.js";
import { WatchedResources } from "./watched-resources.js";

const FILTERS = {
  tools: "toolsListChanged",
  prompts: "promptsListChanged",
  resources: "resourcesListChanged",
} as const satisfies Record<ListName, string>;

const MAX_WATCHED = 1_000;

/** `subscriptions/listen` of a modern client. Ends when the client or the gateway closes the stream. */
export async function listen(context: RequestContext): Promise<string> {
  const { request, exchange, user, client, parts } = context;
  const wanted = request.params["notifications"];
  if (!isRecord(wanted)) throw invalidParams("notifications is missing or not an object");
  if (exchange.hold === undefined)
    throw new Fault({ code: INTERNAL_ERROR, message: "The client accepts no event stream" });
  const letGo = parts.users.openStream(user);
  // An open stream is no request of the user that runs.
  const resume = parts.users.pause(user);
  const subscription = { [META.subscription]: request.id };
  const toText = (method: string, params: Fields = {}) =>
    notificationText(method, { ...params, _meta: subscription });
  /** News that came before the acknowledgement, which is the first message of the stream. */
  let early: string[] | undefined = [];
  const send = (method: string, params?: Fields) => {
    const text = toText(method, params);
    if (early === undefined) stream.send(text);
    else early.push(text);
  };
  const watched = new WatchedResources(user, {
    parts,
    client: () => client,
    onUpdate: (uri) => send("notifications/resources/updated", { uri }),
  });
  const stream: OpenStream = exchange.hold();
  const lists = listsOf(wanted);
  // Before the resources: a later change of what the port listens for would open the streams of its servers anew.
  const stop = parts.feeds.add(user, {
    usesReplicas: true,
    listChanged(list) {
      if (lists.has(list)) send(`notifications/${list}/list_changed`);
    },
  });
  const stopChecking = parts.policy?.onChange(() => watched.recheck());
  try {
    const honored = await honor(wanted, watched, { lists, signal: exchange.signal });
    stream.send(toText("notifications/subscriptions/acknowledged", { notifications: honored }));
    for (const text of early) stream.send(text);
    early = undefined;
    if (Object.keys(honored).length > 0) await stream.closed;
  } finally {
    stopChecking?.();
    stop();
    watched.close();
    letGo();
    resume();
  }
  return resultText(client, {}, { ownMeta: subscription });
}

/** The lists whose changes the client wants. */
const listsOf = (wanted: Fields): ReadonlySet<ListName> =>
  new Set((Object.keys(FILTERS) as ListName[]).filter((list) => wanted[FILTERS[list]] === true));

/** The part of a filter that the gateway serves. */
async function honor(
  wanted: Fields,
  watched: WatchedResources,
  { lists, signal }: { lists: ReadonlySet<ListName>; signal: AbortSignal },
): Promise<Fields> {
  const { resourceSubscriptions: uris } = wanted;
  const asked = Array.isArray(uris)
    ? uris.filter((uri) => typeof uri === "string").slice(0, MAX_WATCHED)
    : [];
  const granted = asked.length === 0 ? [] : await watched.set(asked, signal);
  // What was not acknowledged is not watched later, whatever new rules say.
  if (granted.length < asked.length) await watched.set(granted, signal);
  return {
    ...Object.fromEntries([...lists].map((list) => [FILTERS[list], true])),
    ...(granted.length > 0 && { resourceSubscriptions: granted }),
  };
}

/** A stream of a legacy client. */
interface LegacyFeed {
  /** As the session is now. */
  readonly client: () => GatewayClient;
  readonly send: (text: string) => void;
  /** Requests of the client may reach other replicas. */
  readonly usesReplicas: boolean;
}

/** Sends all news of a user to a legacy client. Returns a function that ends it. */
export function openLegacyFeed(
  parts: GatewayParts,
  user: GatewayUser,
  { client, send, usesReplicas }: LegacyFeed,
): () => void {
  const { session } = client();
  const watched = new WatchedResources(user, {
    parts,
    client,
    onUpdate: (uri) => send(notificationText("notifications/resources/updated", { uri })),
  });
  const sync = () => {
    if (session !== undefined) void watched.set(parts.sessions.stateOf(session).subscriptions ?? []);
  };
  const stopFeed = parts.feeds.add(user, {
    usesReplicas,
    session,
    showsServer: (server) => parts.showsServer(client(), server),
    send,
    listChanged: (list) => send(notificationText(`notifications/${list}/list_changed`)),
    log(params) {
      const level = client().logLevel ?? "info";
      if (isAtLeast(params["level"], level)) send(notificationText("notifications/message", params));
    },
    passOn({ server, method, params }) {
      if (method !== TASK_STATUS) return send(notificationText(method, passedParams(params)));
      const task = parts.tasks.find(user, { server, taskId: String(params["taskId"]) });
      // A task of another user, or one that no client of this replica has begun or asked about.
      if (task === undefined) return;
      parts.tasks.observe(user, task, params["status"]);
      const text = notificationText(
        method,
        renameTasks(params, () => task.id),
      );
      visibleTasks({ parts, user, client: client() }, [task])
        .then(([isShown]) => isShown && send(text))
        .catch(parts.report);
    },
  });
  const stopWatching = parts.sessions.onChange((changed) => {
    if (changed === session) sync();
  });
  const stopChecking = parts.policy?.onChange(() => watched.recheck());
  sync();
  return () => {
    stopChecking?.();
    stopWatching();
    stopFeed();
    watched.close();
  };
}
