/** Reports changes of a server's lists and resources: by notifications of legacy servers, by a subscription to modern ones. */
import type {
  Client,
  McpSubscription,
  ServerCapabilities,
  SubscriptionFilter,
} from "@modelcontextprotocol/client";
import { toToolportError } from "../errors/to-toolport-error.js";
import { CatalogError, ToolCallError } from "../errors/toolport-error.js";
import type { StreamState } from "../transports/server-transport.js";
import { fullJitterMs, pause, withDeadline } from "../util/timers.js";
import type { ChannelRequestOptions, RequestChannel } from "./request-channel.js";

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

/** What a handshake says about subscriptions. */
interface Subscribable {
  readonly capabilities: ServerCapabilities;
  /** The SDK's client, which implements subscriptions. */
  readonly client: () => Promise<Client>;
}

/** Must be created before the handshake, so that no notification is missed. */
export class ChangeWatch {
  readonly #listeners = new Set<(list: ListName) => void>();
  readonly #listeningListeners = new Set<(lists: readonly ListKey[]) => void>();
  readonly #streamListeners = new Set<() => void>();
  readonly #streamWaiters = new Set<() => void>();
  readonly #resources = new Map<string, () => void>();
  /** The lists whose changes the server reports now. */
  readonly #reported = new Set<ListKey>();
  readonly #subscription = new ServerSubscription({
    // Called only for a filter that is not empty, and the filter is empty until the server is set.
    client: () => this.#server!.client(),
    filter: () => this.#filter(),
    onOpen: (honored) => this.#reports(LIST_KEYS.filter((key) => honored[`${listNameOf(key)}ListChanged`])),
    onLost: () => this.#reports([]),
    // Changes during the gap are unknown, so all resources in the filter count as changed.
    onGap: (wanted) => {
      for (const uri of wanted.resourceSubscriptions ?? []) this.#resources.get(uri)?.();
    },
  });
  #server: Subscribable | undefined;
  #stream: StreamState | undefined;
  /** How many callers of `keepListening` have not stopped. */
  #listening = 0;

  constructor(channel: RequestChannel) {
    channel.notificationListeners.add((method) => {
      for (const list of LISTS)
        if (method === NOTIFICATIONS[list]) for (const listener of [...this.#listeners]) listener(list);
    });
  }

  on(listener: (list: ListName) => void): () => void {
    return addTo(this.#listeners, listener);
  }

  /** Calls the listener with lists whose changes the server reports from now on. Earlier changes may have been missed. */
  onListening(listener: (lists: readonly ListKey[]) => void): () => void {
    return addTo(this.#listeningListeners, listener);
  }

  /** Whether the server reports changes of this list now. */
  isReporting(list: ListKey): boolean {
    return this.#reported.has(list);
  }

  /** Prepares subscriptions. Call after the handshake. */
  prepare(server: Subscribable): void {
    this.#server = server;
  }

  /** Legacy servers: the stream for notifications was requested, is open, or has ended. */
  streamChanged(state: StreamState): void {
    this.#stream = state;
    if (state === "requested") return;
    this.#reports(state === "open" ? LIST_KEYS : []);
    if (state === "open") for (const listener of [...this.#streamListeners]) listener();
    for (const settle of this.#streamWaiters) settle();
  }

  /** Legacy servers: resolves when the stream that was requested is open, will not be, or takes long. */
  async streamSettled(): Promise<void> {
    if (this.#stream !== "requested") return;
    await new Promise<void>((resolve) => {
      const settle = () => {
        clearTimeout(timer);
        this.#streamWaiters.delete(settle);
        resolve();
      };
      const timer = setTimeout(settle, LISTEN_FIRST_MS);
      this.#streamWaiters.add(settle);
    });
  }

  /** Legacy servers: calls the listener when the stream for notifications is open again. Returns a function that ends it. */
  onStreamOpen(listener: () => void): () => void {
    return addTo(this.#streamListeners, listener);
  }

  /**
   * Modern servers: opens the subscription, and reopens it whenever the server drops it. Resolves when the server has
   * acknowledged it, the first attempt has failed, or the server takes long. Never rejects.
   */
  async keepListening(): Promise<void> {
    this.#listening += 1;
    if (this.#listening === 1) await this.#subscription.begin();
  }

  /** Undoes one call of {@link keepListening}; subscriptions to resources stay. */
  stopListening(): void {
    this.#listening -= 1;
    if (this.#listening === 0) this.#subscription.narrow();
  }

  /**
   * Modern servers: adds a resource to the subscription. Calls `onGap` whenever changes may have been missed. Resolves with a
   * function that removes it; rejects if the server does not grant it.
   */
  async addResource(
    server: string,
    uri: string,
    onGap: () => void,
    { signal, timeoutMs, maxTimeoutMs }: ChannelRequestOptions,
  ): Promise<() => Promise<void>> {
    this.#resources.set(uri, onGap);
    const remove = () => {
      if (this.#resources.delete(uri)) this.#subscription.narrow();
    };
    const granting = this.#subscription.update();
    granting.catch(() => {});
    try {
      const { resourceSubscriptions = [] } = await withDeadline(granting, {
        signal,
        timeoutMs: Math.min(timeoutMs, maxTimeoutMs),
        onTimeout: () => notGranted(server, timeoutMs, this.#subscription.lastError),
      });
      if (!resourceSubscriptions.includes(uri)) throw notOffered(server);
    } catch (error) {
      remove();
      throw signal?.aborted ? error : toToolportError(error, { server });
    }
    return async () => remove();
  }

  close(): void {
    this.#subscription.close();
    for (const settle of this.#streamWaiters) settle();
    this.#listeners.clear();
    this.#listeningListeners.clear();
    this.#streamListeners.clear();
    this.#resources.clear();
  }

  #declares(key: ListKey): boolean {
    return this.#server?.capabilities[listNameOf(key)]?.listChanged === true;
  }

  #reports(lists: readonly ListKey[]): void {
    for (const key of [...this.#reported]) if (!lists.includes(key)) this.#reported.delete(key);
    const added = lists.filter((key) => this.#declares(key) && !this.#reported.has(key));
    for (const key of added) this.#reported.add(key);
    if (added.length > 0) for (const listener of [...this.#listeningListeners]) listener(added);
  }

  #filter(): ListenFilter {
    const capabilities = this.#listening > 0 ? this.#server?.capabilities : undefined;
    return {
      ...(capabilities?.tools?.listChanged && { toolsListChanged: true as const }),
      ...(capabilities?.resources?.listChanged && { resourcesListChanged: true as const }),
      ...(capabilities?.prompts?.listChanged && { promptsListChanged: true as const }),
      ...(this.#resources.size > 0 && { resourceSubscriptions: [...this.#resources.keys()] }),
    };
  }
}

function addTo<Listener>(listeners: Set<Listener>, listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function notOffered(server: string): CatalogError {
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

/** Changes of lists, and single resources. */
export type ListenFilter = SubscriptionFilter;

const METHOD_NOT_FOUND = -32601;
const ACKNOWLEDGE_MS = 15_000;
/** Lists that are requested after the acknowledgement contain every earlier change. Beyond this time, they do not wait for it. */
const LISTEN_FIRST_MS = 500;
/** A subscription that stayed open this long resets the backoff. */
const STABLE_AFTER_MS = 30_000;

interface ServerSubscriptionParts {
  /** The SDK's client; called whenever a subscription is opened. */
  client: () => Promise<Client>;
  /** The filter that is currently needed. */
  filter: () => ListenFilter;
  /** A subscription is open. If it replaces one that was still open, no change was missed. */
  onOpen: (honored: ListenFilter) => void;
  /** No subscription is open any more. */
  onLost: () => void;
  /** Called when the subscription is open again after a loss: changes may have been missed. */
  onGap: (filter: ListenFilter) => void;
}

export class ServerSubscription {
  readonly #parts: ServerSubscriptionParts;
  readonly #ended = new AbortController();
  /** Callers that wait until the server accepts a filter. */
  #waiting: { resolve: (honored: ListenFilter) => void; reject: (error: unknown) => void }[] = [];
  #running = false;
  /** Wakes the loop when the filter changes. */
  #wake: (() => void) | undefined;
  #changed = false;
  #lastError: unknown;
  /** Called when the server has acknowledged the subscription, has refused it, or takes long. */
  #onAttempted: (() => void) | undefined;

  constructor(parts: ServerSubscriptionParts) {
    this.#parts = parts;
  }

  /** The error of the last attempt, while there is no subscription. */
  get lastError(): unknown {
    return this.#lastError;
  }

  /** Opens the subscription unless the filter is empty. Never throws. */
  start(): void {
    if (this.#running || this.#ended.signal.aborted || isEmpty(this.#parts.filter())) return;
    this.#running = true;
    this.#run()
      .catch((error: unknown) => this.#rejectWaiting(error))
      .finally(() => {
        this.#running = false;
        this.#onAttempted?.();
        // A caller may have registered while the loop ended.
        if (this.#waiting.length > 0) this.start();
      });
  }

  /**
   * Applies a larger filter. Resolves when the server has accepted or refused it, the attempt has failed, or the server takes
   * long. Never rejects.
   */
  async begin(): Promise<void> {
    if (this.#ended.signal.aborted || isEmpty(this.#parts.filter())) return;
    const attempted = new Promise<void>((resolve) => {
      this.#onAttempted = resolve;
    });
    await Promise.race([this.update().catch(() => {}), attempted]);
    this.#onAttempted = undefined;
  }

  /** Applies a larger filter. Resolves with the part that the server accepts. */
  update(): Promise<ListenFilter> {
    const granted = new Promise<ListenFilter>((resolve, reject) => this.#waiting.push({ resolve, reject }));
    this.narrow();
    this.start();
    return granted;
  }

  /** Applies a smaller filter. */
  narrow(): void {
    this.#changed = true;
    this.#wake?.();
  }

  close(): void {
    this.#ended.abort();
    this.#rejectWaiting(new Error("The connection is closed"));
  }

  async #run(): Promise<void> {
    const { client, filter, onOpen, onLost, onGap } = this.#parts;
    let current: McpSubscription | undefined;
    /** Whether changes may have been missed. */
    let gap = false;
    for (let attempt = 1; !this.#ended.signal.aborted; attempt += 1) {
      this.#changed = false;
      const wanted = filter();
      if (isEmpty(wanted)) {
        onLost();
        return void (await current?.close());
      }
      try {
        const joined = await client();
        const isLate = setTimeout(() => this.#onAttempted?.(), LISTEN_FIRST_MS);
        const next = await joined
          .listen(wanted, { signal: this.#ended.signal, timeout: ACKNOWLEDGE_MS })
          .finally(() => clearTimeout(isLate));
        // The old subscription is closed after the new one is open, so that no change is missed.
        if (current !== undefined && (await isOver(current))) {
          gap = true;
          onLost();
        }
        onOpen(next.honoredFilter);
        this.#onAttempted?.();
        await current?.close();
        current = next;
      } catch (error) {
        this.#lastError = error;
        this.#onAttempted?.();
        // An error response is final: the server would reject the same filter again.
        if (typeof (error as { code?: unknown }).code === "number") this.#rejectWaiting(error);
        if (current !== undefined && (await isOver(current))) {
          gap = true;
          onLost();
          current = undefined;
        }
        // A server that has accepted a subscription supports them: it only rejects this filter.
        const isUnsupported = (error as { code?: unknown } | undefined)?.code === METHOD_NOT_FOUND;
        if (isUnsupported && current === undefined) return;
        await this.#pause(attempt);
        continue;
      }
      const openedAt = performance.now();
      this.#lastError = undefined;
      if (!this.#changed) this.#resolveWaiting(current.honoredFilter);
      // Report the gap only now: a change between an earlier reading and this point would be missed for good.
      if (gap) onGap(wanted);
      gap = false;
      const end = await this.#end(current);
      if (end === "changed") {
        attempt = 0;
        continue;
      }
      if (end === "local") return;
      gap = true;
      onLost();
      current = undefined;
      if (performance.now() - openedAt > STABLE_AFTER_MS) attempt = 0;
      await this.#pause(attempt);
    }
  }

  /** Waits until the subscription ends or the filter changes. */
  async #end(subscription: McpSubscription): Promise<"changed" | "local" | "graceful" | "remote"> {
    if (this.#changed) return "changed";
    const changed = new Promise<"changed">((resolve) => {
      this.#wake = () => resolve("changed");
    });
    const end = await Promise.race([subscription.closed, changed]);
    this.#wake = undefined;
    return end;
  }

  /** Backs off with full jitter: a restarting server drops the subscriptions of all clients. A changed filter ends the wait. */
  async #pause(attempt: number): Promise<void> {
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    await Promise.race([pause(fullJitterMs(attempt), this.#ended.signal), woken]);
    this.#wake = undefined;
  }

  #resolveWaiting(honored: ListenFilter): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve(honored);
  }

  #rejectWaiting(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

/** Whether the server has already ended the subscription. */
const isOver = (subscription: McpSubscription): Promise<boolean> =>
  Promise.race([subscription.closed.then(() => true), Promise.resolve().then(() => false)]);

const isEmpty = ({ resourceSubscriptions = [], ...lists }: ListenFilter): boolean =>
  resourceSubscriptions.length === 0 && !Object.values(lists).some(Boolean);
