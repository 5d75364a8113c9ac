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
  readonly #connections = new Map<string, ServerConnection>();

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
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
      next: close.length > 0 ? `Did you mean ${close.join(" or ")}` : "Add it to mcpServers, or with add()",
    });
  }

  add(config: ServerConfig): ServerConnection {
    const connection = new ServerConnection(config, this.#parts);
    this.#connections.set(config.name, connection);
    return connection;
  }

  async remove(name: string): Promise<void> {
    const connection = this.#connections.get(name);
    this.#connections.delete(name);
    await connection?.disconnect();
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
    await Promise.all(this.all().map((connection) => connection.disconnect()));
  }
}
