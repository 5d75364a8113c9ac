/** Reads all lists of a server together, and the changed ones again. */
import type { ServerConfig } from "../config/server-config.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import type { ListName } from "../protocol/change-watch.js";
import type { Session } from "../protocol/session.js";
import type { CatalogOptions } from "./catalog-options.js";
import { isStale } from "./freshness.js";
import { exportServer, type Kept } from "./kept-lists.js";
import { itemFindings, listFindings } from "./list-findings.js";
import type { ListOptions, PagedList } from "./list-pages.js";
import { ListRefresher } from "./list-refresher.js";
import { Readings } from "./readings.js";
import type { Examined } from "./safety/examine-lists.js";
import { readServerLists, rereadLists, type ServerLists } from "./server-lists.js";

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

  constructor(host: FullListsHost) {
    this.#host = host;
  }

  /** Reads the lists of a server, and reads them again when they change, as long as the session lives. */
  async load(session: Session, signal: AbortSignal): Promise<void> {
    const refresher = new ListRefresher({
      read: (changed) => this.#readChanged(session, changed),
      onRead: (lists) => this.#host.options.onListsChanged(session.server, lists),
    });
    // Listen first: the first read may or may not include a change that happens during it.
    const off = session.onListChanged((list) => {
      this.#host.options.publicLists.changed(session.server, list);
      refresher.changed(list);
    });
    void session.closed.then(() => {
      off();
      refresher.close();
    });
    // Public lists of other users are used for the first read only: not on a session without any response yet, and not after
    // a reconnect, because the server may have changed.
    const isFirst = this.#host.kept(session.server)?.origin !== "server" && !session.unproven;
    const known = (key: string) => this.#host.options.publicLists.fresh(session.server, key);
    await this.read(session, { signal, known: isFirst ? known : undefined });
  }

  /** Reads the changed lists; resolves with those that could not be read. */
  async #readChanged(session: Session, changed: readonly ListName[]): Promise<readonly ListName[]> {
    const { server } = session;
    // One read at a time, so that the results of two reads are not mixed.
    await this.#readings.idle(server);
    const previous = this.#host.kept(server);
    if (previous?.origin !== "server") return changed;
    let failed: readonly ListName[] = [];
    try {
      await this.#read(session, {}, async (options, onWarning) => {
        const reread = await rereadLists(session, { changed, previous: previous.lists }, options, onWarning);
        failed = reread.failed;
        return reread.lists;
      });
      return failed;
    } catch (cause) {
      const { code, message } = toToolportError(cause, { server });
      // No warning after the session has closed: the next session reads all lists.
      if (code !== "CLOSED")
        this.#host.options.onWarning(server, `The changed lists could not be read: ${message}`);
      return changed;
    }
  }

  /** Reads all lists of a server again. */
  read(session: Session, options: Partial<ListOptions> = {}): Promise<void> {
    return this.#read(session, options, (limits, onWarning) => readServerLists(session, limits, onWarning));
  }

  #read(
    session: Session,
    { signal, timeoutMs = this.#host.options.listTimeoutMs, known }: Partial<ListOptions>,
    readLists: (options: ListOptions, onWarning: (message: string) => void) => Promise<ServerLists>,
  ): Promise<void> {
    const { server } = session;
    const { onWarning, publicLists } = this.#host.options;
    const onRead = (key: string, list: PagedList) => publicLists.keep(server, key, list);
    return this.#readings.run(server, async (turn) => {
      const options = { signal, timeoutMs, known, onRead };
      const lists = await readLists(options, (message) => onWarning(server, message));
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
