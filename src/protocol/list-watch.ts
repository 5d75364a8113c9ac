/** Changes of a server's lists in both eras: told unasked on the legacy wire, by a subscription on the modern one. */
import type { Client, ServerCapabilities } from "@modelcontextprotocol/client";
import type { Lane } from "./lane.js";
import { type ListenFilter, Listening } from "./listening.js";

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
