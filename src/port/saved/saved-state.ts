/** What a port takes over from its store, and what it leaves there for the next one. */
import { tokensPrefix } from "../../auth/record-keys.js";
import type { ExportedServer } from "../../catalog/exported-catalog.js";
import type { ServerEntry } from "../../config/server-entry.js";
import type { ServerConnection } from "../../connection/server-connection.js";
import { toToolportError } from "../../errors/to-toolport-error.js";
import type { Port } from "../port.js";
import { SavedCatalogs } from "./saved-catalogs.js";
import { SavedServers } from "./saved-servers.js";

export class SavedState {
  /** Settles when everything that could be restored is; never rejects. */
  readonly restored: Promise<void>;
  isRestoring = false;
  readonly #port: Port;
  readonly #servers: SavedServers;
  readonly #catalogs: SavedCatalogs;
  readonly #stopWatching: () => void;
  readonly #writing = new Set<Promise<void>>();

  constructor(port: Port, parent: Port | undefined) {
    const { settings, warn } = port.parts;
    const principal = port.principal?.name;
    this.#port = port;
    this.#servers = new SavedServers(settings.store, principal, warn);
    this.#catalogs = new SavedCatalogs(settings.store, principal, warn);
    this.restored =
      settings.restore === false
        ? Promise.resolve()
        : // After the constructor: what the program configures comes first.
          Promise.resolve().then(() =>
            this.#restore(parent).finally(() => {
              this.isRestoring = false;
            }),
          );
    this.isRestoring = settings.restore !== false;
    this.#stopWatching = this.#watch(tokensPrefix(principal));
  }

  /** A server was added by the program. */
  keepServer(name: string, entry: ServerEntry): Promise<void> {
    return this.#track(this.#servers.save(name, entry));
  }

  forgetServer(name: string): Promise<void> {
    return this.#track(this.#servers.forget(name));
  }

  /** A server's lists were read. */
  keepLists(server: string, lists: () => ExportedServer): void {
    const config = this.#port.pool.get(server)?.config;
    if (config !== undefined && config.cache !== false && this.#port.parts.settings.cache !== false)
      void this.#track(this.#catalogs.save(config, lists()));
  }

  /** Nothing is taken over any more; what is being written is waited for. */
  async stop(): Promise<void> {
    this.#stopWatching();
    await this.restored;
    await Promise.all(this.#writing);
  }

  async #restore(parent: Port | undefined): Promise<void> {
    const port = this.#port;
    const { settings, warn } = port.parts;
    try {
      if (parent !== undefined) {
        await parent.saved?.restored;
        for (const { config } of parent.pool.all()) port.restore(config);
      }
      for (const config of await this.#servers.restore()) port.restore(config);
      const configs = port.pool.all().map(({ config }) => config);
      const cached = configs.filter(({ cache }) => (cache ?? settings.cache) !== false);
      const unknown = cached.filter(({ name }) => !port.catalog.knows(name));
      port.catalog.restore({ toolport: 1, servers: await this.#catalogs.restore(unknown) }, "store");
    } catch (error) {
      warn(undefined, `Saved state could not be read: ${toToolportError(error).message}`);
    }
    if (settings.restore === "connect")
      void port.pool.connect(port.pool.all().filter(({ config }) => isStartable(config)));
  }

  #watch(prefix: string): () => void {
    const { settings, warn } = this.#port.parts;
    const fail = (error: unknown) => {
      warn(undefined, `The store cannot be watched: ${toToolportError(error).message}`);
      return () => {};
    };
    try {
      const stop: unknown = settings.store.watch(prefix, () => void this.#onTokens());
      if (typeof stop === "function") return stop as () => void;
      // A store of somebody else's, which promises instead of answering.
      Promise.resolve(stop).catch(fail);
      return () => {};
    } catch (error) {
      return fail(error);
    }
  }

  /** Somebody has logged in, here or in another process: whoever waited for that goes on. */
  async #onTokens(): Promise<void> {
    const waiting = this.#port.pool
      .all()
      .filter(({ state }) => ["authenticating", "connecting"].includes(state.status));
    await Promise.all(waiting.map((connection) => this.#goOn(connection)));
  }

  async #goOn(connection: ServerConnection): Promise<void> {
    // An attempt that is under way may have begun without the new tokens.
    if (connection.state.status === "connecting") await connection.connect().catch(() => {});
    if (connection.state.status !== "authenticating") return;
    if (await this.#port.oauth.hasNewCredentials(connection.name)) await connection.connect().catch(() => {});
  }

  #track(work: Promise<void>): Promise<void> {
    const tracked = work.finally(() => this.#writing.delete(tracked));
    this.#writing.add(tracked);
    return tracked;
  }
}

const isStartable = ({ enabled, blocked }: { enabled: boolean; blocked?: string | undefined }): boolean =>
  enabled && blocked === undefined;
