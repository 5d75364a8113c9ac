/** One port: the connections, the catalog and the pipeline of one principal. */

import type { Client } from "@modelcontextprotocol/client";
import type { CatalogEntry } from "../catalog/build-snapshot.js";
import type { Catalog } from "../catalog/catalog.js";
import { toDiscoveryError } from "../catalog/discovery-error.js";
import { extendFilterSet, type FilterSet } from "../catalog/filters/filter-set.js";
import type { ListKey } from "../catalog/server-lists.js";
import type { NetworkConfig } from "../config/read-network.js";
import type { ServerConfig } from "../config/server-config.js";
import type { ConnectionPool } from "../connection/connection-pool.js";
import { runOnSession } from "../connection/run-on-session.js";
import type { ServerConnection, WaitOptions } from "../connection/server-connection.js";
import { startUpkeep } from "../connection/upkeep.js";
import { ConnectionError } from "../errors/connection-error.js";
import type { AnyCallOptions, CallAttempt, CallRelay } from "../execution/tool-call.js";
import type { ToolResult } from "../execution/tool-result.js";
import type { ServerRequests } from "../protocol/server-requests/server-requests.js";
import type { Session } from "../protocol/session.js";
import type { TraceMeta } from "../telemetry/open-telemetry.js";
import type { RequestFacts, ServerFacts } from "../telemetry/open-telemetry-attributes.js";
import type { HttpClient } from "../transports/server-transport.js";
import { bringUp } from "./bring-up.js";
import { findTool } from "./find-tool.js";
import { HttpClients } from "./http-clients.js";
import type { LeanParts } from "./lean/lean-parts.js";
import type { NeedOptions } from "./lean/port-lists.js";
import { createPortCatalog } from "./port-catalog.js";
import { createPortOAuth, type PortOAuth } from "./port-oauth.js";
import type { PortOwner } from "./port-owner.js";
import { createPortPool } from "./port-pool.js";
import { PortServers } from "./port-servers.js";
import { PortServices } from "./port-services.js";
import type { Principal } from "./principal.js";
import { PortSaved } from "./saved/port-saved.js";
import type { ServerRead } from "./server-access.js";
import type { SharedParts } from "./shared-parts.js";
import type { SuspendableRun, SuspensionCounts } from "./suspensions/call-rounds.js";

/** The state of one port. `create-toolport.ts` adds the public methods. */
export class Port extends PortServices {
  readonly parts: SharedParts;
  readonly principal: Principal | undefined;
  /** All ports, this one included. */
  readonly all: () => readonly Port[];
  readonly pool: ConnectionPool;
  readonly catalog: Catalog;
  readonly filters: FilterSet;
  readonly serverRequests: ServerRequests;
  readonly oauth: PortOAuth;
  readonly saved: PortSaved | undefined;
  /** Lists are read when they are needed. */
  readonly isLean: boolean;
  readonly suspensionCounts: SuspensionCounts = { suspended: 0, resumed: 0, discarded: 0 };
  readonly #stopUpkeep: () => void;
  readonly #servers: PortServers = new PortServers(this);
  readonly #clients: HttpClients;
  readonly #lean: () => LeanParts | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: SharedParts, owner: PortOwner<Port> = {}) {
    super();
    const { settings } = parts;
    const { principal, parent, all = () => [this], filters, isLean = false, lean = () => undefined } = owner;
    this.parts = parts;
    this.isLean = isLean;
    this.#lean = lean;
    this.#clients = new HttpClients(parts);
    this.principal = principal;
    this.all = all;
    this.filters = filters ?? (principal === undefined ? parts.filters : extendFilterSet(parts.filters));
    this.serverRequests = parts.serverRequestsFor(principal?.name);
    this.catalog = createPortCatalog(this);
    this.oauth = createPortOAuth(this);
    this.pool = createPortPool(this);
    // Reports what is wrong with their options, and counts the failures of servers before the first call.
    if (!isLean) void [this.pipeline, this.own];
    if (settings.catalog !== undefined) this.catalog.restore(settings.catalog);
    this.saved = settings.isSaved ? new PortSaved(this, parent) : undefined;
    this.#stopUpkeep = startUpkeep(this.pool, {
      healthCheckMs: settings.healthCheck?.intervalMs,
      idleTimeoutMs: settings.idleTimeoutMs,
    });
  }

  protected host(): this {
    return this;
  }

  /** What only gateways use. */
  override get lean(): LeanParts {
    return this.#lean()!;
  }

  /** Throws once the port is closed. */
  assertOpen(): void {
    if (this.#closing === undefined) return;
    throw new ConnectionError({
      code: "CLOSED",
      what: "This port is closed",
      next: "Create a new one",
      outcome: "unsent",
    });
  }

  /** The HTTP client for a server, created on first use. */
  http(config: ServerConfig | NetworkConfig): Promise<HttpClient> {
    return this.#clients.for(config);
  }

  /** Throws if the port is closed. Undefined if there is nothing to wait for. */
  opened(): Promise<void> | undefined {
    this.assertOpen();
    if (this.saved?.isRestoring !== true && !this.catalog.isRestoring) return undefined;
    return this.restored().then(() => this.assertOpen());
  }

  /** Waits until saved and exported lists are restored. */
  async restored(): Promise<void> {
    await this.saved?.restored;
    await this.catalog.restored();
  }

  /** Adds a server, unless the same server exists. */
  register(config: ServerConfig): void {
    this.assertOpen();
    this.#servers.register(config);
  }

  /** Adds a saved server, unless the program has one of this name. */
  restore(config: ServerConfig): void {
    if (this.#closing === undefined) this.#servers.restore(config);
  }

  /** Removes a server from this port. Its records stay in the store. */
  remove(name: string): Promise<void> {
    return this.#servers.remove(name);
  }

  /** True if the server came from the store and the program has not named it since. */
  isRestored(name: string): boolean {
    return this.#servers.isRestored(name);
  }

  /** The ports that get their servers from this one. */
  others(): readonly Port[] {
    return this.principal === undefined ? this.all().filter((port) => port !== this) : [];
  }

  configs(): ServerConfig[] {
    return this.pool.configs();
  }

  /** The named servers, or all. */
  choose(names: readonly string[] | undefined): ServerConnection[] {
    return names === undefined ? this.pool.all() : names.map((name) => this.pool.require(name));
  }

  /** Makes a list of these servers known, within a time limit. Servers that fail or are late keep the lists they had. */
  need(list: ListKey, options?: NeedOptions): Promise<void> {
    return this.lists.need(list, options);
  }

  /** The tool of this public name. Connects and lists as few servers as possible. */
  async findForCall(name: string, wait: WaitOptions = {}): Promise<CatalogEntry> {
    await this.opened();
    return this.catalog.entry(name) ?? (this.isLean ? this.lean.findForCall : findTool)(this, name, wait);
  }

  /** Frees what an idle user does not need: closes connections over HTTP that have been idle for this long. */
  rest(idleMs: number): void {
    if (!this.isLean || this.#closing !== undefined || this.isListening) return;
    this.pool.rest(idleMs);
    if (this.pool.created().length === 0 && this.oauth.isUnused)
      this.#clients.close().catch(this.parts.report);
  }

  /** Listens for changes of lists until the returned function is called. */
  listen(): () => void {
    return this.lists.listen();
  }

  bringUp(connections: readonly ServerConnection[], wait: WaitOptions): Promise<unknown> {
    return (this.isLean ? this.lean.bringUp : bringUp)(this, connections, wait);
  }

  /** Connects a server and makes its tools known. */
  async listed(
    connection: ServerConnection,
    wait: WaitOptions & { patient?: boolean | undefined },
  ): Promise<void> {
    await connection.acquire(wait);
    if (this.isLean) await this.lists.provide(connection.name, "tools");
  }

  /** Reads the lists of a server again. */
  reread(connection: ServerConnection, wait: WaitOptions = {}): Promise<void> {
    const read = (session: Session) =>
      this.isLean ? this.lean.reread(this, session, wait) : this.catalog.read(session, wait);
    const reading = this.read(connection, read, wait);
    return reading.catch((error: unknown) => {
      throw toDiscoveryError(error, connection.name);
    });
  }

  /** Runs an operation that may run twice. */
  read<Result>(
    connection: ServerConnection,
    run: (session: Session) => Promise<Result>,
    wait: WaitOptions,
  ): Promise<Result> {
    const waitMs = wait.timeoutMs ?? this.parts.settings.timeoutMs;
    return runOnSession(connection, run, { repeatable: true, waitMs, signal: wait.signal });
  }

  /** Sends one request that may run twice, in a span of its own. */
  ask(
    connection: ServerConnection,
    { method, params, ...facts }: ServerRead,
    wait: WaitOptions,
  ): Promise<Record<string, unknown>> {
    const { timeoutMs, maxTimeoutMs } = this.parts.settings;
    const limits = { timeoutMs: wait.timeoutMs ?? timeoutMs, maxTimeoutMs, signal: wait.signal };
    return this.read(
      connection,
      (session) =>
        this.trace(session, { method, ...facts }, (meta) =>
          session.request(method, meta === undefined ? params : { ...params, _meta: meta }, limits),
        ),
      wait,
    );
  }

  async callTool(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: AnyCallOptions,
  ): Promise<ToolResult> {
    const entry = this.catalog.entry(name) ?? (await findTool(this, name, options));
    return this.run(entry, args, options);
  }

  /** @param round set for a call that may be suspended, and for one of a gateway's client */
  async run(
    entry: CatalogEntry,
    args: Readonly<Record<string, unknown>>,
    options: AnyCallOptions,
    round?: Partial<SuspendableRun> & { readonly relay?: CallRelay },
  ): Promise<ToolResult> {
    const startedAt = performance.now();
    // An explicit timeout longer than the maximum raises the maximum for this call.
    const limitMs = Math.max(this.parts.settings.maxTimeoutMs, options.timeoutMs ?? 0);
    const attempts: CallAttempt[] = [];
    const handle = round?.suspension?.isApprovalOnly ? this.pipeline.approval : this.pipeline.call;
    const result = await handle({
      tool: entry.info,
      args,
      added: options.added,
      options,
      task: round?.task,
      suspension: round?.suspension,
      relay: round?.relay,
      principal: this.principal?.name,
      attempts,
      startedAt,
      deadline: startedAt + limitMs,
      patient: true,
      budget: this.parts.validator.createBudget(),
    });
    return { ...result, attempts: attempts.length, durationMs: performance.now() - startedAt };
  }

  async client(server: string, wait: WaitOptions): Promise<Client> {
    return (await this.pool.require(server).acquire(wait)).client();
  }

  close(): Promise<void> {
    this.#stopUpkeep();
    this.#closing ??= (async () => {
      await Promise.all([this.closeServices(), this.pool.close(), this.saved?.stop()]);
      await this.#clients.close();
    })();
    return this.#closing;
  }

  /** Runs one request in a span, with the trace context for its `_meta`. */
  trace<Result>(
    session: Session,
    facts: Omit<RequestFacts, keyof ServerFacts>,
    run: (meta: TraceMeta | undefined) => Promise<Result>,
  ): Promise<Result> {
    const { telemetry } = this.parts;
    if (!telemetry.isActive) return run(undefined);
    return telemetry.attempt({ ...facts, ...this.factsOf(session) }, (meta) => run(meta));
  }

  /** Attributes of a session for spans and metrics. */
  factsOf({ server, transport, protocolVersion }: Session): ServerFacts {
    const config = this.pool.configOf(server);
    const address = config !== undefined && "url" in config ? config.url : undefined;
    return { server, transport, protocolVersion, address };
  }
}
