/** One port: the connections, the catalog and the pipeline of one principal. */
import type { Client } from "@modelcontextprotocol/client";
import { Catalog } from "./catalog/catalog.js";
import type { FilterSet } from "./catalog/filter-set.js";
import { Pins } from "./catalog/pins.js";
import { configIdentity } from "./config/config-identity.js";
import type { ServerConfig } from "./config/server-config.js";
import { ConnectionPool, type ConnectOutcome } from "./connection/connection-pool.js";
import { runOnSession } from "./connection/run-on-session.js";
import type { ServerConnection, WaitOptions } from "./connection/server-connection.js";
import { startUpkeep } from "./connection/upkeep.js";
import { CatalogError } from "./errors/catalog-error.js";
import { ConfigError } from "./errors/config-error.js";
import { ConnectionError } from "./errors/connection-error.js";
import { createPipeline, type Pipeline } from "./execution/pipeline.js";
import type { CallToolOptions } from "./execution/tool-call.js";
import type { ToolResult } from "./execution/tool-result.js";
import { configFor, type Principal } from "./principal.js";
import { EraMemory } from "./protocol/era-memory.js";
import type { ServerRequests } from "./protocol/server-requests/server-requests.js";
import type { Session } from "./protocol/session.js";
import { tapNotifications } from "./protocol/tap-notifications.js";
import type { SharedParts } from "./shared-parts.js";
import type { TraceMeta } from "./telemetry/open-telemetry.js";
import type { RequestFacts, ServerFacts } from "./telemetry/open-telemetry-attributes.js";
import { createWireLog } from "./telemetry/wire-log.js";
import type { HttpClient } from "./transports/server-transport.js";
import { suggest } from "./util/suggest.js";

const LIST_TIMEOUT_MS = 15_000;

/** States from which a server comes up by itself when it is needed. */
const COMING_UP = ["idle", "connecting", "connected", "discovering"];

interface AskedRequest extends Pick<RequestFacts, "method" | "prompt" | "uri"> {
  readonly params: Record<string, unknown>;
}

/** What `toolport.ts` puts its methods on. */
export class Port {
  readonly parts: SharedParts;
  readonly principal: Principal | undefined;
  readonly pool: ConnectionPool;
  readonly catalog: Catalog;
  readonly filters: FilterSet;
  readonly pipeline: Pipeline;
  readonly serverRequests: ServerRequests;
  readonly #stopUpkeep: () => void;
  #http: Promise<HttpClient> | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: SharedParts, principal?: Principal) {
    const { settings, emitter, warn } = parts;
    this.parts = parts;
    this.principal = principal;
    this.filters = parts.filters;
    this.serverRequests = parts.serverRequestsFor(principal?.name);
    this.catalog = new Catalog({
      naming: {
        prefix: settings.prefix,
        additionalToolNamePrefix: settings.additionalToolNamePrefix,
        toolNameMapper: settings.toolNameMapper,
        toolSpecificationMapper: settings.toolSpecificationMapper,
      },
      filters: this.filters,
      pins: new Pins(settings.pins, settings.store, principal?.name),
      scan: settings.scan,
      cache: settings.cache,
      listTimeoutMs: LIST_TIMEOUT_MS,
      servers: () => this.pool.all().map(({ config }) => config),
      onChanged: (server) => emitter.emit("tools", { server, principal: principal?.name }),
      onListsChanged: (server, lists) =>
        emitter.emit("listsChanged", { server, lists, principal: principal?.name }),
      onToolChanged: (change) => {
        warn(change.server, `The definition of ${change.tool} changed since it was pinned`);
        emitter.emit("toolChanged", { ...change, principal: principal?.name });
      },
      onWarning: warn,
    });
    this.pool = new ConnectionPool({
      identity: { clientInfo: settings.clientInfo, capabilities: this.serverRequests.capabilities },
      serverRequests: this.serverRequests,
      validator: parts.validator,
      eras: new EraMemory(settings.store, principal?.name),
      connectTimeoutMs: settings.connectTimeoutMs,
      transportContext: async () => {
        this.#http ??= parts.createHttp();
        return { http: await this.#http, maxMessageBytes: settings.maxMessageBytes };
      },
      discover: (session, signal) => this.catalog.load(session, signal),
      onState: (change) => {
        if (change.to === "closed") this.pipeline.disconnected(change.server);
        if (change.to === "ready") this.pipeline.reconnected(change.server);
        parts.onState({ ...change, principal: principal?.name }, this.pool.get(change.server)?.config);
      },
      onSessionEnded: (session, ms, error) => parts.telemetry.sessionEnded(this.#factsOf(session), ms, error),
      tap: ({ name, logRequests, logResponses }) =>
        tapNotifications(
          (method, params) =>
            emitter.emit("notification", { server: name, method, params, principal: principal?.name }),
          createWireLog({ server: name, logRequests, logResponses, logger: settings.logger }),
        ),
    });
    this.pipeline = this.#createPipeline();
    if (settings.catalog !== undefined) this.catalog.restore(settings.catalog);
    this.#stopUpkeep = startUpkeep(this.pool, {
      healthCheckMs: settings.healthCheck?.intervalMs,
      idleTimeoutMs: settings.idleTimeoutMs,
    });
  }

  /** Everything but closing ends here once the port is closed. */
  assertOpen(): void {
    if (this.#closing === undefined) return;
    throw new ConnectionError({
      code: "CLOSED",
      what: "This port is closed",
      next: "Make a new one",
      outcome: "unsent",
    });
  }

  /** Adds a server, or finds the same one that is there already. */
  register(config: ServerConfig): ServerConnection {
    this.assertOpen();
    const known = this.pool.get(config.name);
    if (known === undefined) return this.pool.add(configFor(config, this.principal));
    if (configIdentity(known.config) === configIdentity(config)) return known;
    throw new ConfigError({
      code: "DUPLICATE_SERVER",
      server: config.name,
      what: "Another server has this name already",
      next: "Remove it first, or choose another name",
    });
  }

  async remove(name: string): Promise<void> {
    await this.pool.remove(name);
    this.pipeline.forget(name);
    this.catalog.drop(name);
  }

  /** The named servers, or all. */
  choose(names: readonly string[] | undefined): ServerConnection[] {
    return names === undefined ? this.pool.all() : names.map((name) => this.pool.require(name));
  }

  /**
   * Brings up what was never asked for and is not known from an exported catalog; what failed is left alone until
   * somebody asks for it by name. Lists that are too old are read again.
   */
  async bringUp(connections: readonly ServerConnection[], wait: WaitOptions): Promise<ConnectOutcome[]> {
    await this.catalog.restored();
    const wanted = connections.filter(
      ({ name, state }) => COMING_UP.includes(state.status) && !this.catalog.knows(name),
    );
    const [outcomes] = await Promise.all([
      wanted.length === 0 ? [] : this.pool.connect(wanted, wait),
      ...connections.map((connection) => this.#refreshStale(connection, wait)),
    ]);
    if (wait.signal?.aborted) throw wait.signal.reason;
    return outcomes;
  }

  async #refreshStale({ session, config, name }: ServerConnection, wait: WaitOptions): Promise<void> {
    if (session === undefined) return;
    try {
      await this.catalog.refreshStale(session, config, wait);
    } catch (error) {
      if (wait.signal?.aborted) throw error;
      this.parts.warn(name, `Its lists could not be read again: ${String(error)}`);
    }
  }

  /** Reads a server's lists anew. */
  reread(connection: ServerConnection, wait: WaitOptions = {}): Promise<void> {
    return this.read(connection, (session) => this.catalog.read(session, wait), wait);
  }

  /** Runs something that may safely run twice. */
  read<Result>(
    connection: ServerConnection,
    run: (session: Session) => Promise<Result>,
    wait: WaitOptions,
  ): Promise<Result> {
    const waitMs = wait.timeoutMs ?? this.parts.settings.timeoutMs;
    return runOnSession(connection, run, { repeatable: true, waitMs, signal: wait.signal });
  }

  /** Makes one request that may safely run twice, in a span of its own. */
  ask(
    connection: ServerConnection,
    { method, params, ...facts }: AskedRequest,
    wait: WaitOptions,
  ): Promise<Record<string, unknown>> {
    const { timeoutMs, maxTimeoutMs } = this.parts.settings;
    const limits = { timeoutMs: wait.timeoutMs ?? timeoutMs, maxTimeoutMs, signal: wait.signal };
    return this.read(
      connection,
      (session) =>
        this.#trace(session, { method, ...facts }, (meta) =>
          session.request(method, meta === undefined ? params : { ...params, _meta: meta }, limits),
        ),
      wait,
    );
  }

  async callTool(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: CallToolOptions,
  ): Promise<ToolResult> {
    const entry = this.catalog.entry(name) ?? (await this.#find(name, options));
    const startedAt = performance.now();
    // An explicit limit that is longer than the cap raises the cap for this call.
    const limitMs = Math.max(this.parts.settings.maxTimeoutMs, options.timeoutMs ?? 0);
    const attempts: never[] = [];
    const result = await this.pipeline.call({
      tool: entry.info,
      args,
      options,
      principal: this.principal?.name,
      attempts,
      startedAt,
      deadline: startedAt + limitMs,
      patient: true,
      budget: this.parts.validator.createBudget(),
    });
    return { ...result, attempts: Math.max(1, attempts.length), durationMs: performance.now() - startedAt };
  }

  async client(server: string, wait: WaitOptions): Promise<Client> {
    return (await this.pool.require(server).acquire(wait)).client;
  }

  close(): Promise<void> {
    this.#stopUpkeep();
    this.#closing ??= (async () => {
      await this.pool.close();
      await (await this.#http)?.close();
    })();
    return this.#closing;
  }

  async #find(name: string, wait: WaitOptions) {
    await this.bringUp(this.pool.all(), wait);
    const found = this.catalog.entry(name);
    if (found !== undefined) return found;
    const { withheld: refused, excluded } = this.catalog.snapshot();
    const withheld = [...refused, ...excluded].find(
      (tool) => tool.name === name || `${tool.server}__${tool.name}` === name,
    );
    if (withheld !== undefined) {
      throw new CatalogError({
        code: "TOOL_WITHHELD",
        server: withheld.server,
        tool: withheld.name,
        what: `The tool is withheld: ${withheld.reason}`,
        next: "Look at the filters, or at withheldTools in snapshot()",
        reason: withheld.reason,
      });
    }
    const suggestions = suggest(
      name,
      this.catalog.tools().map((tool) => tool.name),
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

  #createPipeline(): Pipeline {
    const { settings, telemetry, around, validator, report } = this.parts;
    return createPipeline({
      telemetry,
      around,
      validator,
      configOf: (server) => this.pool.get(server)?.config,
      isDown: (server) => {
        const state = this.pool.get(server)?.state;
        return state === undefined || (state.status === "closed" && state.by !== "idleness");
      },
      interceptors: settings.interceptors,
      approve: settings.approve,
      retry: settings.retry,
      breaker: settings.breaker,
      limits: {
        ...(settings.concurrency !== undefined && { concurrency: settings.concurrency }),
        ...(settings.rateLimit !== undefined && { rateLimit: settings.rateLimit }),
        ...(settings.maxQueue !== undefined && { maxQueue: settings.maxQueue }),
      },
      maxResultBytes: settings.maxResultBytes,
      beforeFallback: settings.beforeFallback,
      findTool: async (server, sourceName, { options, deadline }) => {
        const connection = this.pool.get(server);
        const limitMs = options.timeoutMs ?? connection?.config.timeoutMs ?? settings.timeoutMs;
        const timeoutMs = Math.min(limitMs, deadline - performance.now());
        if (connection !== undefined && !this.catalog.knows(server))
          await connection.acquire({ signal: options.signal, timeoutMs });
        return this.catalog.find(server, sourceName)?.info;
      },
      attempt: {
        connectionOf: (server) => this.pool.require(server),
        sourceOf: (server, sourceName) => this.catalog.find(server, sourceName),
        refresh: (server, { options }) => this.reread(this.pool.require(server), { signal: options.signal }),
        timeoutMs: settings.timeoutMs,
        onProgress: settings.onProgress,
        report,
        trace: ({ call, session }, run) =>
          this.#trace(session, { method: "tools/call", tool: call.tool.sourceName, args: call.args }, run),
      },
    });
  }

  /** Runs one request in a span, and gives it what belongs into its `_meta`. */
  #trace<Result>(
    session: Session,
    facts: Omit<RequestFacts, keyof ServerFacts>,
    run: (meta: TraceMeta | undefined) => Promise<Result>,
  ): Promise<Result> {
    const { telemetry } = this.parts;
    if (!telemetry.isActive) return run(undefined);
    return telemetry.attempt({ ...facts, ...this.#factsOf(session) }, (meta) => run(meta));
  }

  #factsOf({ server, transport, protocolVersion }: Session): ServerFacts {
    const config = this.pool.get(server)?.config;
    const address = config !== undefined && "url" in config ? config.url : undefined;
    return { server, transport, protocolVersion, address };
  }
}
