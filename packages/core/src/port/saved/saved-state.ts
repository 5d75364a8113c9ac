/** Restores the state of a port from its store, and saves it for the next process. */

import { toToolportError } from "@toolport/base";
import type { ExportedServer } from "../../catalog/exported-catalog.js";
import type { ListKey } from "../../catalog/server-lists.js";
import type { ServerConfig } from "../../config/server-config.js";
import type { ServerEntry } from "../../config/server-entry.js";
import type { ServerConnection } from "../../connection/server-connection.js";
import type { PortCore } from "../port-core.js";
import { SavedCatalogs } from "./saved-catalogs.js";
import { SavedServers } from "./saved-servers.js";

export class SavedState {
  /** Settles when the state is restored; never rejects. */
  readonly restored: Promise<void>;
  readonly #servers: SavedServers;
  readonly #catalogs: SavedCatalogs;
  readonly #writing = new Set<Promise<void>>();
  /** Applies the changes of other processes one after the other. */
  #following: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(
    private readonly port: PortCore,
    private readonly parent: PortCore | undefined,
  ) {
    const { settings, warn } = port.parts;
    const principal = port.principal?.name;
    this.#servers = new SavedServers(settings.store, principal, warn);
    const { store } = settings;
    this.#catalogs = new SavedCatalogs({ store, principal, publicLists: port.parts.publicLists, warn });
    this.restored =
      settings.restore === false
        ? Promise.resolve()
        : // After the constructor, because servers of the program take precedence.
          Promise.resolve().then(() => this.#restore(parent));
  }

  /** A user has logged in, here or in another process. */
  tokensChanged(): void {
    void this.#onTokens();
  }

  /** The record of a server was written or deleted. */
  serverChanged(key: string): void {
    // The state that is being restored may be older than this change.
    this.#following = this.#following.then(() => this.restored).then(() => this.#follow(key));
  }

  /** The program added a server. */
  keepServer(name: string, entry: ServerEntry): Promise<void> {
    return this.#track(this.#servers.save(name, entry));
  }

  /** The program removed a server. */
  forgetEntry(name: string): Promise<void> {
    return this.#track(this.#servers.forget(name));
  }

  /** Waits for pending writes, which must not follow the deletion of the lists. */
  async forgetLists(config: ServerConfig): Promise<void> {
    await Promise.all(this.#writing);
    this.#catalogs.forget(config);
  }

  /** The lists of a server were read. */
  keepLists(server: string, lists: () => Partial<ExportedServer>, publicKeys: readonly ListKey[]): void {
    const config = this.port.pool.configOf(server);
    if (config !== undefined && config.cache !== false && this.port.parts.settings.cache !== false)
      void this.#track(this.#catalogs.save(config, lists(), publicKeys));
  }

  /** Applies no further change of another process, and waits for pending writes. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.restored;
    await this.#following;
    await Promise.all(this.#writing);
  }

  async #restore(parent: PortCore | undefined): Promise<void> {
    const port = this.port;
    const { settings, warn } = port.parts;
    try {
      if (parent !== undefined) {
        await parent.saved?.restored;
        for (const config of parent.pool.configs()) port.restore(config);
      }
      for (const config of await this.#servers.restore()) port.restore(config);
      // Saved lists take the place of lists that are needed and cannot be read.
      if (port.reads === "connect") await this.restoreLists(port.configs());
    } catch (error) {
      warn(undefined, `Saved state could not be read: ${toToolportError(error).message}`);
    }
    if (settings.restore === "connect" && port.reads === "connect")
      void port.pool.connect(port.pool.all().filter(({ config }) => isStartable(config)));
  }

  /** Restores the saved lists of these servers, unless newer ones are known. */
  async restoreLists(configs: readonly ServerConfig[]): Promise<void> {
    const { catalog, parts } = this.port;
    const unknown = configs.filter(
      ({ name, cache }) => (cache ?? parts.settings.cache) !== false && !catalog.knows(name),
    );
    const servers = await this.#catalogs.restore(unknown);
    catalog.restore({ toolport: 1, servers }, "store");
  }

  /** Another process added, changed or removed a server. Never rejects. */
  async #follow(key: string): Promise<void> {
    const { settings, warn } = this.port.parts;
    try {
      const news = await this.#servers.reread(key);
      // Servers of the program take precedence, then those of the plain port.
      const isConfigured =
        settings.servers.has(news.name) || this.parent?.pool.configOf(news.name) !== undefined;
      if (this.#isStopped || news.kind === "same" || isConfigured) return;
      const { followServer } = await import("./change-servers.js");
      const ports = await followServer(
        this.port,
        news.name,
        news.kind === "changed" ? news.config : undefined,
      );
      for (const port of ports) {
        const config = port.pool.configOf(news.name);
        if (config === undefined || port.reads === "needed") continue;
        await (await port.saved?.state)?.restoreLists([config]);
        if (settings.restore === "connect" && isStartable(config))
          void port.pool.connect([port.pool.require(news.name)]);
      }
    } catch (error) {
      warn(
        undefined,
        `A change of the saved servers could not be applied: ${toToolportError(error).message}`,
      );
    }
  }

  /** Connects the servers that waited for the login. */
  async #onTokens(): Promise<void> {
    const waiting = this.port.pool
      .created()
      .filter(({ state }) => ["authenticating", "connecting"].includes(state.status));
    await Promise.all(waiting.map((connection) => this.#connectAfterLogin(connection)));
  }

  async #connectAfterLogin(connection: ServerConnection): Promise<void> {
    // An attempt under way may have begun without the new tokens.
    if (connection.state.status === "connecting") await connection.connect().catch(() => {});
    if (connection.state.status !== "authenticating") return;
    if (await this.port.oauth.hasNewCredentials(connection.name)) await connection.connect().catch(() => {});
  }

  #track(work: Promise<void>): Promise<void> {
    const tracked = work.finally(() => this.#writing.delete(tracked));
    this.#writing.add(tracked);
    return tracked;
  }
}

const isStartable = ({ enabled, blocked }: { enabled: boolean; blocked?: string | undefined }): boolean =>
  enabled && blocked === undefined;
