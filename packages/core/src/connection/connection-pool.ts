/** All connections of a port. */

import {
  ConfigError,
  didYouMean,
  mapConcurrently,
  suggest,
  type ToolportError,
  toToolportError,
  unrefTimer,
} from "@toolport/base";
import type { ServerConfig } from "../config/server-config.js";
import type { RememberedEra } from "../protocol/era.js";
import type { ConnectionParts } from "./connection-state.js";
import { type ConnectOptions, ServerConnection } from "./server-connection.js";

/**
 * High enough that the servers of one user all start at once and one that hangs delays no other; low enough that a
 * thousand processes do not compete for the CPU.
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
  /** Configurations before `adapt`. */
  readonly #configs = new Map<string, ServerConfig>();
  /** Eras and sessions of connections that rest, if they are known. */
  #resting: Map<string, RememberedEra | undefined> | undefined;
  /** Replaced connections that close after their last call. */
  readonly #leaving = new Set<ServerConnection>();

  /** @param adapt converts a given configuration to that of a connection. @default unchanged */
  constructor(parts: ConnectionParts, adapt = (config: ServerConfig) => config) {
    this.#parts = parts;
    this.#adapt = adapt;
  }

  get names(): string[] {
    return [...this.#configs.keys()];
  }

  all(): ServerConnection[] {
    return this.names.flatMap((name) => this.get(name) ?? []);
  }

  /** The connections that were needed so far. */
  created(): ServerConnection[] {
    return [...this.#connections.values()];
  }

  /** Created on first use. */
  get(name: string): ServerConnection | undefined {
    const config = this.#configs.get(name);
    return this.#connections.get(name) ?? (config && this.#create(config));
  }

  /** Undefined if the connection was not needed so far. */
  peek(name: string): ServerConnection | undefined {
    return this.#connections.get(name);
  }

  /** The configuration of a server. */
  configOf(name: string): ServerConfig | undefined {
    return this.#connections.get(name)?.config ?? this.#configs.get(name);
  }

  /** The configurations of all servers, in their order. */
  configs(): ServerConfig[] {
    return this.names.map((name) => this.configOf(name)!);
  }

  /** Throws `UNKNOWN_SERVER`. */
  require(name: string): ServerConnection {
    const connection = this.#connections.get(name) ?? this.get(name);
    if (connection !== undefined) return connection;
    const close = suggest(name, this.names);
    throw new ConfigError({
      code: "UNKNOWN_SERVER",
      server: name,
      what: "There is no server of this name",
      next: didYouMean(close, "Add it to mcpServers, or with add()"),
    });
  }

  /** Adds a server. Its connection is created when it is needed, unless it replaces another one. */
  add(config: ServerConfig): void {
    const previous = this.#connections.get(config.name);
    this.#configs.set(config.name, config);
    if (previous !== undefined) previous.replacement = this.#create(config);
  }

  /**
   * Closes connections over HTTP that have been idle for this long, and forgets them. Sessions stay at their servers: the next
   * call goes on with them.
   */
  rest(idleMs: number): void {
    for (const connection of this.created()) {
      const { session, usage } = connection;
      if (usage.idleMs === 0 || usage.idleMs < idleMs) continue;
      if (session !== undefined) {
        if (session.inFlight > 0 || !session.keepAtServer()) continue;
        const { resume } = session;
        connection.disconnect("idleness").catch(() => {});
        if (connection.lastEra?.era === "legacy") connection.lastEra = { ...connection.lastEra, resume };
      }
      this.#forget(connection);
    }
  }

  /** Forgets connections that were closed for idleness, and have not been used for this long. */
  forgetClosed(idleMs: number): void {
    for (const connection of this.created())
      if (connection.state.status === "closed" && connection.usage.idleMs >= idleMs) this.#forget(connection);
  }

  /** The next one of this server begins where this one ended. */
  #forget(connection: ServerConnection): void {
    const { name, state, lastEra } = connection;
    const isClosed = state.status === "closed" && state.by === "idleness";
    if (!isClosed && state.status !== "idle") return;
    this.#resting ??= new Map();
    if (isClosed) this.#resting.set(name, lastEra && (this.#parts.shareEra?.(lastEra) ?? lastEra));
    this.#connections.delete(name);
    // For callers that hold the old connection.
    Object.defineProperty(connection, "replacement", { get: () => this.get(name) });
  }

  #create(config: ServerConfig): ServerConnection {
    const { name } = config;
    const rested = this.#resting?.has(name) ? { lastEra: this.#resting.get(name) } : undefined;
    this.#resting?.delete(name);
    const connection = new ServerConnection(this.#adapt(config), this.#parts, rested);
    this.#connections.set(name, connection);
    return connection;
  }

  /** Replaces the connections of these servers, with newly adapted configurations. Calls under way finish on the old ones. */
  renew(isMeant: (config: ServerConfig) => boolean): void {
    for (const config of [...this.#configs.values()].filter(isMeant)) {
      const old = this.#connections.get(config.name);
      this.add(config);
      const made = old?.replacement;
      if (old === undefined || made === undefined) continue;
      // Reconnects at once, so that subscriptions continue.
      if (old.session !== undefined) made.connect().catch(() => {});
      this.#leaving.add(old);
      void old.retire().finally(() => this.#leaving.delete(old));
    }
  }

  async remove(name: string): Promise<void> {
    await this.#wake(name);
    const connection = this.#connections.get(name);
    this.#connections.delete(name);
    this.#resting?.delete(name);
    this.#configs.delete(name);
    const leaving = [...this.#leaving].filter((old) => old.name === name);
    await Promise.all([connection, ...leaving].map((each) => each?.disconnect()));
  }

  /** Connects these servers at the same time. Never rejects. */
  connect(connections: readonly ServerConnection[], options: ConnectOptions = {}): Promise<ConnectOutcome[]> {
    return mapConcurrently(connections, CONNECT_CONCURRENCY, async ({ current: connection }) => {
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

  /** A session that rests is opened again, so that it ends at its server. That needs no request. */
  async #wake(name: string): Promise<void> {
    const era = this.#resting?.get(name);
    if (era?.era === "legacy" && era.resume?.sessionId !== undefined)
      await this.get(name)
        ?.connect()
        .catch(() => {});
  }

  async close(): Promise<void> {
    await Promise.all([...(this.#resting?.keys() ?? [])].map((name) => this.#wake(name)));
    await Promise.all([...this.all(), ...this.#leaving].map((connection) => connection.disconnect()));
  }
}

/**
 * Starts the timers, which do not keep the process alive, and returns a function that stops them.
 *
 * @param onIdle called after connections may have been closed for idleness
 */
export function startUpkeep(
  pool: Pick<ConnectionPool, "created">,
  { healthCheckMs, idleTimeoutMs }: Record<"healthCheckMs" | "idleTimeoutMs", number | undefined>,
  onIdle: (idleMs: number) => void = () => {},
): () => void {
  const timers: ReturnType<typeof setInterval>[] = [];
  const every = (ms: number, task: () => void) => timers.push(unrefTimer(setInterval(task, ms)));
  if (healthCheckMs !== undefined)
    every(healthCheckMs, () => pool.created().forEach((connection) => void checkHealth(connection)));
  if (idleTimeoutMs !== undefined) {
    every(Math.max(50, idleTimeoutMs / 4), () => {
      for (const connection of pool.created()) {
        const isIdle = connection.session !== undefined && connection.usage.idleMs >= idleTimeoutMs;
        if (isIdle) connection.disconnect("idleness").catch(() => {});
      }
      onIdle(idleTimeoutMs);
    });
  }
  return () => timers.forEach(clearInterval);
}

/** Pings a ready server, and tries to connect a failed one again, which counts as an attempt. */
async function checkHealth(connection: ServerConnection): Promise<void> {
  if (connection.state.status !== "failed") return connection.checkHealth();
  // The state of the connection contains the error.
  await connection.connect().catch(() => {});
}
