/** Reports changes of a server's lists and resources: by notifications of legacy servers, by a subscription to modern ones. */
import type { Client, ServerCapabilities } from "@modelcontextprotocol/client";
import { CatalogError } from "../errors/catalog-error.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { withDeadline } from "../util/with-deadline.js";
import type { Era } from "./era.js";
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

export interface ChangeWatch {
  on(listener: (list: ListName) => void): () => void;
  /** Modern servers: prepares subscriptions. Call after the handshake. */
  prepare(subscribable: Subscribable): void;
  /**
   * Modern servers: opens the subscription, and reopens it whenever the server drops it. Resolves when the request was sent.
   * A server that answers in order reports every change of a list read afterwards. Never rejects.
   */
  keepListening(): Promise<void>;
  /** Undoes {@link keepListening}; subscriptions to resources stay. */
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
  let isListening = false;
  const listeners = new Set<(list: ListName) => void>();
  const resources = new Map<string, () => void>();

  const emit = (list: ListName) => {
    for (const listener of [...listeners]) listener(list);
  };

  channel.notificationListeners.add((method) => {
    for (const list of LISTS) if (method === NOTIFICATIONS[list]) emit(list);
  });

  const filter = (): ListenFilter => {
    const capabilities = isListening ? server?.capabilities : undefined;
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
    // Changes during the gap are unknown, so everything in the filter counts as changed.
    onGap(wanted) {
      for (const list of LISTS) if (wanted[`${list}ListChanged`]) emit(list);
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
    prepare(subscribable) {
      server = subscribable;
    },
    keepListening() {
      if (isListening) return Promise.resolve();
      isListening = true;
      return subscription.begin();
    },
    stopListening() {
      if (!isListening) return;
      isListening = false;
      subscription.narrow();
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
  /** Legacy servers: opens the stream for notifications, unless it is open. */
  openStream(): () => void;
  request(method: string, params: Record<string, unknown>, options: ChannelRequestOptions): Promise<unknown>;
}

interface WatchResourceParts {
  readonly session: ResourceSession;
  readonly watch: ChangeWatch;
  readonly uri: string;
  /** Called when changes may have been missed: the subscription to a modern server was interrupted. */
  readonly onGap: () => void;
  readonly limits: ChannelRequestOptions;
}

/** Subscribes to one resource. Resolves with a function that unsubscribes and never rejects. */
export async function watchResource(parts: WatchResourceParts): Promise<() => Promise<void>> {
  const { session, uri, limits } = parts;
  if (session.capabilities.resources?.subscribe !== true) throw notOffered(session.server);
  if (session.era === "modern") return subscribeModern(parts);
  session.openStream();
  await session.request("resources/subscribe", { uri }, limits);
  return async () => {
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
