/** Subscriptions to resources: one on the wire for all who listen, opened again whenever the server comes back. */
import type { ServerConnection, WaitOptions } from "../../connection/server-connection.js";
import { toToolportError } from "../../errors/to-toolport-error.js";
import { ToolCallError } from "../../errors/tool-call-error.js";
import type { Session } from "../../protocol/session.js";
import type { RequestFacts, ServerFacts } from "../../telemetry/open-telemetry-attributes.js";
import { holdHost } from "../../util/timers.js";
import { withDeadline } from "../../util/with-deadline.js";
import type { AccessOptions } from "../server-access.js";
import type { SharedParts } from "../shared-parts.js";
import type { ResourceReader } from "./read-resource.js";
import { type ResourceListener, type ResourceUpdate, UpdateFeed } from "./update-feed.js";

/** One resource that somebody listens to. */
interface Subscription {
  readonly connection: ServerConnection;
  readonly uri: string;
  readonly feeds: Set<UpdateFeed>;
  /** The session it was opened on last. */
  session?: Session | undefined;
  /** Ends it there. */
  end?: (() => Promise<void>) | undefined;
  opening?: Promise<void> | undefined;
  /** It has been open before: whatever opens it now opens it again. */
  wasOpen: boolean;
  /** Until then the connection is not closed for idleness, and the host does not end: somebody waits for news. */
  readonly release: () => void;
}

/** The part of a port that subscriptions need. */
interface SubscriptionHost extends ResourceReader {
  readonly parts: SharedParts;
  read<Result>(
    connection: ServerConnection,
    run: (session: Session) => Promise<Result>,
    wait: WaitOptions,
  ): Promise<Result>;
  trace<Result>(
    session: Session,
    facts: Omit<RequestFacts, keyof ServerFacts>,
    run: () => Promise<Result>,
  ): Promise<Result>;
}

export class Subscriptions {
  readonly #port: SubscriptionHost;
  readonly #open = new Map<string, Map<string, Subscription>>();
  /** Those that are just being ended: the same resource is not subscribed to again before that is done. */
  readonly #ending = new Map<string, Promise<void>>();

  constructor(port: SubscriptionHost) {
    this.#port = port;
  }

  /** Resolves when the server has agreed, with what stops it again. */
  async add(
    { server, uri, listener }: { server: string; uri: string; listener: ResourceListener },
    { context, ...wait }: AccessOptions,
  ): Promise<() => Promise<void>> {
    const connection = this.#port.pool.require(server);
    const principal = this.#port.principal?.name;
    const event = { kind: "subscription" as const, server, uri, message: { uri }, context, principal };
    const feed = new UpdateFeed(listener, this.#port.parts.report);
    const subscription = this.#subscriptionOf(connection, uri);
    subscription.feeds.add(feed);
    const remove = () => this.#remove(subscription, feed);
    try {
      await this.#port.parts.observe(event, () => this.#granted(subscription, wait));
    } catch (error) {
      await remove();
      throw error;
    }
    return remove;
  }

  /** The server told that a resource changed. */
  updated(server: string, uri: string): void {
    for (const subscription of this.#of(server)) {
      if (covers(subscription.uri, uri)) this.#tell(subscription, { uri, missed: false });
    }
  }

  /** The server is there again: its old session, and what was subscribed on it, is gone. */
  ready(server: string): void {
    for (const subscription of this.#of(server)) {
      if (subscription.opening !== undefined || !subscription.wasOpen) continue;
      // The server was only silent for a while.
      if (subscription.session === subscription.connection.session) continue;
      this.#begin(subscription).catch((error: unknown) => {
        if (this.#of(server).includes(subscription))
          this.#port.parts.warn(server, `The subscription to ${subscription.uri} is gone: ${String(error)}`);
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
    const ofServer = this.#open.get(connection.name) ?? new Map<string, Subscription>();
    this.#open.set(connection.name, ofServer);
    const known = ofServer.get(uri);
    if (known?.connection === connection) return known;
    const endUse = connection.usage.begin();
    const letHostEnd = holdHost();
    const release = () => {
      endUse();
      letHostEnd();
    };
    const made = { connection, uri, feeds: new Set<UpdateFeed>(), wasOpen: false, release };
    ofServer.set(uri, made);
    return made;
  }

  /** Waits for the server's word within the caller's limits; the opening itself is everybody's. */
  #granted(subscription: Subscription, { signal, timeoutMs }: WaitOptions): Promise<void> {
    const { connection, uri } = subscription;
    if (subscription.session !== undefined && subscription.session === connection.session)
      return Promise.resolve();
    const opening = subscription.opening ?? this.#begin(subscription);
    const limitMs = timeoutMs ?? this.#port.parts.settings.timeoutMs;
    return withDeadline(opening, {
      signal,
      timeoutMs: limitMs,
      onTimeout: () =>
        new ToolCallError({
          code: "TIMEOUT",
          server: connection.name,
          phase: "subscribe",
          what: `The subscription to ${uri} was not granted within ${limitMs} ms`,
          next: "Wait longer, or look at the server",
          retryable: true,
        }),
    });
  }

  #begin(subscription: Subscription): Promise<void> {
    const opening = this.#openOn(subscription).finally(() => {
      subscription.opening = undefined;
    });
    // Whoever waits for it hears of a failure; so does nobody if nobody waits any more.
    opening.catch(() => {});
    subscription.opening = opening;
    return opening;
  }

  async #openOn(subscription: Subscription): Promise<void> {
    const { connection, uri } = subscription;
    await this.#ending.get(keyOf(subscription));
    const { timeoutMs, maxTimeoutMs } = this.#port.parts.settings;
    const limits = { timeoutMs: connection.config.timeoutMs ?? timeoutMs, maxTimeoutMs };
    const onGap = () => this.#tell(subscription, { uri, missed: true });
    do {
      const { session, end } = await this.#port
        .read(
          connection,
          (on) =>
            this.#port.trace(on, { method: "resources/subscribe", uri }, async () => ({
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
      // Lost again in the same moment: what was opened went with it.
    } while (connection.session !== undefined && connection.session !== subscription.session);
    if (subscription.wasOpen) this.#tell(subscription, { uri, missed: true });
    subscription.wasOpen = true;
  }

  #tell({ feeds, connection, uri: subscribed }: Subscription, what: Pick<ResourceUpdate, "uri" | "missed">) {
    const { name: server } = connection;
    const principal = this.#port.principal?.name;
    this.#port.resourceCache.forget(server, what.uri);
    for (const feed of [...feeds])
      feed.tell({ server, ...what, ...(principal !== undefined && { principal }) }, subscribed);
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

/** Servers may tell of a part of what was subscribed to. */
const covers = (subscribed: string, uri: string): boolean =>
  uri === subscribed || uri.startsWith(subscribed.endsWith("/") ? subscribed : `${subscribed}/`);
