/** Reads all lists of a server together, and the changed ones again. */
import type { ServerConfig } from "../config/server-config.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import { type ListName, listNameOf } from "../protocol/change-watch.js";
import { LIST_KEYS } from "../protocol/list-reads.js";
import type { Session } from "../protocol/session.js";
import type { CatalogOptions } from "./catalog-options.js";
import { isStale } from "./freshness.js";
import { exportServer, type Kept } from "./kept-lists.js";
import { itemFindings, listFindings } from "./list-findings.js";
import type { ListOptions, PagedList } from "./list-pages.js";
import { type DueLists, ListRefresher, type RereadOutcome } from "./list-refresher.js";
import { Readings } from "./readings.js";
import type { Examined } from "./safety/examine-lists.js";
import { isSameList, type ListKey, readServerLists, rereadLists, type ServerLists } from "./server-lists.js";

/** The part of a catalog that this needs. */
interface FullListsHost {
  readonly options: CatalogOptions;
  kept(server: string): Kept | undefined;
  keep(server: string, kept: Kept): void;
  examine(server: string, lists: ServerLists): Promise<Examined>;
}

export class FullLists {
  readonly #host: FullListsHost;
  readonly #reading = new Map<string, Promise<void>>();
  readonly #readings = new Readings();
  /** Reads up to this one may lack a change, by list and server. */
  readonly #outdated = new Map<string, number>();
  /** The lists of a server that were read for another user. */
  readonly #shared = new Map<string, Set<ListKey>>();

  constructor(host: FullListsHost) {
    this.#host = host;
  }

  /** Reads the lists of a server, and reads them again when they change, as long as the session lives. */
  async load(session: Session, signal: AbortSignal): Promise<void> {
    const { server } = session;
    const { publicLists } = this.#host.options;
    const shared = new Set<ListKey>();
    this.#shared.set(server, shared);
    const refresher = new ListRefresher({
      read: (due) => this.#readAgain(session, due),
      onRead: (lists) => this.#host.options.onListsChanged(session.server, lists),
    });
    // Listen first: the first read may or may not include a change that happens during it.
    const off = session.onListChanged((list) => {
      publicLists.changed(server, list);
      this.#outdate(server, list);
      refresher.changed(list);
    });
    // A stream that is open already has reported its first gap.
    let isFirstGap = !LIST_KEYS.some((key) => session.isReporting(key));
    const offGap = session.onListGap((keys) => {
      // The server allows the use of a shared list that is older than the stream. It is read again when it is replaced.
      for (const key of keys) if (!isFirstGap || !shared.has(key)) refresher.unsure(listNameOf(key));
      isFirstGap = false;
    });
    const offReplaced = publicLists.onReplaced(server, (key) => {
      if (shared.has(key)) refresher.unsure(listNameOf(key));
    });
    void session.closed.then(() => {
      off();
      offGap();
      offReplaced();
      refresher.close();
    });
    // Public lists of other users are used for the first read only: not on a session without any response yet, and not after
    // a reconnect, because the server may have changed.
    const isFirst = this.#host.kept(server)?.origin !== "server" && !session.unproven;
    const known = (key: ListKey) => {
      const list = publicLists.fresh(server, key);
      if (list !== undefined) shared.add(key);
      return list;
    };
    await this.read(session, { signal, known: isFirst ? known : undefined });
  }

  /** True if the server has reported a change of the list that was not read yet. */
  isOutdated(server: string, list: ListName): boolean {
    const turn = this.#outdated.get(`${list} ${server}`);
    return turn !== undefined && (this.#host.kept(server)?.turn ?? 0) <= turn;
  }

  #outdate(server: string, list: ListName): void {
    this.#outdated.set(`${list} ${server}`, this.#readings.turns);
  }

  /** Reads lists that changed, or may have. Keeps nothing if none of them differs or was reported. */
  async #readAgain(session: Session, due: DueLists): Promise<RereadOutcome> {
    const { server } = session;
    const changed = [...due.keys()];
    // One read at a time, so that the results of two reads are not mixed.
    await this.#readings.idle(server);
    const previous = this.#host.kept(server);
    if (previous?.origin !== "server") return { failed: changed, same: [] };
    let outcome: RereadOutcome = { failed: [], same: [] };
    try {
      await this.#read(session, {}, async (options, onWarning) => {
        const { lists, failed } = await rereadLists(
          session,
          { changed, previous: previous.lists },
          options,
          onWarning,
        );
        const read = changed.filter((list) => !failed.includes(list));
        const same = read.filter(
          (list) => due.get(list) === "unsure" && isSameList(list, previous.lists, lists),
        );
        for (const list of failed) if (due.get(list) !== "unsure") this.#outdate(server, list);
        outcome = { failed, same };
        return same.length < read.length ? lists : undefined;
      });
      return outcome;
    } catch (cause) {
      const { code, message } = toToolportError(cause, { server });
      // No warning after the session has closed: the next session reads all lists.
      if (code !== "CLOSED")
        this.#host.options.onWarning(server, `The lists could not be read again: ${message}`);
      return { failed: changed, same: [] };
    }
  }

  /** Reads all lists of a server again. */
  read(session: Session, options: Partial<ListOptions> = {}): Promise<void> {
    return this.#read(session, options, (limits, onWarning) => readServerLists(session, limits, onWarning));
  }

  /** @param readLists resolves with undefined if the kept lists are still right */
  #read(
    session: Session,
    { signal, timeoutMs = this.#host.options.listTimeoutMs, known }: Partial<ListOptions>,
    readLists: (
      options: ListOptions,
      onWarning: (message: string) => void,
    ) => Promise<ServerLists | undefined>,
  ): Promise<void> {
    const { server } = session;
    const { onWarning, publicLists } = this.#host.options;
    const onRead = (key: ListKey, list: PagedList) => {
      this.#shared.get(server)?.delete(key);
      publicLists.keep(server, key, list);
    };
    return this.#readings.run(server, async (turn) => {
      const options = { signal, timeoutMs, known, onRead };
      const lists = await readLists(options, (message) => onWarning(server, message));
      if (lists === undefined) return;
      for (const finding of listFindings(lists)) onWarning(server, finding);
      const examined = await this.#host.examine(server, lists);
      for (const finding of itemFindings(examined.refusedItems)) onWarning(server, finding);
      // A slow read that began earlier must not replace the result of a later one.
      if ((this.#host.kept(server)?.turn ?? 0) >= turn) return;
      const kept: Kept = { lists, ...examined, session, origin: "server", turn };
      this.#host.keep(server, kept);
      this.#host.options.onRead?.(server, () => exportServer(kept), lists.publicKeys);
    });
  }

  /** Reads the lists of a ready session again if they are stale. Concurrent callers share one read. */
  async refreshStale(session: Session, config: ServerConfig, wait: Partial<ListOptions>): Promise<void> {
    const kept = this.#host.kept(session.server);
    const cache = config.cache ?? this.#host.options.cache;
    if (kept !== undefined && !isStale(kept.lists, cache)) return;
    const running = this.#reading.get(session.server);
    if (running !== undefined) return running;
    const reading = this.read(session, wait).finally(() => this.#reading.delete(session.server));
    this.#reading.set(session.server, reading);
    await reading;
  }
}
