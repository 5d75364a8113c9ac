/** Reports changes of a server's lists and resources: by notifications of legacy servers, by a subscription to modern ones. */
import type { Client, ServerCapabilities } from "@modelcontextprotocol/client";
import { CatalogError } from "../errors/catalog-error.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import type { StreamState } from "../transports/server-transport.js";
import { withDeadline } from "../util/with-deadline.js";
import type { Era } from "./era.js";
import { LIST_KEYS, type ListKey, type ListRead, ListReads } from "./list-reads.js";
import type { ChannelRequestOptions, RequestChannel } from "./request-channel.js";
import { type ListenFilter, ServerSubscription } from "./server-subscription.js";

/** The lists a server can change. */
export type ListName = "tools" | "resources" | "prompts";

const NOTIFICATIONS = {
  tools: "notifications/tools/list_changed",
  resources: "notifications/resources/list_changed",
  prompts: "notifications/prompts/list_changed",
} as const;

const LISTS = Object.keys(NOTIFICATIONS) as ListName[];
const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";

/** The name of a list in notifications and capabilities. */
export const listNameOf = (key: ListKey): ListName => (key === "resourceTemplates" ? "resources" : key);

export interface ChangeWatch {
  on(listener: (list: ListName) => void): () => void;
  /** Calls the listener with lists that may have changed unnoticed. They have to be read again. */
  onGap(listener: (lists: readonly ListKey[]) => void): () => void;
  /** A list is about to be requested. */
  beginRead(list: ListKey): ListRead;
  /** Whether the server reports changes of this list now. */
  isReporting(list: ListKey): boolean;
  /** Prepares subscriptions. Call after the handshake. */
  prepare(subscribable: Subscribable): void;
  /** Legacy servers: the stream for notifications was requested, is open, or has ended. */
  streamChanged(state: StreamState): void;
  /** Legacy servers: calls the listener when the stream for notifications is open again. Returns a function that ends it. */
  onStreamOpen(listener: () => void): () => void;
  /** Reports the lists again that were not read since the server reports their changes. */
  recheck(): void;
  /**
   * Modern servers: opens the subscription, and reopens it whenever the server drops it. Resolves when the request was sent.
   * Never rejects.
   */
  keepListening(): Promise<void>;
  /** Undoes one call of {@link keepListening}; subscriptions to resources stay. */
  stopListening(): void;
  /**
   * Modern servers: adds a resource to the subscription. Resolves with whether the server grants it. Calls `onGap` whenever
   * changes may have been missed.
   */
  addResource(uri: string, onGap: () => void): Promise<boolean>;
  /** Undoes {@link addResource}. */
  removeResource(uri: string): void;
  /** Modern servers: the last error, while there is no subscription. */
  lastError(): unknown;
  close(): void;
}

export interface Subscribable {
  readonly capabilities: ServerCapabilities;
  /** The SDK's client, which implements subscriptions. */
  readonly client: () => Promise<Client>;
}

/** Must be called before the handshake, so that no notification is missed. */
export function createChangeWatch(channel: RequestChannel): ChangeWatch {
  let server: Subscribable | undefined;
  /** How many callers of `keepListening` have not stopped. */
  let listening = 0;
  const listeners = new Set<(list: ListName) => void>();
  const gapListeners = new Set<(lists: readonly ListKey[]) => void>();
  const streamListeners = new Set<() => void>();
  const resources = new Map<string, () => void>();

  const declares = (key: ListKey) => server?.capabilities[listNameOf(key)]?.listChanged === true;
  const reads = new ListReads((keys) => {
    const declared = keys.filter(declares);
    if (declared.length > 0) for (const listener of [...gapListeners]) listener(declared);
  });

  channel.notificationListeners.add((method) => {
    if (method === ACKNOWLEDGED) reads.streamConfirmed();
    for (const list of LISTS)
      if (method === NOTIFICATIONS[list]) for (const listener of [...listeners]) listener(list);
  });

  const filter = (): ListenFilter => {
    const capabilities = listening > 0 ? server?.capabilities : undefined;
    return {
      ...(capabilities?.tools?.listChanged && { toolsListChanged: true as const }),
      ...(capabilities?.resources?.listChanged && { resourcesListChanged: true as const }),
      ...(capabilities?.prompts?.listChanged && { promptsListChanged: true as const }),
      ...(resources.size > 0 && { resourceSubscriptions: [...resources.keys()] }),
    };
  };

  const subscription = new ServerSubscription({
    // Called only for a filter that is not empty, and the filter is empty until the server is set.
    client: () => server!.client(),
    filter,
    onRequest: () => reads.streamRequested(),
    onOpen: (honored) =>
      reads.streamOpened(LIST_KEYS.filter((key) => honored[`${listNameOf(key)}ListChanged`])),
    onLost: () => reads.streamLost(),
    // Changes during the gap are unknown, so all resources in the filter count as changed.
    onGap(wanted) {
      for (const uri of wanted.resourceSubscriptions ?? []) resources.get(uri)?.();
    },
  });

  return {
    on(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    onGap(listener) {
      gapListeners.add(listener);
      return () => {
        gapListeners.delete(listener);
      };
    },
    beginRead: (list) => reads.begin(list),
    isReporting: (list) => declares(list) && reads.isCovered(list),
    prepare(subscribable) {
      server = subscribable;
    },
    streamChanged(state) {
      if (state === "requested") return reads.streamRequested();
      if (state === "ended") return reads.streamLost();
      reads.streamConfirmed();
      reads.streamOpened(LIST_KEYS);
      for (const listener of [...streamListeners]) listener();
    },
    onStreamOpen(listener) {
      streamListeners.add(listener);
      return () => {
        streamListeners.delete(listener);
      };
    },
    recheck: () => reads.recheck(),
    keepListening() {
      listening += 1;
      return listening > 1 ? Promise.resolve() : subscription.begin();
    },
    stopListening() {
      listening -= 1;
      if (listening === 0) subscription.narrow();
    },
    async addResource(uri, onGap) {
      resources.set(uri, onGap);
      const { resourceSubscriptions = [] } = await subscription.update();
      return resourceSubscriptions.includes(uri);
    },
    removeResource(uri) {
      if (resources.delete(uri)) subscription.narrow();
    },
    lastError: () => subscription.lastError,
    close() {
      subscription.close();
      listeners.clear();
      gapListeners.clear();
      streamListeners.clear();
      resources.clear();
    },
  };
}

const UNSUBSCRIBE_MS = 5_000;

/** The part of `Session` that a subscription to a resource needs. */
interface ResourceSession {
  readonly server: string;
  readonly era: Era;
  readonly capabilities: ServerCapabilities;
  request(method: string, params: Record<string, unknown>, options: ChannelRequestOptions): Promise<unknown>;
}

interface WatchResourceParts {
  readonly session: ResourceSession;
  /** Legacy servers: opens the stream for notifications, unless it is open. */
  readonly openStream: () => void;
  readonly watch: ChangeWatch;
  readonly uri: string;
  /** Called when changes may have been missed: the stream of changes was interrupted. */
  readonly onGap: () => void;
  readonly limits: ChannelRequestOptions;
}

/** Subscribes to one resource. Resolves with a function that unsubscribes and never rejects. */
export async function watchResource(parts: WatchResourceParts): Promise<() => Promise<void>> {
  const { session, openStream, watch, uri, onGap, limits } = parts;
  if (session.capabilities.resources?.subscribe !== true) throw notOffered(session.server);
  if (session.era === "modern") return subscribeModern(parts);
  openStream();
  await session.request("resources/subscribe", { uri }, limits);
  const off = watch.onStreamOpen(onGap);
  return async () => {
    off();
    const options = { timeoutMs: UNSUBSCRIBE_MS, maxTimeoutMs: UNSUBSCRIBE_MS };
    // Ignore failures: a closed connection has no subscriptions.
    await session.request("resources/unsubscribe", { uri }, options).catch(() => {});
  };
}

async function subscribeModern({
  session,
  watch,
  uri,
  onGap,
  limits,
}: WatchResourceParts): Promise<() => Promise<void>> {
  const { server } = session;
  const granting = watch.addResource(uri, onGap);
  granting.catch(() => {});
  try {
    const granted = await withDeadline(granting, {
      signal: limits.signal,
      timeoutMs: Math.min(limits.timeoutMs, limits.maxTimeoutMs),
      onTimeout: () => notGranted(server, limits.timeoutMs, watch.lastError()),
    });
    if (!granted) throw notOffered(server);
  } catch (error) {
    watch.removeResource(uri);
    throw limits.signal?.aborted ? error : toToolportError(error, { server });
  }
  return async () => watch.removeResource(uri);
}

function notOffered(server: string): CatalogError {
  return new CatalogError({
    code: "NOT_OFFERED",
    server,
    what: "The server does not offer a subscription to this resource",
    next: "Poll the resource instead",
  });
}

function notGranted(server: string, timeoutMs: number, cause: unknown): ToolCallError {
  return new ToolCallError({
    code: "TIMEOUT",
    server,
    phase: "subscribe",
    what: `The subscription was not granted within ${timeoutMs} ms`,
    next: "Raise timeoutMs, or check the server",
    retryable: true,
    cause,
  });
}
