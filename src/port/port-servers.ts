/** Adds servers to a port and removes them. */
import type { Catalog } from "../catalog/catalog.js";
import { configIdentity } from "../config/config-identity.js";
import type { ServerConfig } from "../config/server-config.js";
import type { ConnectionPool } from "../connection/connection-pool.js";
import { ConfigError } from "../errors/config-error.js";
import type { SharedParts } from "./shared-parts.js";

/** The part of a port that this needs. */
interface ServersHost {
  readonly parts: SharedParts;
  readonly pool: ConnectionPool;
  readonly catalog: Catalog;
  readonly oauth: { forget(config: ServerConfig): void };
  dropServer(server: string): Promise<void>;
  forgetServer(server: string): void;
  serversChanged(server: string): void;
}

export class PortServers {
  readonly #port: ServersHost;
  /** Servers from the store that the program has not named since. */
  #restored: Set<string> | undefined;

  constructor(port: ServersHost) {
    this.#port = port;
  }

  /** Adds a server, unless the same server exists. */
  register(config: ServerConfig): void {
    const { pool, catalog, parts } = this.#port;
    const known = pool.configOf(config.name);
    if (known === undefined) return this.#add(config);
    const connection = pool.peek(config.name);
    const isSame = configIdentity(known) === configIdentity(config);
    // The configuration of the program takes precedence over the saved one.
    if (this.isRestored(config.name) && !(isSame && connection?.session !== undefined)) {
      this.#restored?.delete(config.name);
      if (!isSame) catalog.drop(config.name);
      connection?.disconnect().catch(parts.report);
      return pool.add(config);
    }
    if (isSame) return;
    throw new ConfigError({
      code: "DUPLICATE_SERVER",
      server: config.name,
      what: "Another server has this name already",
      next: "Remove it first, or choose another name",
    });
  }

  /** Adds a saved server, unless the program has one of this name. */
  restore(config: ServerConfig): void {
    if (this.#port.pool.configOf(config.name) !== undefined) return;
    this.#restored ??= new Set();
    this.#restored.add(config.name);
    this.#add(config);
  }

  /** Removes a server. Its records stay in the store. */
  async remove(name: string): Promise<void> {
    const { pool, catalog, oauth } = this.#port;
    const config = pool.configOf(name);
    this.#restored?.delete(name);
    await Promise.all([this.#port.dropServer(name), pool.remove(name)]);
    if (config !== undefined) oauth.forget(config);
    this.#port.forgetServer(name);
    catalog.drop(name);
    this.#port.serversChanged(name);
  }

  isRestored(name: string): boolean {
    return this.#restored?.has(name) === true;
  }

  #add(config: ServerConfig): void {
    this.#port.pool.add(config);
    this.#port.serversChanged(config.name);
  }
}
