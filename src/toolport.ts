/** `createToolport`: the public object. There is no policy here, only doors into the rooms. */
import type { Client } from "@modelcontextprotocol/client";
import type { CatalogExport } from "./catalog/exported-catalog.js";
import type { FilterInput } from "./catalog/filter-set.js";
import { compileFilter, type ToolFilters } from "./catalog/filters.js";
import type { PromptInfo, ResourceInfo, ResourceTemplateInfo } from "./catalog/resource-info.js";
import type { ToolInfo } from "./catalog/tool-info.js";
import { parseServerEntry } from "./config/parse-servers.js";
import type { ServerEntry } from "./config/server-entry.js";
import type { ServerConnection, WaitOptions } from "./connection/server-connection.js";
import { createDeferredView, type DeferredView } from "./deferred-view.js";
import type { ToolportEvents } from "./events.js";
import type { CallToolOptions } from "./execution/tool-call.js";
import type { ToolResult } from "./execution/tool-result.js";
import { getPrompt, type PromptResult } from "./get-prompt.js";
import type { ToolportOptions } from "./options.js";
import { Port } from "./port.js";
import { type Principal, type PrincipalOptions, readPrincipal } from "./principal.js";
import { readOptions } from "./read-options.js";
import { type ResourceContents, readResource } from "./read-resource.js";
import {
  type ConnectReport,
  checkRequiredTools,
  reportOf,
  type ServerReport,
  throwFailures,
} from "./report.js";
import { createSharedParts, type SharedParts } from "./shared-parts.js";
import { type ToolportSnapshot, takeSnapshot } from "./snapshot.js";
import { callSafely } from "./util/call-safely.js";

/** What `tools()` takes. */
export interface ToolsOptions extends WaitOptions, ToolFilters {
  /** Only the tools of these servers. @default all */
  servers?: readonly string[];
  /** With `deferTools`: every tool, not only those a model is shown. @default false */
  all?: boolean;
}

/** What `connect()` takes. */
export interface ConnectOptions extends WaitOptions {
  /** Only these servers. @default all */
  servers?: readonly string[];
}

/** What may be said about reading a resource or getting a prompt. */
export interface AccessOptions extends WaitOptions {
  /** Anything of the caller's; reaches listeners. */
  context?: unknown;
}

/** Many MCP servers behind one handle. Made by {@link createToolport}. */
export interface Toolport extends AsyncDisposable {
  /** Brings up every server that is not ready, all at once. One bad server never hides another. */
  connect(options?: ConnectOptions): Promise<ConnectReport>;
  /** Every tool of every server, connecting those that were never asked for. */
  tools(options?: ToolsOptions): Promise<ToolInfo[]>;
  /** The tools that fit a few words best, of those that are known. */
  searchTools(query: string, options?: { limit?: number } & WaitOptions): Promise<ToolInfo[]>;
  /** Calls a tool by its public name. Throws only if the call could not be made or its answer is not to be trusted. */
  callTool<Structured = unknown>(
    name: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallToolOptions,
  ): Promise<ToolResult<Structured>>;
  resources(options?: WaitOptions): Promise<ResourceInfo[]>;
  resourceTemplates(options?: WaitOptions): Promise<ResourceTemplateInfo[]>;
  /** Reads a resource; a URI may stand for several contents. */
  readResource(server: string, uri: string, options?: AccessOptions): Promise<ResourceContents[]>;
  prompts(options?: WaitOptions): Promise<PromptInfo[]>;
  getPrompt(
    server: string,
    name: string,
    args?: Readonly<Record<string, string>>,
    options?: AccessOptions,
  ): Promise<PromptResult>;
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
  /** One more filter that every tool must pass. */
  addFilter(filter: FilterInput): void;
  /** Replaces the filters added so far; those of the options stay. */
  setFilters(filters: FilterInput | readonly FilterInput[]): void;
  /** Takes back every filter added. */
  resetFilters(): void;
  /** Accepts changed definitions: of the named tools of a server, or of all. */
  approveTools(server: string, tools?: readonly string[]): Promise<void>;
  /** The catalog as plain JSON, for the option `catalog` of another process. */
  exportCatalog(): CatalogExport;
  /** Tells servers that the roots changed. */
  rootsChanged(): Promise<void>;
  /** The state of everything, as plain data. */
  snapshot(): ToolportSnapshot;
  /**
   * The same port for one user: connections, caches and credentials of its own. The same name is the same port; headers
   * given again replace the former ones from the next request on.
   */
  as(principal: string, options?: PrincipalOptions): Toolport;
  /** Listens to an event; returns what stops it. */
  on<Name extends keyof ToolportEvents>(
    event: Name,
    listener: (event: ToolportEvents[Name]) => void,
  ): () => void;
  /** The SDK's client of a server, for what Toolport does not wrap. */
  client(server: string, options?: WaitOptions): Promise<Client>;
  /** Ends everything: no process, socket, timer or listener is left. On `as(…)`: everything of that user's. */
  close(): Promise<void>;
}

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
  return new ToolportRoot(createSharedParts(readOptions(options))).port();
}

/** All ports of one `createToolport`: the plain one, and one per principal. */
class ToolportRoot {
  readonly #parts: SharedParts;
  readonly #ports = new Map<string | undefined, { port: Port; toolport: Toolport }>();

  constructor(parts: SharedParts) {
    this.#parts = parts;
  }

  /** The port of one user, with that user's newest headers. */
  portOf(name: string, options: PrincipalOptions): Toolport {
    const principal = readPrincipal(name, options);
    const known = this.#ports.get(name)?.port;
    // Another provider takes other connections; those made with the old one end with it.
    if (known !== undefined && known.principal?.update(options) === false) {
      this.#ports.delete(name);
      known.close().catch(this.#parts.report);
    }
    return this.port(principal);
  }

  port(principal?: Principal): Toolport {
    const known = this.#ports.get(principal?.name);
    if (known !== undefined) return known.toolport;
    const port = new Port(this.#parts, principal);
    const first = this.#ports.get(undefined);
    const configs =
      first?.port.pool.all().map(({ config }) => config) ?? this.#parts.settings.servers.values();
    for (const config of configs) port.register(config);
    const toolport = openDoors(port, this);
    this.#ports.set(principal?.name, { port, toolport });
    return toolport;
  }

  /** Servers added or removed on the plain port are so for everybody. */
  others(port: Port): Port[] {
    return port.principal === undefined
      ? [...this.#ports.values()].map((entry) => entry.port).filter((it) => it !== port)
      : [];
  }

  async close(port: Port): Promise<void> {
    if (port.principal !== undefined) {
      this.#ports.delete(port.principal.name);
      return port.close();
    }
    await Promise.all([...this.#ports.values()].map((entry) => entry.port.close()));
    this.#parts.close();
  }
}

function openDoors(port: Port, root: ToolportRoot): Toolport {
  const { pool, catalog, filters, parts } = port;
  const { settings } = parts;
  const deferred: DeferredView | undefined = createDeferredView(port);
  let closing: Promise<void> | undefined;

  async function connectOne(connection: ServerConnection, wait: WaitOptions = {}): Promise<ServerReport> {
    const [outcome] = await pool.connect([connection], wait);
    if (wait.signal?.aborted) throw wait.signal.reason;
    if (outcome!.error === undefined) port.pipeline.forgive(connection.name);
    return reportOf(outcome!, catalog);
  }

  function register(name: string, entry: ServerEntry): ServerConnection {
    port.assertOpen();
    const config = parseServerEntry(name, entry);
    for (const other of root.others(port)) other.register(config);
    return port.register(config);
  }

  /** Brings up what is needed for a list. */
  async function listed<Item>(read: () => readonly Item[], wait: WaitOptions = {}): Promise<Item[]> {
    port.assertOpen();
    await port.bringUp(pool.all(), wait);
    return [...read()];
  }

  return {
    async connect({ servers, ...wait } = {}) {
      port.assertOpen();
      const outcomes = await pool.connect(
        port.choose(servers).filter(({ config }) => config.enabled),
        wait,
      );
      if (wait.signal?.aborted) throw wait.signal.reason;
      const failed = outcomes.filter((outcome) => outcome.error !== undefined);
      if (settings.onServerError === "throw") throwFailures(failed.map((outcome) => outcome.error!));
      if (typeof settings.onServerError === "function") {
        const { onServerError } = settings;
        for (const { connection, error } of failed)
          callSafely(() => onServerError({ name: connection.name }, error!), parts.report);
      }
      if (servers === undefined) checkRequiredTools(settings.requiredTools, catalog);
      return {
        servers: Object.fromEntries(
          outcomes.map((outcome) => [outcome.connection.name, reportOf(outcome, catalog)]),
        ),
      };
    },
    async tools({ servers, only, except, filter, all = false, ...wait } = {}) {
      port.assertOpen();
      await port.bringUp(port.choose(servers), wait);
      const isWanted = compileFilter({ only, except, filter });
      const offered = catalog
        .tools()
        .filter(
          (tool) =>
            (servers?.includes(tool.server) ?? true) && isWanted({ name: tool.server }, tool) === undefined,
        );
      if (deferred === undefined || all) return offered;
      return [...deferred.own(servers), ...offered.filter(deferred.isVisible)];
    },
    async searchTools(query, { limit = 10, ...wait } = {}) {
      port.assertOpen();
      await port.bringUp(pool.all(), wait);
      return catalog.search(query, limit).map(({ tool }) => tool);
    },
    async callTool<Structured>(name: string, args = {}, callOptions: CallToolOptions = {}) {
      port.assertOpen();
      const result =
        (await deferred?.call(name, args, callOptions)) ?? (await port.callTool(name, args, callOptions));
      return result as ToolResult<Structured>;
    },
    resources: (wait) => listed(catalog.resources, wait),
    resourceTemplates: (wait) => listed(catalog.resourceTemplates, wait),
    prompts: (wait) => listed(catalog.prompts, wait),
    async readResource(server, uri, access = {}) {
      port.assertOpen();
      return readResource(port, { server, uri }, access);
    },
    async getPrompt(server, name, args = {}, access = {}) {
      port.assertOpen();
      return getPrompt(port, { server, name, args }, access);
    },
    async add(name, entry, wait) {
      return connectOne(register(name, entry), wait);
    },
    register(name, entry) {
      register(name, entry);
    },
    async remove(name) {
      pool.require(name);
      await Promise.all([port, ...root.others(port)].map((each) => each.remove(name)));
    },
    async connectServer(name, wait) {
      port.assertOpen();
      return connectOne(pool.require(name), wait);
    },
    async discover(name, wait) {
      port.assertOpen();
      const connection = pool.require(name);
      const startedAt = performance.now();
      await port.reread(connection, wait);
      return reportOf({ connection, ms: Math.round(performance.now() - startedAt) }, catalog);
    },
    async refresh(name, wait) {
      port.assertOpen();
      const ready = pool.all().filter(({ session }) => session !== undefined);
      const connections = name === undefined ? ready : [pool.require(name)];
      await Promise.all(connections.map((connection) => port.reread(connection, wait)));
    },
    async disconnect(name) {
      const connections = port.choose(name === undefined ? undefined : [name]);
      await Promise.all(connections.map((connection) => connection.disconnect()));
    },
    async ping(name, { signal, timeoutMs = settings.timeoutMs } = {}) {
      port.assertOpen();
      return port.read(
        pool.require(name),
        async (session) => {
          const startedAt = performance.now();
          await session.ping({ timeoutMs, maxTimeoutMs: timeoutMs, signal });
          return { ms: performance.now() - startedAt };
        },
        { signal, timeoutMs },
      );
    },
    addFilter: (filter) => void filters.add(filter),
    setFilters: (input) => void filters.set(input),
    resetFilters: () => void filters.reset(),
    approveTools: (server, tools) => catalog.approve(server, tools),
    exportCatalog: () => catalog.export(),
    rootsChanged: () => port.serverRequests.rootsChanged(),
    snapshot: () => takeSnapshot(port),
    as(principal, principalOptions = {}) {
      port.assertOpen();
      return root.portOf(principal, principalOptions);
    },
    on: (event, listener) => parts.emitter.on(event, listener),
    async client(server, wait = {}) {
      port.assertOpen();
      return port.client(server, wait);
    },
    close() {
      closing ??= root.close(port);
      return closing;
    },
    [Symbol.asyncDispose]() {
      return this.close();
    },
  };
}
