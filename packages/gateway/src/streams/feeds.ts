/** News for the open streams of users: changed lists and log messages of their servers. */

import { BoundedMap, type Fields, getOrMake, isRecord, unrefTimer } from "@toolport/base";
import { secretsOf, type Users } from "@toolport/core/internal";
import { entriesOf, type ListEntry, type ListKey } from "../lists/list-entries.js";
import { passedParams } from "../results.js";
import type { GatewayUser } from "../users.js";

/** A list whose changes clients learn of. */
export type ListName = Exclude<ListKey, "resourceTemplates">;

/** Receives the news of one stream. */
export interface FeedListener {
  /** Other replicas may have sent lists to this client. */
  readonly usesReplicas: boolean;
  /** The legacy session of the stream. */
  readonly session?: string | undefined;
  /** Sends a message to the client. */
  send?(text: string): void;
  /** False if the client may not see anything of this server. @default it may */
  showsServer?(server: string): boolean;
  listChanged(list: ListName): void;
  /** A log message that belongs to no request. */
  log?(params: Fields): void;
  /** Another notification of a server. */
  passOn?(notification: { readonly server: string; readonly method: string; readonly params: Fields }): void;
}

interface UserFeed {
  readonly user: GatewayUser;
  readonly listeners: Set<FeedListener>;
  /** Stops listening to the servers. */
  readonly stop: () => void;
  /** The lists as clients know them; those that were sent by this replica. */
  readonly known: Map<ListName, readonly ListEntry[]>;
  readonly waiting: Set<ListName>;
  timer: ReturnType<typeof setTimeout> | undefined;
  notifiedAt: number;
}

const LISTS: readonly ListName[] = ["tools", "prompts", "resources"];
/** Notifications of legacy servers about one page or one task. */
const PAGE_DONE = "notifications/elicitation/complete";
export const TASK_STATUS = "notifications/tasks/status";
const PASSED_ON = new Set([PAGE_DONE, TASK_STATUS]);
/** Pages of one user. Of more, the end of the oldest is not reported. */
const MAX_PAGES = 64;
/** A stream gets at most one notice of a kind in this time. */
const NOTICE_MS = 1_000;
/** Lists that are read together are compared together. */
const SETTLE_MS = 50;

export class Feeds {
  readonly #feeds = new Map<string | undefined, UserFeed>();
  readonly #offs: (() => void)[];
  readonly #delivered = new WeakSet<Fields>();
  /** Ids of the pages that servers have sent a user to. */
  readonly #pages = new WeakMap<GatewayUser, BoundedMap<unknown, true>>();

  constructor(
    users: Pick<Users, "on">,
    private readonly report: (error: unknown) => void,
  ) {
    this.#offs = [
      users.on("listsChanged", ({ lists, principal }) => {
        const feed = this.#feeds.get(principal);
        if (feed !== undefined) this.#notify(feed, lists);
      }),
      users.on("tools", ({ principal }) => this.#compare(principal)),
      users.on("notification", ({ server, method, params, principal }) => {
        // The request to which a message belongs learns of it after this event.
        if (method === "notifications/message") queueMicrotask(() => this.#logged(principal, server, params));
        if (!PASSED_ON.has(method)) return;
        const feed = this.#feeds.get(principal);
        if (feed === undefined) return;
        if (method === PAGE_DONE && !this.#pages.get(feed.user)?.has(params["elicitationId"])) return;
        for (const listener of listenersTo(feed, server)) listener.passOn?.({ server, method, params });
      }),
    ];
  }

  /** Whether a stream of the user is open. */
  has(principal: string | undefined): boolean {
    return this.#feeds.has(principal);
  }

  /** A log message belongs to a request, so it is no news. @param params as the server sent them */
  delivered(params: Fields): void {
    this.#delivered.add(params);
  }

  /**
   * The user is sent to a web page of a server, whose end the server reports. It may report the pages of all users to each of them.
   *
   * @param params of `elicitation/create`, or an entry of the error that demands a page
   */
  showsPage(user: GatewayUser, params: unknown): void {
    const id = isRecord(params) && params["mode"] === "url" ? params["elicitationId"] : undefined;
    if (typeof id !== "string") return;
    const pages = getOrMake(this.#pages, user, () => new BoundedMap<unknown, true>(MAX_PAGES));
    pages.set(id, true);
  }

  #logged(principal: string | undefined, server: string, params: Fields): void {
    const feed = this.#feeds.get(principal);
    if (feed === undefined || this.#delivered.has(params)) return;
    const config = feed.user.port.pool.configOf(server);
    if (config === undefined) return;
    const shown = passedParams(secretsOf(config).redactData(params) as Fields);
    for (const listener of listenersTo(feed, server)) listener.log?.(shown);
  }

  /** Adds a stream of a user. Returns a function that removes it. */
  add(user: GatewayUser, listener: FeedListener): () => void {
    const { principal, port } = user;
    const feed = getOrMake(
      this.#feeds,
      principal,
      (): UserFeed => ({
        user,
        listeners: new Set(),
        stop: port.listen(),
        known: new Map(),
        waiting: new Set(),
        timer: undefined,
        notifiedAt: Number.NEGATIVE_INFINITY,
      }),
    );
    feed.listeners.add(listener);
    return () => {
      feed.listeners.delete(listener);
      if (feed.listeners.size > 0 || this.#feeds.get(principal) !== feed) return;
      this.#feeds.delete(principal);
      clearTimeout(feed.timer);
      feed.stop();
    };
  }

  /** Sends a message on one stream of a legacy session. Dropped if it has none on this replica. */
  sendTo({ principal }: GatewayUser, session: string, text: string): void {
    for (const listener of this.#feeds.get(principal)?.listeners ?? [])
      if (listener.session === session) return listener.send?.(text);
  }

  /** A client has just got this list, so it needs no notice of it. */
  served({ principal }: GatewayUser, list: ListName): void {
    const feed = this.#feeds.get(principal);
    if (feed === undefined) return;
    entriesOf(feed.user.port, list)
      .then((entries) => feed.known.set(list, entries))
      .catch(this.report);
  }

  /** What users may see has changed. */
  changedForAll(): void {
    for (const feed of this.#feeds.values()) this.#notify(feed, LISTS);
  }

  close(): void {
    for (const off of this.#offs) off();
    for (const feed of this.#feeds.values()) {
      clearTimeout(feed.timer);
      feed.stop();
    }
    this.#feeds.clear();
  }

  /** Lists were read or removed; whether they differ from those that clients know is compared. */
  #compare(principal: string | undefined): void {
    const feed = this.#feeds.get(principal);
    if (feed === undefined) return;
    setTimeout(() => {
      this.#differing(feed)
        .then((lists) => this.#notify(feed, lists))
        .catch(this.report);
    }, SETTLE_MS);
  }

  async #differing(feed: UserFeed): Promise<readonly ListName[]> {
    const differing: ListName[] = [];
    for (const [list, before] of [...feed.known]) {
      const now = await entriesOf(feed.user.port, list);
      feed.known.set(list, now);
      if (!isSame(before, now)) differing.push(list);
    }
    // Another replica may have sent the tools to this client.
    if (!feed.known.has("tools") && [...feed.listeners].some(({ usesReplicas }) => usesReplicas))
      differing.push("tools");
    return differing;
  }

  #notify(feed: UserFeed, lists: readonly ListName[]): void {
    if (lists.length === 0 || feed.listeners.size === 0) return;
    for (const list of lists) feed.waiting.add(list);
    if (feed.timer !== undefined) return;
    const waitMs = Math.max(0, feed.notifiedAt + NOTICE_MS - performance.now());
    if (waitMs === 0) return this.#flush(feed);
    feed.timer = unrefTimer(setTimeout(() => this.#flush(feed), waitMs));
  }

  #flush(feed: UserFeed): void {
    feed.timer = undefined;
    feed.notifiedAt = performance.now();
    const lists = [...feed.waiting];
    feed.waiting.clear();
    for (const list of lists) for (const listener of feed.listeners) listener.listChanged(list);
  }
}

/** Those whose client may see something of the server. */
const listenersTo = ({ listeners }: UserFeed, server: string): readonly FeedListener[] =>
  [...listeners].filter((listener) => listener.showsServer?.(server) !== false);

const isSame = (before: readonly ListEntry[], now: readonly ListEntry[]): boolean =>
  before === now ||
  (before.length === now.length && before.every(({ text }, index) => text === now[index]!.text));
