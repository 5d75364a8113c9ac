/** Changes of a server's lists in both eras: told unasked on the legacy wire, by a subscription on the modern one. */
import type { Client, ServerCapabilities } from "@modelcontextprotocol/client";
import { CatalogError } from "../errors/catalog-error.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { withDeadline } from "../util/with-deadline.js";
import type { Lane, LaneRequestOptions } from "./request-channel.js";
import { type ListenFilter, Listening } from "./server-subscription.js";
import type { Session } from "./session.js";

/** The lists a server can change. */
export type ListName = "tools" | "resources" | "prompts";

const NOTIFICATIONS = {
  tools: "notifications/tools/list_changed",
  resources: "notifications/resources/list_changed",
  prompts: "notifications/prompts/list_changed",
} as const;

const LISTS = Object.keys(NOTIFICATIONS) as ListName[];

export interface ListWatch {
  on(listener: (list: ListName) => void): () => void;
  /**
   * Modern era: opens the subscription and opens it again whenever the server drops it. Never rejects; resolves when the
   * server has been asked for it, so that lists read after that cannot change unnoticed.
   */
  keepListening(subscribable: Subscribable): Promise<void>;
  /**
   * Modern era: the same subscription covers these resources too. Resolves with whether the server grants it; `onGap` is
   * called whenever changes may have been missed.
   */
  addResource(uri: string, onGap: () => void): Promise<boolean>;
  /** Modern era: as before {@link addResource}. */
  removeResource(uri: string): void;
  /** Modern era: why there is no subscription, if there is none. */
  lastError(): unknown;
  close(): void;
}

/** A server of the modern era, as far as subscriptions go. */
export interface Subscribable {
  readonly capabilities: ServerCapabilities;
  /** The SDK's client, which keeps subscriptions. */
  readonly client: () => Promise<Client>;
}

/** Must be made before the handshake, so that no notification is missed. */
export function createListWatch(lane: Lane): ListWatch {
  let server: Subscribable | undefined;
  const listeners = new Set<(list: ListName) => void>();
  const resources = new Map<string, () => void>();

  const tell = (list: ListName) => {
    for (const listener of [...listeners]) listener(list);
  };

  lane.hearers.add((method) => {
    for (const list of LISTS) if (method === NOTIFICATIONS[list]) tell(list);
  });

  const filter = (): ListenFilter => {
    const capabilities = server?.capabilities;
    return {
      ...(capabilities?.tools?.listChanged && { toolsListChanged: true as const }),
      ...(capabilities?.resources?.listChanged && { resourcesListChanged: true as const }),
      ...(capabilities?.prompts?.listChanged && { promptsListChanged: true as const }),
      ...(resources.size > 0 && { resourceSubscriptions: [...resources.keys()] }),
    };
  };

  const listening = new Listening({
    // Nothing is wanted before the server is known.
    client: () => server!.client(),
    filter,
    // What was missed while nobody listened is unknown, so everything watched counts as changed.
    onGap(wanted) {
      for (const list of LISTS) if (wanted[`${list}ListChanged`]) tell(list);
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
    keepListening(subscribable) {
      server = subscribable;
      return listening.begin();
    },
    async addResource(uri, onGap) {
      resources.set(uri, onGap);
      const { resourceSubscriptions = [] } = await listening.update();
      return resourceSubscriptions.includes(uri);
    },
    removeResource(uri) {
      if (resources.delete(uri)) listening.narrow();
    },
    lastError: () => listening.lastError,
    close() {
      listening.close();
      listeners.clear();
      resources.clear();
    },
  };
}

const UNSUBSCRIBE_MS = 5_000;

export interface WatchResourceParts {
  readonly session: Pick<Session, "server" | "era" | "capabilities" | "request">;
  readonly watch: ListWatch;
  readonly uri: string;
  /** Changes may have been missed although the session lives: the modern era's stream was cut and opened again. */
  readonly onGap: () => void;
  readonly limits: LaneRequestOptions;
}

/** Resolves when the server has agreed; with what ends the subscription again, and never rejects. */
export async function watchResource(parts: WatchResourceParts): Promise<() => Promise<void>> {
  const { session, uri, limits } = parts;
  if (session.capabilities.resources?.subscribe !== true) throw notOffered(session.server);
  if (session.era === "modern") return listenTo(parts);
  await session.request("resources/subscribe", { uri }, limits);
  return async () => {
    const options = { timeoutMs: UNSUBSCRIBE_MS, maxTimeoutMs: UNSUBSCRIBE_MS };
    // A connection that is gone has no subscriptions, and a server that refuses to end one is told nothing new by us.
    await session.request("resources/unsubscribe", { uri }, options).catch(() => {});
  };
}

async function listenTo({
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
      onTimeout: () => notAnswered(server, limits.timeoutMs, watch.lastError()),
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
    what: "The server offers no subscriptions to this resource",
    next: "Read the resource again now and then",
  });
}

function notAnswered(server: string, timeoutMs: number, cause: unknown): ToolCallError {
  return new ToolCallError({
    code: "TIMEOUT",
    server,
    phase: "subscribe",
    what: `The subscription was not granted within ${timeoutMs} ms`,
    next: "Raise timeoutMs, or look at the server",
    retryable: true,
    cause,
  });
}
