/** Notices changes of the lists of a port: by the streams of the servers while a client listens, and by lists that other users read. */
import { type DueLists, ListRefresher, type RereadOutcome } from "../../catalog/list-refresher.js";
import type { OnDemandLists } from "../../catalog/on-demand-lists.js";
import type { ListKey } from "../../catalog/server-lists.js";
import type { ConnectionPool } from "../../connection/connection-pool.js";
import { listNameOf } from "../../protocol/change-watch.js";
import { LIST_KEYS } from "../../protocol/list-reads.js";
import type { Session } from "../../protocol/session.js";

interface WatchedListsParts {
  readonly onDemand: OnDemandLists;
  /** An ordinary port listens to all its servers anyway. */
  readonly isLean: boolean;
  readonly pool: Pick<ConnectionPool, "names" | "peek" | "configOf">;
  /** Reads a list, unless it is known and fresh. */
  provide(server: string, key: ListKey): Promise<boolean> | undefined;
  /** No client listens any more. */
  onStop(): void;
}

export class WatchedLists {
  readonly #parts: WatchedListsParts;
  #listeners = 0;
  /** Ends listening, by session. */
  #streams: Map<Session, Promise<() => void>> | undefined;
  /** Ends following the shared lists, by server. */
  #following: Map<string, () => void> | undefined;

  constructor(parts: WatchedListsParts) {
    this.#parts = parts;
  }

  get isListening(): boolean {
    return this.#listeners > 0;
  }

  /** Listens for changes until the returned function is called. */
  listen(): () => void {
    const { isLean, pool } = this.#parts;
    this.#listeners += 1;
    if (this.#listeners === 1 && isLean) for (const name of pool.names) this.#watch(name);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#listeners -= 1;
      if (this.#listeners === 0) this.close();
    };
  }

  /** A lean connection was opened. */
  connected(session: Session): void {
    this.#parts.onDemand.attach(session);
    const { server } = session;
    let isFirst = true;
    let refresher: ListRefresher | undefined;
    session.onListGap((keys) => {
      const known = this.#outdate(server, isFirst ? this.#own(server, keys) : keys);
      isFirst = false;
      if (this.#listeners === 0) return;
      // It pauses between reads, because a server may close its stream again and again.
      refresher ??= new ListRefresher({ read: (due) => this.#readAgain(server, due), onRead: () => {} });
      for (const key of known) refresher.unsure(listNameOf(key));
    });
    void session.closed.then(() => refresher?.close());
    if (this.#listeners === 0) return;
    this.#open(session);
    // Changes may have been missed before.
    this.#verify(server, this.#own(server, LIST_KEYS));
  }

  /** A server was added or removed. Another one may get its name. */
  serverChanged(server: string): void {
    this.#following?.get(server)?.();
    this.#following?.delete(server);
  }

  /** True if the server reports changes of this list to this port now. */
  isWatched(server: string, key: ListKey): boolean {
    const session = this.#parts.pool.peek(server)?.session;
    return session !== undefined && this.#streams?.has(session) === true && session.isReporting(key);
  }

  /** Notices when a list that was read for another user is replaced. */
  follow(server: string): void {
    const { onDemand, pool } = this.#parts;
    const config = pool.configOf(server);
    if (config === undefined || this.#listeners === 0 || this.#following?.has(server)) return;
    this.#following ??= new Map();
    this.#following.set(
      server,
      onDemand.onReplaced(server, (key) => this.#verify(server, [key])),
    );
    // They were not followed until now.
    const replaced = LIST_KEYS.filter((key) => onDemand.isReplaced(config, key));
    this.#verify(server, replaced);
  }

  /** Stops listening. */
  close(): void {
    for (const stop of this.#streams?.values() ?? []) void stop.then((end) => end());
    this.#streams = undefined;
    for (const stop of this.#following?.values() ?? []) stop();
    this.#following = undefined;
    this.#parts.onStop();
  }

  /** Begins to notice changes of the lists of a server. */
  #watch(server: string): void {
    const { onDemand, pool } = this.#parts;
    const session = pool.peek(server)?.session;
    if (session !== undefined) this.#open(session);
    else this.#verify(server, this.#own(server, LIST_KEYS));
    if (LIST_KEYS.some((key) => onDemand.isShared(server, key))) this.follow(server);
  }

  #open(session: Session): void {
    this.#streams ??= new Map();
    if (this.#streams.has(session)) return;
    this.#streams.set(session, session.listen());
    void session.closed.then(() => this.#streams?.delete(session));
  }

  /** Without lists of other users: the server allows their use for some time, and they are followed. */
  #own(server: string, keys: readonly ListKey[]): ListKey[] {
    return keys.filter((key) => !this.#parts.onDemand.isShared(server, key));
  }

  /** Changes of these lists may have been missed: those that are known are read again, at once while a client listens. */
  #verify(server: string, keys: readonly ListKey[]): void {
    const known = this.#outdate(server, keys);
    if (this.#listeners > 0) for (const key of known) void this.#parts.provide(server, key);
  }

  /** The next need reads these lists again. Returns those that are known. */
  #outdate(server: string, keys: readonly ListKey[]): readonly ListKey[] {
    const { onDemand } = this.#parts;
    const known = onDemand.knownOf(server).filter((key) => keys.includes(key));
    for (const key of known) onDemand.outdate(server, key);
    return known;
  }

  /** Reads lists that are still outdated, while a client listens. `provide` tries those that fail again later. */
  async #readAgain(server: string, due: DueLists): Promise<RereadOutcome> {
    const { onDemand, provide } = this.#parts;
    const keys = onDemand.knownOf(server).filter((key) => due.has(listNameOf(key)));
    if (this.#listeners > 0) await Promise.all(keys.map((key) => provide(server, key)));
    return { failed: [], same: [] };
  }
}
