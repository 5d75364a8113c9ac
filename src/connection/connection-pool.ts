/** All servers of a port: added, brought up together, taken down together. */
import type { ServerConfig } from "../config/server-config.js";
import { ConfigError } from "../errors/config-error.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import type { ToolportError } from "../errors/toolport-error.js";
import { mapConcurrently } from "../util/map-concurrently.js";
import { suggest } from "../util/suggest.js";
import type { ConnectionParts } from "./connection-parts.js";
import { ServerConnection, type WaitOptions } from "./server-connection.js";

/**
 * Enough that the servers of one person all start at once and one that hangs keeps nobody waiting; few enough that a
 * thousand processes do not fight for the cores.
 */
const CONNECT_CONCURRENCY = 32;

export interface ConnectOutcome {
  connection: ServerConnection;
  ms: number;
  error?: ToolportError | undefined;
}

export class ConnectionPool {
  readonly #parts: ConnectionParts;
  readonly #adapt: (config: ServerConfig) => ServerConfig;
  readonly #connections = new Map<string, ServerConnection>();
  /** Configurations as they were given. */
  readonly #given = new Map<string, ServerConfig>();
  /** Replaced connections that end with their last call. */
  readonly #leaving = new Set<ServerConnection>();

  /** @param adapt makes the configuration of a connection of what is given. @default as it is */
  constructor(parts: ConnectionParts, adapt = (config: ServerConfig) => config) {
    this.#parts = parts;
    this.#adapt = adapt;
  }

  get names(): string[] {
    return [...this.#connections.keys()];
  }

  all(): ServerConnection[] {
    return [...this.#connections.values()];
  }

  get(name: string): ServerConnection | undefined {
    return this.#connections.get(name);
  }

  /** The connection of a server that must exist. */
  require(name: string): ServerConnection {
    const connection = this.#connections.get(name);
    if (connection !== undefined) return connection;
    const close = suggest(name, this.names);
    throw new ConfigError({
      code: "UNKNOWN_SERVER",
      server: name,
      what: "There is no server of this name",
      next: close.length > 0 ? `Did you mean ${close.join(" or ")}?` : "Add it to mcpServers, or with add()",
    });
  }

  add(config: ServerConfig): ServerConnection {
    const connection = new ServerConnection(this.#adapt(config), this.#parts);
    const previous = this.#connections.get(config.name);
    if (previous !== undefined) previous.replacement = connection;
    this.#given.set(config.name, config);
    this.#connections.set(config.name, connection);
    return connection;
  }

  /** Makes new connections for these servers, as they are adapted now. Calls under way end on the old ones. */
  renew(isMeant: (config: ServerConfig) => boolean): void {
    for (const config of [...this.#given.values()].filter(isMeant)) {
      const old = this.#connections.get(config.name);
      const made = this.add(config);
      if (old === undefined) continue;
      // Subscriptions to its resources go on.
      if (old.session !== undefined) made.connect().catch(() => {});
      this.#leaving.add(old);
      void old.retire().finally(() => this.#leaving.delete(old));
    }
  }

  async remove(name: string): Promise<void> {
    const connection = this.#connections.get(name);
    this.#connections.delete(name);
    this.#given.delete(name);
    const leaving = [...this.#leaving].filter((old) => old.name === name);
    await Promise.all([connection, ...leaving].map((each) => each?.disconnect()));
  }

  /** Brings these servers up at once; never rejects. */
  connect(connections: readonly ServerConnection[], options: WaitOptions = {}): Promise<ConnectOutcome[]> {
    return mapConcurrently(connections, CONNECT_CONCURRENCY, async (connection) => {
      const startedAt = performance.now();
      const elapsed = () => Math.round(performance.now() - startedAt);
      try {
        await connection.connect(options);
        return { connection, ms: elapsed() };
      } catch (error) {
        return { connection, ms: elapsed(), error: toToolportError(error, { server: connection.name }) };
      }
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.all(), ...this.#leaving].map((connection) => connection.disconnect()));
  }
}
