/** Streams on which clients receive news: `subscriptions/listen`, and the GET stream or the connection of a legacy client. */
import { type Fields, isRecord } from "@toolport/base";
import { checkRead, locateResource, refusalOfRead } from "../calls/check-read.js";
import { isAtLeast } from "../calls/client-hooks.js";
import { renameTasks } from "../calls/client-names.js";
import { visibleTasks } from "../calls/task-progress.js";
import { Fault, INTERNAL_ERROR, invalidParams } from "../faults.js";
import { resourceNames } from "../lists/list-entries.js";
import type { ResourceTarget } from "../lists/resource-names.js";
import { type GatewayClient, META, type OpenStream } from "../message.js";
import {
  FailedRequest,
  type GatewayParts,
  type Handled,
  type RequestContext,
  type RequestFacts,
} from "../request-context.js";
import { notificationText, passedParams, resultText } from "../results.js";
import type { GatewayUser } from "../users.js";
import { type ListName, TASK_STATUS } from "./feeds.js";

const FILTERS = {
  tools: "toolsListChanged",
  prompts: "promptsListChanged",
  resources: "resourcesListChanged",
} as const satisfies Record<ListName, string>;

const MAX_WATCHED = 1_000;

/** `subscriptions/listen` of a modern client. Ends when the client or the gateway closes the stream. */
export async function listen(context: RequestContext): Promise<Handled> {
  const { request, exchange, user, client, parts } = context;
  const wanted = request.params["notifications"];
  if (!isRecord(wanted)) throw invalidParams("notifications is missing or not an object");
  if (exchange.hold === undefined) throw new Fault(INTERNAL_ERROR, "The client accepts no event stream");
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
  const onUpdate = (uri: string) => send("notifications/resources/updated", { uri });
  const watched = new WatchedResources(user, parts, () => client, onUpdate);
  const stream: OpenStream = exchange.hold();
  const lists = new Set(
    (Object.keys(FILTERS) as ListName[]).filter((list) => wanted[FILTERS[list]] === true),
  );
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
  return { json: resultText(client, {}, { ownMeta: subscription }) };
}

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

/**
 * Sends all news of a user to a legacy client. Returns a function that ends it.
 *
 * @param stream its client as the session is now, and whether requests of the client may reach other replicas
 */
export function openLegacyFeed(
  parts: GatewayParts,
  user: GatewayUser,
  {
    client,
    send,
    usesReplicas,
  }: { client: () => GatewayClient; send: (text: string) => void; usesReplicas: boolean },
): () => void {
  const { session } = client();
  const watched = new WatchedResources(user, parts, client, (uri) =>
    send(notificationText("notifications/resources/updated", { uri })),
  );
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
      const named = renameTasks(params, () => task.id);
      visibleTasks({ parts, user, client: client() }, [task])
        .then(([isShown]) => isShown && send(notificationText(method, named)))
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

/** A resource that the client has asked for. */
interface Watch {
  /** Undefined if the resource does not exist. */
  readonly target?: ResourceTarget | undefined;
  /** The policy does not let the client read the resource. The server has no subscription. */
  readonly isRefused?: boolean | undefined;
  /** Ends the subscription. Undefined if there is none. */
  readonly stop?: (() => Promise<void>) | undefined;
}

const REFUSED: Watch = { isRefused: true };

/** Subscribes to resources by the URIs that clients see. */
class WatchedResources {
  readonly #watches = new Map<string, Promise<Watch>>();

  constructor(
    private readonly user: Pick<GatewayUser, "port">,
    private readonly parts: Pick<GatewayParts, "policy" | "readsUris">,
    /** The client with the credential of now. */
    private readonly client: () => Pick<GatewayClient, "principal" | "scopes">,
    /** Gets the URI that the client sees. */
    private readonly onUpdate: (uri: string) => void,
  ) {}

  /** Watches exactly these resources. Resolves with those that the policy and the servers grant; never rejects. */
  async set(uris: readonly string[], signal?: AbortSignal): Promise<string[]> {
    const wanted = new Set(uris);
    for (const [uri, watch] of this.#watches)
      if (!wanted.has(uri)) {
        this.#watches.delete(uri);
        end(watch);
      }
    const granted = await Promise.all(
      [...wanted].map(async (uri) => {
        const watch = this.#watches.get(uri) ?? this.#watch(uri, signal);
        this.#watches.set(uri, watch);
        return (await watch).stop === undefined ? [] : [uri];
      }),
    );
    return granted.flat();
  }

  /** The rules have changed: ends what the client may not read any more, and begins what it may read now. */
  recheck(): void {
    for (const [uri, before] of this.#watches) this.#watches.set(uri, this.#again(uri, before));
  }

  close(): void {
    for (const watch of this.#watches.values()) end(watch);
    this.#watches.clear();
  }

  async #again(uri: string, before: Promise<Watch>): Promise<Watch> {
    const known = await before;
    if (known.isRefused) return this.#watch(uri, undefined);
    const { target, stop } = known;
    if (target === undefined || stop === undefined || (await this.#mayRead(target))) return known;
    end(before);
    return REFUSED;
  }

  async #watch(uri: string, signal: AbortSignal | undefined): Promise<Watch> {
    const { parts, user } = this;
    try {
      const wait = signal === undefined ? {} : { signal };
      const target = await locateResource({ user, parts }, uri, wait);
      if (target === undefined) return {};
      if (!(await this.#mayRead(target))) return REFUSED;
      const { server, uri: source } = target;
      const names = await resourceNames(user.port, wait);
      const listener = async (update: { readonly uri: string }) => {
        // The update may be about a resource below this one, and rules may have changed.
        if (!(await this.#mayRead({ server, uri: update.uri }))) return;
        this.onUpdate(update.uri === source ? uri : names.toPublic(server, update.uri));
      };
      const stop = await user.port.subscriptions.add({ server, uri: source, listener }, { signal });
      return { target, stop };
    } catch {
      // The URI has two readings, or the server offers no subscription: the client is not promised any update.
      return {};
    }
  }

  /** Asks the policy as it is asked when the client reads the resource. */
  async #mayRead({ server, uri }: ResourceTarget): Promise<boolean> {
    const read = { method: "resources/read", server, uri };
    return (await refusalOfRead({ parts: this.parts, client: this.client() }, read)) === undefined;
  }
}

function end(watch: Promise<Watch>): void {
  void watch.then(({ stop }) => stop?.());
}

const MAX_SUBSCRIPTIONS = 1_000;
/** Of all URIs of a session together, because every replica keeps them. */
const MAX_CHARS = 256 * 1024;

/** The stream of the client, here or on another replica, watches what the session names. */
export async function subscribe(context: RequestContext, isWanted: boolean): Promise<Handled> {
  const { request, client, parts } = context;
  const { uri } = request.params;
  if (typeof uri !== "string") throw invalidParams("The URI of the resource is missing");
  const json = resultText(client, {});
  const facts = isWanted && parts.policy !== undefined ? await checkSubscription(context, uri) : {};
  if (client.session === undefined) return { json, facts };
  const { subscriptions = [] } = parts.sessions.stateOf(client.session);
  const others = subscriptions.filter((each) => each !== uri);
  const chars = others.reduce((sum, each) => sum + each.length, uri.length);
  if (isWanted && (others.length >= MAX_SUBSCRIPTIONS || chars > MAX_CHARS))
    throw new FailedRequest(invalidParams("Too many subscriptions"), facts);
  await parts.sessions.update(client.session, { subscriptions: isWanted ? [...others, uri] : others });
  return { json, facts };
}

/** Throws if the client may not read the resource. The stream decides later about one that is not known yet. */
async function checkSubscription(context: RequestContext, uri: string): Promise<RequestFacts> {
  const target = await locateResource(context, uri, { signal: context.exchange.signal });
  if (target === undefined) return {};
  await checkRead(context, { method: "resources/read", ...target });
  return { server: target.server, tool: target.uri };
}
