/** `createToolport`: wires the rooms together. There is no policy here. */
import type { Client } from "@modelcontextprotocol/client";
import { Catalog } from "./catalog/catalog.js";
import type { ToolInfo } from "./catalog/tool-info.js";
import { configIdentity } from "./config/config-identity.js";
import { parseServerEntry, parseServers } from "./config/parse-servers.js";
import type { ServerEntry } from "./config/server-entry.js";
import { ConnectionPool } from "./connection/connection-pool.js";
import { runOnSession } from "./connection/run-on-session.js";
import type { ServerConnection, WaitOptions } from "./connection/server-connection.js";
import { startUpkeep } from "./connection/upkeep.js";
import { CatalogError } from "./errors/catalog-error.js";
import { ConfigError } from "./errors/config-error.js";
import { ConnectionError } from "./errors/connection-error.js";
import type { ToolportEvents } from "./events.js";
import { type CallToolOptions, callTool } from "./execution/call-tool.js";
import type { ToolResult } from "./execution/tool-result.js";
import type { ToolportOptions } from "./options.js";
import { CLIENT_INFO } from "./protocol/client-info.js";
import { EraMemory } from "./protocol/era-memory.js";
import { type ConnectReport, reportOf, type ServerReport, throwFailures } from "./report.js";
import { type ToolportSnapshot, takeSnapshot } from "./snapshot.js";
import { memoryStore } from "./state/memory-store.js";
import { debugChannel } from "./telemetry/debug-channel.js";
import { guardLogger, silentLogger } from "./telemetry/logger.js";
import { createWireLog } from "./telemetry/wire-log.js";
import { createHttpClient } from "./transports/create-transport.js";
import { DEFAULT_MAX_MESSAGE_BYTES, type HttpClient } from "./transports/server-transport.js";
import { Emitter } from "./util/emitter.js";
import { suggest } from "./util/suggest.js";

/** Many MCP servers behind one handle. Made by {@link createToolport}. */
export interface Toolport extends AsyncDisposable {
  /** Brings up every server that is not ready, all at once. One bad server never hides another. */
  connect(options?: WaitOptions): Promise<ConnectReport>;
  /** Every tool of every server, connecting those that were never asked for. */
  tools(options?: WaitOptions & { servers?: readonly string[] }): Promise<ToolInfo[]>;
  /** Calls a tool by its public name. Throws only if the call could not be made or its answer is not to be trusted. */
  callTool<Structured = unknown>(
    name: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallToolOptions,
  ): Promise<ToolResult<Structured>>;
  /** Adds a server and connects it. Adding the same server again changes nothing. */
  add(name: string, entry: ServerEntry, options?: WaitOptions): Promise<ServerReport>;
  /** Adds a server without connecting it. */
  register(name: string, entry: ServerEntry): void;
  /** Disconnects a server and forgets it. */
  remove(name: string): Promise<void>;
  /** Brings up one server. */
  connectServer(name: string, options?: WaitOptions): Promise<ServerReport>;
  /** Reads a server's lists anew. */
  discover(name: string, options?: WaitOptions): Promise<ServerReport>;
  /** Reads the lists of one server, or of all that are ready, anew. */
  refresh(name?: string, options?: WaitOptions): Promise<void>;
  /** Puts one server down, or all. A server put down stays so until it is asked for. */
  disconnect(name?: string): Promise<void>;
  /** Asks a server for a sign of life and tells how long it took. */
  ping(name: string, options?: WaitOptions): Promise<{ ms: number }>;
  /** The state of everything, as plain data. */
  snapshot(): ToolportSnapshot;
  /** Listens to an event; returns what stops it. */
  on<Name extends keyof ToolportEvents>(
    event: Name,
    listener: (event: ToolportEvents[Name]) => void,
  ): () => void;
  /** The SDK's client of a server, for what Toolport does not wrap. */
  client(server: string, options?: WaitOptions): Promise<Client>;
  /** Ends everything: no process, socket, timer or listener is left. */
  close(): Promise<void>;
}

const LIST_TIMEOUT_MS = 15_000;

/**
 * Makes a port to many MCP servers. Nothing is connected before `connect()`, `tools()` or `callTool()`.
 *
 * @example
 * ```ts
 * await using toolport = createToolport({
 *   mcpServers: { files: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] } },
 * });
 * const tools = await toolport.tools();
 * const result = await toolport.callTool("files__list_directory", { path: "." });
 * console.log(result.text);
 * ```
 */
export function createToolport(options: ToolportOptions = {}): Toolport {
  const servers = parseServers(options.mcpServers ?? {});
  const logger = guardLogger(options.logger ?? silentLogger);
  const debug = debugChannel("connection");
  const limits = {
    timeoutMs: options.timeoutMs ?? 60_000,
    maxTimeoutMs: options.maxTimeoutMs ?? 300_000,
    report: (error: unknown) => warn(undefined, `A callback threw: ${String(error)}`),
  };
  const emitter = new Emitter<ToolportEvents>((error) => logger.warn(`A listener threw: ${String(error)}`));
  const warn = (server: string | undefined, message: string) => {
    logger.warn(server === undefined ? message : `[${server}] ${message}`);
    emitter.emit("warning", { server, message });
  };

  let http: Promise<HttpClient> | undefined;
  let closing: Promise<void> | undefined;
  const catalog: Catalog = new Catalog({
    prefix: options.prefix ?? true,
    listTimeoutMs: LIST_TIMEOUT_MS,
    serverOrder: () => pool.names,
    onChanged: (server) => emitter.emit("tools", { server }),
    onWarning: warn,
  });
  const pool: ConnectionPool = new ConnectionPool({
    identity: { clientInfo: options.clientInfo ?? CLIENT_INFO, capabilities: {} },
    eras: new EraMemory(options.store ?? memoryStore()),
    connectTimeoutMs: options.connectTimeoutMs ?? 60_000,
    async transportContext() {
      http ??= createHttpClient(options.fetch);
      return { http: await http, maxMessageBytes: options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES };
    },
    discover: (session, signal) => catalog.load(session, signal),
    onState(change) {
      const line = `[${change.server}] ${change.from} -> ${change.to}: ${change.reason}`;
      debug(line);
      if (pool.get(change.server)?.config.logEvents) logger.info(line);
      emitter.emit("state", change);
    },
    tap: ({ name, logRequests, logResponses }) =>
      createWireLog({ server: name, logRequests, logResponses, logger }),
  });
  for (const config of servers.values()) pool.add(config);
  const stopUpkeep = startUpkeep(pool, {
    healthCheckMs: options.healthCheck?.intervalMs,
    idleTimeoutMs: options.idleTimeoutMs,
  });

  /** Everything but `close()` ends here once the port is closed. */
  function assertOpen(): void {
    if (closing === undefined) return;
    throw new ConnectionError({
      code: "CLOSED",
      what: "This port is closed",
      next: "Make a new one",
      outcome: "unsent",
    });
  }

  const chosen = (names: readonly string[] | undefined): ServerConnection[] =>
    names === undefined ? pool.all() : names.map((name) => pool.require(name));

  /** Brings up what was never asked for; what failed is left alone until somebody asks for it by name. */
  const connectIdle = (connections: readonly ServerConnection[], wait: WaitOptions) => {
    const wanted = connections.filter(({ state }) =>
      ["idle", "connecting", "connected", "discovering"].includes(state.status),
    );
    return wanted.length === 0 ? [] : pool.connect(wanted, wait);
  };

  async function connectOne(connection: ServerConnection, wait: WaitOptions = {}): Promise<ServerReport> {
    const [outcome] = await pool.connect([connection], wait);
    if (wait.signal?.aborted) throw wait.signal.reason;
    return reportOf(outcome!, catalog);
  }

  function register(name: string, entry: ServerEntry): ServerConnection {
    assertOpen();
    const config = parseServerEntry(name, entry);
    const known = pool.get(name);
    if (known === undefined) return pool.add(config);
    if (configIdentity(known.config) === configIdentity(config)) return known;
    throw new ConfigError({
      code: "DUPLICATE_SERVER",
      server: name,
      what: "Another server has this name already",
      next: "Remove it first, or choose another name",
    });
  }

  async function find(name: string, wait: WaitOptions) {
    const known = catalog.entry(name);
    if (known !== undefined) return known;
    await connectIdle(pool.all(), wait);
    const found = catalog.entry(name);
    if (found !== undefined) return found;
    const suggestions = suggest(
      name,
      catalog.tools().map((tool) => tool.name),
    );
    throw new CatalogError({
      code: "TOOL_NOT_FOUND",
      tool: name,
      what: `There is no tool named ${JSON.stringify(name)}`,
      next:
        suggestions.length > 0
          ? `Did you mean ${suggestions.join(" or ")}`
          : "Look at tools() for what there is",
      suggestions,
    });
  }

  async function reread(connection: ServerConnection, wait: WaitOptions = {}): Promise<void> {
    await runOnSession(connection, (session) => catalog.read(session, wait), {
      repeatable: true,
      waitMs: wait.timeoutMs ?? limits.timeoutMs,
      signal: wait.signal,
    });
  }

  return {
    async connect(wait = {}) {
      assertOpen();
      const enabled = pool.all().filter(({ config }) => config.enabled);
      const outcomes = await pool.connect(enabled, wait);
      if (wait.signal?.aborted) throw wait.signal.reason;
      const failed = outcomes.filter((outcome) => outcome.error !== undefined);
      if (options.onServerError === "throw") throwFailures(failed.map((outcome) => outcome.error!));
      if (typeof options.onServerError === "function") {
        for (const { connection, error } of failed) options.onServerError({ name: connection.name }, error!);
      }
      return {
        servers: Object.fromEntries(
          outcomes.map((outcome) => [outcome.connection.name, reportOf(outcome, catalog)]),
        ),
      };
    },
    async tools({ servers: names, ...wait } = {}) {
      assertOpen();
      await connectIdle(chosen(names), wait);
      if (wait.signal?.aborted) throw wait.signal.reason;
      const tools = catalog.tools();
      return names === undefined ? tools : tools.filter((tool) => names.includes(tool.server));
    },
    async callTool<Structured>(
      name: string,
      args: Readonly<Record<string, unknown>> = {},
      callOptions: CallToolOptions = {},
    ): Promise<ToolResult<Structured>> {
      assertOpen();
      const entry = catalog.entry(name) ?? (await find(name, callOptions));
      const connection = pool.require(entry.info.server);
      const refresh = async () => {
        await reread(connection, callOptions);
        return catalog.entry(name);
      };
      return callTool<Structured>({ entry, connection, args, refresh }, callOptions, limits);
    },
    async add(name, entry, wait) {
      return connectOne(register(name, entry), wait);
    },
    register(name, entry) {
      register(name, entry);
    },
    async remove(name) {
      pool.require(name);
      await pool.remove(name);
      catalog.drop(name);
    },
    async connectServer(name, wait) {
      assertOpen();
      return connectOne(pool.require(name), wait);
    },
    async discover(name, wait) {
      assertOpen();
      const connection = pool.require(name);
      const startedAt = performance.now();
      await reread(connection, wait);
      return reportOf({ connection, ms: Math.round(performance.now() - startedAt) }, catalog);
    },
    async refresh(name, wait) {
      assertOpen();
      const connections =
        name === undefined ? pool.all().filter(({ session }) => session !== undefined) : [pool.require(name)];
      await Promise.all(connections.map((connection) => reread(connection, wait)));
    },
    async disconnect(name) {
      await Promise.all(
        chosen(name === undefined ? undefined : [name]).map((connection) => connection.disconnect()),
      );
    },
    async ping(name, { signal, timeoutMs = limits.timeoutMs } = {}) {
      assertOpen();
      const session = await pool.require(name).acquire({ signal, timeoutMs });
      const startedAt = performance.now();
      await session.ping({ timeoutMs, maxTimeoutMs: timeoutMs, signal });
      return { ms: performance.now() - startedAt };
    },
    snapshot: () => takeSnapshot(pool.all(), catalog),
    on: (event, listener) => emitter.on(event, listener),
    async client(server, wait) {
      assertOpen();
      return (await pool.require(server).acquire(wait)).client;
    },
    close() {
      closing ??= (async () => {
        stopUpkeep();
        await pool.close();
        await (await http)?.close();
        emitter.clear();
      })();
      return closing;
    },
    [Symbol.asyncDispose]() {
      return this.close();
    },
  };
}
