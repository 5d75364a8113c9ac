/** Reports changes of a server's lists and resources: by notifications of legacy servers, by a subscription to modern ones. */
import type { Client, ServerCapabilities } from "@modelcontextprotocol/client";
import type { StreamState } from "../transports/server-transport.js";
import type { RequestChannel } from "./request-channel.js";
import { LISTEN_FIRST_MS, type ListenFilter, ServerSubscription } from "./server-subscription.js";

/** The lists of a server. */
export type ListKey = "tools" | "resources" | "resourceTemplates" | "prompts";

export const LIST_KEYS: readonly ListKey[] = ["tools", "resources", "resourceTemplates", "prompts"];

/** The lists a server can change. */
export type ListName = "tools" | "resources" | "prompts";

const NOTIFICATIONS = {
  tools: "notifications/tools/list_changed",
  resources: "notifications/resources/list_changed",
  prompts: "notifications/prompts/list_changed",
} as const;

const LISTS = Object.keys(NOTIFICATIONS) as ListName[];

/** The name of a list in notifications and capabilities. */
export const listNameOf = (key: ListKey): ListName => (key === "resourceTemplates" ? "resources" : key);

export interface ChangeWatch {
  on(listener: (list: ListName) => void): () => void;
  /** Calls the listener with lists whose changes the server reports from now on. Earlier changes may have been missed. */
  onListening(listener: (lists: readonly ListKey[]) => void): () => void;
  /** Whether the server reports changes of this list now. */
  isReporting(list: ListKey): boolean;
  /** Prepares subscriptions. Call after the handshake. */
  prepare(subscribable: Subscribable): void;
  /** Legacy servers: the stream for notifications was requested, is open, or has ended. */
  streamChanged(state: StreamState): void;
  /** Legacy servers: calls the listener when the stream for notifications is open again. Returns a function that ends it. */
  onStreamOpen(listener: () => void): () => void;
  /** Legacy servers: resolves when the stream that was requested is open, will not be, or takes long. */
  streamSettled(): Promise<void>;
  /**
   * Modern servers: opens the subscription, and reopens it whenever the server drops it. Resolves when the server has
   * acknowledged it, the first attempt has failed, or the server takes long. Never rejects.
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
  const listeningListeners = new Set<(lists: readonly ListKey[]) => void>();
  const streamListeners = new Set<() => void>();
  const resources = new Map<string, () => void>();
  /** The lists whose changes the server reports now. */
  const reported = new Set<ListKey>();
  let stream: StreamState | undefined;
  const streamWaiters = new Set<() => void>();

  const declares = (key: ListKey) => server?.capabilities[listNameOf(key)]?.listChanged === true;

  function reports(lists: readonly ListKey[]): void {
    for (const key of [...reported]) if (!lists.includes(key)) reported.delete(key);
    const added = lists.filter((key) => declares(key) && !reported.has(key));
    for (const key of added) reported.add(key);
    if (added.length > 0) for (const listener of [...listeningListeners]) listener(added);
  }

  channel.notificationListeners.add((method) => {
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
    onOpen: (honored) => reports(LIST_KEYS.filter((key) => honored[`${listNameOf(key)}ListChanged`])),
    onLost: () => reports([]),
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
    onListening(listener) {
      listeningListeners.add(listener);
      return () => {
        listeningListeners.delete(listener);
      };
    },
    isReporting: (list) => reported.has(list),
    prepare(subscribable) {
      server = subscribable;
    },
    streamChanged(state) {
      stream = state;
      if (state === "requested") return;
      reports(state === "open" ? LIST_KEYS : []);
      if (state === "open") for (const listener of [...streamListeners]) listener();
      for (const settle of streamWaiters) settle();
    },
    onStreamOpen(listener) {
      streamListeners.add(listener);
      return () => {
        streamListeners.delete(listener);
      };
    },
    async streamSettled() {
      if (stream !== "requested") return;
      await new Promise<void>((resolve) => {
        const settle = () => {
          clearTimeout(timer);
          streamWaiters.delete(settle);
          resolve();
        };
        const timer = setTimeout(settle, LISTEN_FIRST_MS);
        streamWaiters.add(settle);
      });
    },
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
      for (const settle of streamWaiters) settle();
      listeners.clear();
      listeningListeners.clear();
      streamListeners.clear();
      resources.clear();
    },
  };
}
