/** Reports changes of a server's lists and resources: by notifications of legacy servers, by a subscription to modern ones. */
import type {
  Client,
  McpSubscription,
  ServerCapabilities,
  SubscriptionFilter,
} from "@modelcontextprotocol/client";
import {
  CatalogError,
  fullJitterMs,
  pause,
  ToolCallError,
  toToolportError,
  withDeadline,
} from "@toolport/base";
import type { StreamState } from "../transports/server-transport.js";
import type { ChannelRequestOptions, RequestChannel } from "./request-channel.js";

/** The lists of a server. */
export type ListKey = "tools" | "resources" | "resourceTemplates" | "prompts";

export const LIST_KEYS: readonly ListKey[] = ["tools", "resources", "resourceTemplates", "prompts"];

/** The lists a server can change. */
export type ListName = "tools" | "resources" | "prompts";

const LISTS: readonly ListName[] = ["tools", "resources", "prompts"];

/** The name of a list in notifications and capabilities. */
export const listNameOf = (key: ListKey): ListName => (key === "resourceTemplates" ? "resources" : key);

/** The lists of this name. */
export const keysOf = (list: ListName): ListKey[] => LIST_KEYS.filter((key) => listNameOf(key) === list);

/** Notices changes of lists. */
export interface ListFollower {
  /** The server reported a change. */
  changed(list: ListName): void;
  /** The server reports changes of these lists from now on. Earlier changes may have been missed. */
  reporting(keys: readonly ListKey[]): void;
  /** Further changes are not noticed. */
  ended(): void;
}

/** Must be created before the handshake, so that no notification is missed. */
export class ChangeWatch {
  /** Set after the handshake. The SDK's client implements subscriptions. */
  server: { readonly capabilities: ServerCapabilities; readonly client: () => Promise<Client> } | undefined;
  follower: ListFollower | undefined;
  /** By URI: called when changes of a resource may have been missed. */
  readonly #resources = new Map<string, () => void>();
  /** The lists whose changes the server reports now. */
  readonly #reported = new Set<ListKey>();
  readonly #subscription = new ServerSubscription({
    // Called only for a filter that is not empty, and the filter is empty until the server is set.
    client: () => this.server!.client(),
    filter: () => this.#filter(),
    onOpen: (honored, { resourceSubscriptions = [] }) => {
      this.#reports(LIST_KEYS.filter((key) => honored[`${listNameOf(key)}ListChanged`]));
      for (const uri of resourceSubscriptions) this.#resources.get(uri)?.();
    },
    onLost: () => this.#reports([]),
  });
  /** Legacy servers: the stream that was requested last is open, or will not be. */
  #streamSettled = Promise.resolve();
  #settleStream: (() => void) | undefined;
  /** How many callers of `keepListening` have not stopped. */
  #listening = 0;

  constructor(channel: RequestChannel) {
    channel.notificationListeners.add((method) => {
      const list = LISTS.find((name) => method === `notifications/${name}/list_changed`);
      if (list !== undefined) this.follower?.changed(list);
    });
  }

  /** Whether the server reports changes of this list now. */
  isReporting(list: ListKey): boolean {
    return this.#reported.has(list);
  }

  /** Legacy servers: the stream for notifications was requested, is open, or has ended. */
  streamChanged(state: StreamState): void {
    if (state === "requested" && this.#settleStream === undefined)
      this.#streamSettled = new Promise((resolve) => {
        this.#settleStream = resolve;
      });
    if (state === "requested") return;
    this.#reports(state === "open" ? LIST_KEYS : []);
    if (state === "open") for (const onGap of [...this.#resources.values()]) onGap();
    this.#settleStream?.();
    this.#settleStream = undefined;
  }

  /** Legacy servers: resolves when the stream that was requested is open, will not be, or takes long. */
  async streamSettled(): Promise<void> {
    const onTimeout = () => new Error("The stream is late");
    await withDeadline(this.#streamSettled, { timeoutMs: LISTEN_FIRST_MS, onTimeout }).catch(() => {});
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

  /** Calls `onGap` whenever changes of the resource may have been missed, until the returned function is called. */
  followResource(uri: string, onGap: () => void): () => void {
    this.#resources.set(uri, onGap);
    return () => {
      if (this.#resources.delete(uri)) this.#subscription.narrow();
    };
  }

  /**
   * Modern servers: follows the resource and adds it to the subscription. Resolves with a function that removes it; rejects if
   * the server does not grant it.
   */
  async addResource(
    server: string,
    uri: string,
    onGap: () => void,
    { signal, timeoutMs, maxTimeoutMs }: ChannelRequestOptions,
  ): Promise<() => Promise<void>> {
    const remove = this.followResource(uri, onGap);
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
    this.#settleStream?.();
    this.follower?.ended();
    this.follower = undefined;
    this.#resources.clear();
  }

  #declares(key: ListKey): boolean {
    return this.server?.capabilities[listNameOf(key)]?.listChanged === true;
  }

  #reports(lists: readonly ListKey[]): void {
    for (const key of [...this.#reported]) if (!lists.includes(key)) this.#reported.delete(key);
    const added = lists.filter((key) => this.#declares(key) && !this.#reported.has(key));
    for (const key of added) this.#reported.add(key);
    if (added.length > 0) this.follower?.reporting(added);
  }

  #filter(): SubscriptionFilter {
    const lists = this.#listening > 0 ? LISTS.filter((list) => this.#declares(list)) : [];
    return {
      ...Object.fromEntries(lists.map((list) => [`${list}ListChanged`, true])),
      ...(this.#resources.size > 0 && { resourceSubscriptions: [...this.#resources.keys()] }),
    };
  }
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
  filter: () => SubscriptionFilter;
  /** A subscription is open. Changes of what `missed` contains may have been missed. */
  onOpen: (honored: SubscriptionFilter, missed: SubscriptionFilter) => void;
  /** No subscription is open any more. */
  onLost: () => void;
}

export class ServerSubscription {
  readonly #ended = new AbortController();
  /** Callers that wait until the server accepts a filter. */
  #waiting: { resolve: (honored: SubscriptionFilter) => void; reject: (error: unknown) => void }[] = [];
  #running = false;
  /** Wakes the loop when the filter changes. */
  #wake: (() => void) | undefined;
  #changed = false;
  /** The error of the last attempt, while there is no subscription. */
  lastError: unknown;
  /** Called when the server has acknowledged the subscription, has refused it, or takes long. */
  #onAttempted: (() => void) | undefined;

  constructor(private readonly parts: ServerSubscriptionParts) {}

  /** Opens the subscription unless the filter is empty. Never throws. */
  start(): void {
    if (this.#running || this.#ended.signal.aborted || isEmpty(this.parts.filter())) return;
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
    if (this.#ended.signal.aborted || isEmpty(this.parts.filter())) return;
    const attempted = new Promise<void>((resolve) => {
      this.#onAttempted = resolve;
    });
    await Promise.race([this.update().catch(() => {}), attempted]);
    this.#onAttempted = undefined;
  }

  /** Applies a larger filter. Resolves with the part that the server accepts. */
  update(): Promise<SubscriptionFilter> {
    const granted = new Promise<SubscriptionFilter>((resolve, reject) =>
      this.#waiting.push({ resolve, reject }),
    );
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
    const { filter, onOpen, onLost } = this.parts;
    let current: McpSubscription | undefined;
    /** Whether changes may have been missed. */
    let gap = false;
    const lose = () => {
      gap = true;
      current = undefined;
      onLost();
    };
    for (let attempt = 1; !this.#ended.signal.aborted; attempt += 1) {
      this.#changed = false;
      const wanted = filter();
      if (isEmpty(wanted)) {
        onLost();
        return void (await current?.close());
      }
      const next = await this.#open(wanted);
      if (current !== undefined && (await isOver(current))) lose();
      // Report the gap only now: a change between an earlier reading and this point would be missed for good.
      if (next !== undefined) onOpen(next.honoredFilter, gap ? wanted : {});
      this.#onAttempted?.();
      if (next !== undefined) {
        gap = false;
        // The old subscription is closed after the new one is open, so that no change is missed.
        await current?.close();
        current = next;
        const openedAt = performance.now();
        if (!this.#changed) this.#resolveWaiting(next.honoredFilter);
        const end = await this.#orChanged(next.closed);
        if (end === "local") return;
        if (end === "changed" || performance.now() - openedAt > STABLE_AFTER_MS) attempt = 0;
        if (end === "changed") continue;
        lose();
      } else if (current === undefined && codeOf(this.lastError) === METHOD_NOT_FOUND) {
        // A server that has accepted a subscription supports them: it only rejects this filter.
        return;
      }
      // A restarting server drops the subscriptions of all clients.
      await this.#orChanged(pause(fullJitterMs(attempt), this.#ended.signal));
    }
  }

  /** Opens one subscription. Undefined if that fails. */
  async #open(wanted: SubscriptionFilter): Promise<McpSubscription | undefined> {
    try {
      const client = await this.parts.client();
      const late = setTimeout(() => this.#onAttempted?.(), LISTEN_FIRST_MS);
      const opened = await client
        .listen(wanted, { signal: this.#ended.signal, timeout: ACKNOWLEDGE_MS })
        .finally(() => clearTimeout(late));
      this.lastError = undefined;
      return opened;
    } catch (error) {
      this.lastError = error;
      // An error response is final: the server would reject the same filter again.
      if (typeof codeOf(error) === "number") this.#rejectWaiting(error);
      return undefined;
    }
  }

  /** Waits for this, or until the filter changes. */
  async #orChanged<Event>(event: Promise<Event>): Promise<Event | "changed"> {
    const changed = new Promise<"changed">((resolve) => {
      this.#wake = () => resolve("changed");
    });
    if (this.#changed) this.#wake?.();
    return Promise.race([changed, event]);
  }

  #resolveWaiting(honored: SubscriptionFilter): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve(honored);
  }

  #rejectWaiting(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

/** Whether the server has already ended the subscription. */
const isOver = (subscription: McpSubscription): Promise<boolean> =>
  Promise.race([subscription.closed.then(() => true), Promise.resolve().then(() => false)]);

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | undefined)?.code;

const isEmpty = ({ resourceSubscriptions = [], ...lists }: SubscriptionFilter): boolean =>
  resourceSubscriptions.length === 0 && !Object.values(lists).some(Boolean);
