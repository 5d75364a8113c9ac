/** Subscriptions to resources: one request for all listeners of a resource, sent again after every reconnect. */

import {
  callSafely,
  getOrMake,
  holdHost,
  ToolCallError,
  toToolportError,
  withDeadline,
} from "@toolport/base";
import type { ServerConnection, WaitOptions } from "../../connection/server-connection.js";
import type { Session } from "../../protocol/session.js";
import type { PortCore } from "../port-core.js";
import type { AccessOptions } from "../server-access.js";

/** One resource with at least one listener. */
interface Subscription {
  readonly connection: ServerConnection;
  readonly uri: string;
  readonly feeds: Set<UpdateFeed>;
  /** The session of the last subscription. */
  session?: Session | undefined;
  /** Unsubscribes on that session. */
  end?: (() => Promise<void>) | undefined;
  opening?: Promise<void> | undefined;
  /** The subscription has been open before, so the next opening is a renewal. */
  wasOpen: boolean;
  /** Until this is called, the connection is not closed as idle, and the process stays alive. */
  readonly release: () => void;
}

export class Subscriptions {
  readonly #open = new Map<string, Map<string, Subscription>>();
  /** Subscriptions that are ending. A new subscription to the same resource waits for that. */
  readonly #ending = new Map<string, Promise<void>>();

  constructor(private readonly port: PortCore) {}

  /** Resolves when the server has accepted the subscription, with a function that ends it. */
  async add(
    { server, uri, listener }: { server: string; uri: string; listener: ResourceListener },
    { context, ...wait }: AccessOptions,
  ): Promise<() => Promise<void>> {
    const connection = this.port.pool.require(server);
    const access = { kind: "subscription", server, uri, message: { uri }, context } as const;
    const feed = new UpdateFeed(listener, this.port.parts.report);
    const subscription = this.#subscriptionOf(connection, uri);
    subscription.feeds.add(feed);
    const remove = () => this.#remove(subscription, feed);
    try {
      await this.port.observe(access, () => this.#granted(subscription, wait));
    } catch (error) {
      await remove();
      throw error;
    }
    return remove;
  }

  /** The server sent a notification about a changed resource. */
  updated(server: string, uri: string): void {
    for (const subscription of this.#of(server)) {
      if (covers(subscription.uri, uri)) this.#notify(subscription, { uri, missed: false });
    }
  }

  /** The server has reconnected: renews the subscriptions of the old session. */
  ready(server: string): void {
    for (const subscription of this.#of(server)) {
      if (subscription.opening !== undefined || !subscription.wasOpen) continue;
      // The session is the same: the server was only silent.
      if (subscription.session === subscription.connection.session) continue;
      this.#begin(subscription).catch((error: unknown) => {
        if (this.#of(server).includes(subscription))
          this.port.parts.warn(server, `The subscription to ${subscription.uri} was lost: ${String(error)}`);
      });
    }
  }

  /** The server was removed. */
  drop(server: string): void {
    for (const subscription of this.#of(server)) this.#forget(subscription);
  }

  close(): void {
    for (const server of [...this.#open.keys()]) this.drop(server);
  }

  #of(server: string): Subscription[] {
    return [...(this.#open.get(server)?.values() ?? [])];
  }

  #subscriptionOf(connection: ServerConnection, uri: string): Subscription {
    const ofServer = getOrMake(this.#open, connection.name, () => new Map<string, Subscription>());
    const known = ofServer.get(uri);
    if (known?.connection === connection) return known;
    connection.usage.begin();
    const letHostEnd = holdHost();
    const release = () => {
      connection.usage.end();
      letHostEnd();
    };
    const made = { connection, uri, feeds: new Set<UpdateFeed>(), wasOpen: false, release };
    ofServer.set(uri, made);
    return made;
  }

  /** Waits for the server within the limits of the caller. Other callers may share the request. */
  #granted(subscription: Subscription, { signal, timeoutMs }: WaitOptions): Promise<void> {
    const { connection, uri } = subscription;
    if (subscription.session !== undefined && subscription.session === connection.session)
      return Promise.resolve();
    const opening = subscription.opening ?? this.#begin(subscription);
    const limitMs = timeoutMs ?? this.port.parts.settings.timeoutMs;
    return withDeadline(opening, {
      signal,
      timeoutMs: limitMs,
      onTimeout: () =>
        new ToolCallError({
          code: "TIMEOUT",
          server: connection.name,
          phase: "subscribe",
          what: `The subscription to ${uri} was not granted within ${limitMs} ms`,
          next: "Raise timeoutMs, or check the server",
          retryable: true,
        }),
    });
  }

  #begin(subscription: Subscription): Promise<void> {
    const opening = this.#openOn(subscription).finally(() => {
      subscription.opening = undefined;
    });
    // Avoid an unhandled rejection when no caller awaits.
    opening.catch(() => {});
    subscription.opening = opening;
    return opening;
  }

  async #openOn(subscription: Subscription): Promise<void> {
    const { connection, uri } = subscription;
    await this.#ending.get(keyOf(subscription));
    const { timeoutMs, maxTimeoutMs } = this.port.parts.settings;
    const limits = { timeoutMs: connection.config.timeoutMs ?? timeoutMs, maxTimeoutMs };
    const onGap = () => this.#notify(subscription, { uri, missed: true });
    do {
      const { session, end } = await this.port
        .read(
          connection,
          (on) =>
            this.port.trace(on, { method: "resources/subscribe", uri }, async () => ({
              session: on,
              end: await on.watchResource(uri, onGap, limits),
            })),
          {},
        )
        .catch((error: unknown) => {
          throw toToolportError(error, { server: connection.name });
        });
      Object.assign(subscription, { session, end });
      if (subscription.feeds.size === 0) return;
      // The connection was lost again, and the subscription with it.
    } while (connection.session !== undefined && connection.session !== subscription.session);
    if (subscription.wasOpen) this.#notify(subscription, { uri, missed: true });
    subscription.wasOpen = true;
  }

  #notify(
    { feeds, connection, uri: subscribed }: Subscription,
    what: Pick<ResourceUpdate, "uri" | "missed">,
  ) {
    const { name: server } = connection;
    const principal = this.port.principal?.name;
    this.port.resourceCache.forget(server, what.uri);
    for (const feed of [...feeds])
      feed.add({ server, ...what, ...(principal !== undefined && { principal }) }, subscribed);
  }

  async #remove(subscription: Subscription, feed: UpdateFeed): Promise<void> {
    feed.close();
    if (!subscription.feeds.delete(feed) || subscription.feeds.size > 0) return;
    this.#forget(subscription);
    const key = keyOf(subscription);
    const ending = (async () => {
      await subscription.opening?.catch(() => {});
      await subscription.end?.();
    })();
    this.#ending.set(key, ending);
    await ending.finally(() => {
      if (this.#ending.get(key) === ending) this.#ending.delete(key);
    });
  }

  #forget(subscription: Subscription): void {
    const { connection, uri, feeds } = subscription;
    for (const feed of feeds) feed.close();
    feeds.clear();
    const ofServer = this.#open.get(connection.name);
    if (ofServer?.get(uri) !== subscription) return;
    subscription.release();
    ofServer.delete(uri);
    if (ofServer.size === 0) this.#open.delete(connection.name);
  }
}

const keyOf = ({ connection, uri }: Subscription): string => `${connection.name}\u0000${uri}`;

/** Servers may report a change of a sub-resource. */
const covers = (subscribed: string, uri: string): boolean =>
  uri === subscribed || uri.startsWith(subscribed.endsWith("/") ? subscribed : `${subscribed}/`);

/** A resource changed, or may have changed. */
export interface ResourceUpdate {
  readonly server: string;
  /** The URI that changed: the subscribed one, or one below it. */
  readonly uri: string;
  /**
   * The connection was interrupted, so a change may have been missed. Read the resource to find out.
   */
  readonly missed: boolean;
  readonly principal?: string | undefined;
}

/**
 * Receives updates. If it returns a promise, further updates wait until it settles and are merged: one for each URI.
 */
export type ResourceListener = (update: ResourceUpdate) => unknown;

/** Maximum number of waiting URIs. Beyond it, one update replaces all others. */
const MAX_WAITING = 100;

/** Passes updates of a resource to one listener, one at a time, and merges updates that wait. */
export class UpdateFeed {
  readonly #waiting = new Map<string, ResourceUpdate>();
  #busy = false;
  #closed = false;

  constructor(
    private readonly listener: ResourceListener,
    private readonly report: (error: unknown) => void,
  ) {}

  /** @param subscribed the URI that is reported instead of all others when there are too many */
  add(update: ResourceUpdate, subscribed: string): void {
    if (this.#closed) return;
    if (this.#waiting.size >= MAX_WAITING && !this.#waiting.has(update.uri)) {
      this.#waiting.clear();
      this.#waiting.set(subscribed, { ...update, uri: subscribed, missed: true });
    } else {
      const missed = update.missed || (this.#waiting.get(update.uri)?.missed ?? false);
      this.#waiting.set(update.uri, { ...update, missed });
    }
    if (!this.#busy) this.#drain().catch(this.report);
  }

  close(): void {
    this.#closed = true;
    this.#waiting.clear();
  }

  async #drain(): Promise<void> {
    this.#busy = true;
    for (const [uri, update] of this.#waiting) {
      this.#waiting.delete(uri);
      const ending = callSafely(() => this.listener(Object.freeze(update)), this.report);
      if (ending !== undefined) await ending;
    }
    this.#busy = false;
  }
}
