/** What the parts of a port work with: its servers, their lists, and requests that may run twice. */

import {
  CatalogError,
  ConfigError,
  ConnectionError,
  getOrMake,
  type RequestFacts,
  type ServerFacts,
  type TraceMeta,
} from "@toolport/base";
import type { HttpClient } from "@toolport/http/wire-client";
import type { CatalogEntry } from "../catalog/build-snapshot.js";
import { type Catalog, type CatalogOptions, extendFilterSet, type FilterSet } from "../catalog/catalog.js";
import type { NetworkConfig } from "../config/entry-options.js";
import { configIdentity, type ServerConfig } from "../config/server-config.js";
import type { ConnectionPool } from "../connection/connection-pool.js";
import { runOnSession, type ServerConnection, type WaitOptions } from "../connection/server-connection.js";
import type { ArtifactPart } from "../execution/artifacts/artifact-store.js";
import type { CallEvent } from "../execution/listeners.js";
import type { CallSuspension } from "../execution/suspend/call-suspension.js";
import type { TaskRecord } from "../execution/tasks/task-record.js";
import type { AnyCallOptions, CallAnswer, CallerRound, ToolCall } from "../execution/tool-call.js";
import type { ToolResult } from "../execution/tool-result.js";
import type { ServerRequests } from "../protocol/server-requests/server-requests.js";
import type { Session } from "../protocol/session.js";
import type { SessionHooks } from "../protocol/session-hooks.js";
import { PortOAuth } from "./port-oauth.js";
import type { Principal } from "./principal.js";
import { ResourceCache } from "./resources/resource-cache.js";
import type { ServerRead } from "./server-access.js";
import type { SharedParts } from "./shared-parts.js";

/** Set for a call that may be suspended, and for one of a caller with capabilities of its own. */
export interface CallSetup {
  readonly suspension?: CallSuspension | undefined;
  readonly task?: TaskRecord | undefined;
  readonly hooks?: SessionHooks | undefined;
  readonly round?: CallerRound | undefined;
  /** As in `ToolCall`. @internal */
  readonly admitFallback?: ToolCall["admitFallback"];
}

/** Counts of one process. */
export interface SuspensionCounts {
  /** Calls that were suspended, each round counted. */
  suspended: number;
  /** Rounds that were resumed. */
  resumed: number;
  /** Calls that were discarded, or not approved. */
  discarded: number;
}

/** What the configured store keeps of a port. */
export interface SavedRecords {
  /** Settles when the state is restored; never rejects. */
  readonly restored: Promise<void>;
  readonly isRestoring: boolean;
  /** Undefined if the code for it cannot be loaded: the port then works without saved state. */
  readonly state: Promise<SavedChanges | undefined>;
}

interface SavedChanges {
  /** The lists of a server were read. */
  readonly keepLists: NonNullable<CatalogOptions["onRead"]>;
  /** Restores the saved lists of these servers, unless newer ones are known. */
  restoreLists(configs: readonly ServerConfig[]): Promise<void>;
  /** The program removed a server. */
  forgetEntry(name: string): Promise<void>;
  /** Waits for pending writes, which must not follow the deletion of the lists. */
  forgetLists(config: ServerConfig): Promise<void>;
  /** A user has logged in, here or in another process. */
  tokensChanged(): void;
  /** The record of a server was written or deleted. */
  serverChanged(key: string): void;
}

/**
 * When a port reads the lists of a server: all of them when it connects, and again when they have changed; or each one when it is
 * needed. Changes are followed always, or while a caller listens.
 */
export type ListsRead = "connect" | "needed";

/** Whose port it is, and how it relates to the other ports of one `createToolport`. Empty for the plain port. */
export interface PortOwner {
  readonly principal?: Principal | undefined;
  /** All ports, this one included. */
  readonly all?: (() => readonly PortCore[]) | undefined;
  /** @default "connect" */
  readonly reads?: ListsRead | undefined;
  /** Filters of an earlier port of the same user. @default those that apply to all users */
  readonly filters?: FilterSet | undefined;
}

export abstract class PortCore {
  readonly principal: Principal | undefined;
  /** All ports, this one included. */
  readonly all: () => readonly PortCore[];
  readonly reads: ListsRead;
  readonly filters: FilterSet;
  readonly serverRequests: ServerRequests;
  readonly oauth: PortOAuth;
  readonly suspensionCounts: SuspensionCounts = { suspended: 0, resumed: 0, discarded: 0 };
  abstract readonly pool: ConnectionPool;
  abstract readonly catalog: Catalog;
  /** Undefined if the program has configured no store. */
  abstract readonly saved: SavedRecords | undefined;
  protected closing: Promise<void> | undefined;
  /** Servers from the store that the program has not named since. */
  #restored: Set<string> | undefined;
  /** By network options; created on first use. */
  #clients: Map<string, Promise<HttpClient>> | undefined;
  // Created on first use, because many users read nothing.
  #resourceCache: ResourceCache | undefined;
  #artifacts: ArtifactPart | undefined;

  constructor(
    readonly parts: SharedParts,
    { principal, all = () => [this], reads = "connect", filters }: PortOwner,
  ) {
    this.principal = principal;
    this.all = all;
    this.reads = reads;
    this.filters = filters ?? (principal === undefined ? parts.filters : extendFilterSet(parts.filters));
    this.serverRequests = parts.serverRequestsFor(principal?.name);
    this.oauth = new PortOAuth(parts, principal?.name, {
      // The configuration of a connection has the provider of the user.
      configOf: (server) => this.pool.get(server)?.config,
      http: (config) => this.http(config),
    });
  }

  /** Makes the lists of these servers known: connects those that were never listed, or reads what is needed. */
  abstract ensureLists(connections: readonly ServerConnection[], wait: WaitOptions): Promise<unknown>;

  /** The tool of this public name, from its server: connects, or lists, the servers that may have it. */
  abstract findTool(name: string, wait: WaitOptions): Promise<CatalogEntry>;

  abstract callTool(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: AnyCallOptions,
  ): Promise<ToolResult>;

  abstract run(
    entry: CatalogEntry,
    args: Readonly<Record<string, unknown>>,
    options: AnyCallOptions,
    setup?: CallSetup,
  ): Promise<CallAnswer>;

  /** A server was added or removed. */
  protected abstract serversChanged(server: string): void;

  /** Ends what uses a server that will be removed. */
  protected abstract dropServer(server: string): Promise<void>;

  get resourceCache(): ResourceCache {
    this.#resourceCache ??= new ResourceCache();
    return this.#resourceCache;
  }

  /** Texts of results that were too large for a model. */
  get artifacts(): ArtifactPart {
    this.#artifacts ??= this.parts.artifacts.createPart();
    return this.#artifacts;
  }

  /** Throws once the port is closed. */
  assertOpen(): void {
    if (this.closing === undefined) return;
    throw new ConnectionError({
      code: "CLOSED",
      what: "This port is closed",
      next: "Create a new one",
      outcome: "unsent",
    });
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
    const { pool } = this;
    const known = pool.configOf(config.name);
    if (known === undefined) return this.#add(config);
    const connection = pool.peek(config.name);
    const isSame = configIdentity(known) === configIdentity(config);
    // The configuration of the program takes precedence over the saved one.
    if (this.isRestored(config.name) && !(isSame && connection?.session !== undefined)) {
      this.#restored?.delete(config.name);
      if (!isSame) this.catalog.drop(config.name);
      connection?.disconnect().catch(this.parts.report);
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
    if (this.closing !== undefined || this.pool.configOf(config.name) !== undefined) return;
    this.#restored ??= new Set();
    this.#restored.add(config.name);
    this.#add(config);
  }

  /** Removes a server from this port. Its records stay in the store. */
  async remove(name: string): Promise<void> {
    const config = this.pool.configOf(name);
    this.#restored?.delete(name);
    await Promise.all([this.dropServer(name), this.pool.remove(name)]);
    if (config !== undefined) this.oauth.forget(config);
    this.#resourceCache?.forget(name);
    this.catalog.drop(name);
    this.serversChanged(name);
  }

  /** True if the server came from the store and the program has not named it since. */
  isRestored(name: string): boolean {
    return this.#restored?.has(name) === true;
  }

  /** The ports that get their servers from this one. */
  others(): readonly PortCore[] {
    return this.principal === undefined ? this.all().filter((port) => port !== this) : [];
  }

  configs(): ServerConfig[] {
    return this.pool.configs();
  }

  /** Throws if the scan withholds a prompt (by name) or a resource (by URI). */
  assertOffered(server: string, list: "prompts" | "resources", id: string): void {
    const reason = this.catalog.refusalOf(server, list, id);
    if (reason === undefined) return;
    const [code, item] =
      list === "prompts"
        ? (["PROMPT_NOT_FOUND", `prompt ${JSON.stringify(id)}`] as const)
        : (["RESOURCE_NOT_FOUND", `resource ${id}`] as const);
    throw new CatalogError({ code, server, what: `The ${item} is withheld: ${reason}`, reason });
  }

  /** The named servers, or all. */
  choose(names: readonly string[] | undefined): ServerConnection[] {
    return names === undefined ? this.pool.all() : names.map((name) => this.pool.require(name));
  }

  /** The HTTP client for a server: one for each combination of network options. */
  http(config: ServerConfig | NetworkConfig): Promise<HttpClient> {
    const network = this.parts.networkOf(config);
    const key = JSON.stringify([network.proxy, network.maxSockets]);
    this.#clients ??= new Map();
    return getOrMake(this.#clients, key, () => this.parts.createHttp(network));
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

  /** Runs an access of this user to a server, and notifies the listeners before and after it. */
  observe<Result>(access: CallEvent, run: () => Promise<Result>): Promise<Result> {
    return this.parts.observe({ ...access, principal: this.principal?.name }, run);
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

  /** Closes idle sockets, and forgets the HTTP clients that have no others. Later requests get new ones. */
  protected async closeIdleSockets(): Promise<void> {
    for (const [key, opening] of this.#clients ?? []) {
      const client = await opening;
      if (client.closeIdle() && this.#clients?.get(key) === opening) this.#clients.delete(key);
    }
    if (this.#clients?.size === 0) this.#clients = undefined;
  }

  /** Closes the HTTP clients. Later requests get new ones. */
  protected async closeClients(): Promise<void> {
    const clients = [...(this.#clients?.values() ?? [])];
    this.#clients = undefined;
    await Promise.all(clients.map(async (client) => (await client).close()));
  }

  /** A resource of the server changed. @param uri undefined: any may have changed */
  protected forgetResources(server: string, uri?: string): void {
    this.#resourceCache?.forget(server, uri);
  }

  #add(config: ServerConfig): void {
    this.pool.add(config);
    this.serversChanged(config.name);
  }
}
