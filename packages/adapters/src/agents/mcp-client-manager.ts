/** The servers of one agent, under the method names of Cloudflare's agents. */
import type {
  ClientOptions,
  Prompt,
  Resource,
  ResourceTemplateType as ResourceTemplate,
  ServerCapabilities,
  Tool,
} from "@modelcontextprotocol/client";
import { canParseUrl, definedFields, StateError, toToolportError } from "@toolport/base";
import {
  createToolport,
  type OAuthCallbackOptions,
  type ServerReport,
  type ServerSnapshot,
  type Toolport,
  type ToolportOptions,
  type ToolportSnapshot,
} from "@toolport/core";
import type { ToolSet } from "ai";
import type { ForModelOption } from "../for-model.js";
import {
  normaliseUrl,
  printOf,
  ServerRecords,
  type ServerRegistration,
  type TransportOptions,
  toServerEntry,
} from "./server-records.js";
import { AiTools, isOffered } from "./to-tools.js";

/**
 * The state of a connection, in the order in which it connects; `authenticating` only if the user has to log in
 * first.
 */
export type MCPConnectionState =
  | "authenticating"
  | "connecting"
  | "connected"
  | "discovering"
  | "ready"
  | "failed";

/** How `connectToServer()` ended. */
export type MCPConnectionResult =
  | { state: "failed"; error: string }
  | { state: "authenticating"; authUrl: string }
  | { state: "connected" };

/** How `discoverIfConnected()` ended. */
export type MCPDiscoverResult = {
  success: boolean;
  state: MCPConnectionState;
  error?: string;
};

/** What `getMcpServers()` returns. */
export interface MCPServersState {
  /** By the id that `addMcpServer()` returned. */
  servers: Record<
    string,
    {
      name: string;
      /** Without its query, which may contain a key. */
      server_url: string;
      auth_url: string | null;
      state: MCPConnectionState;
      capabilities: ServerCapabilities | null;
      instructions: string | null;
    }
  >;
  /** With their names on the servers. */
  tools: Array<Tool & { serverId: string }>;
  prompts: Array<Prompt & { serverId: string }>;
  resources: Array<Resource & { serverId: string }>;
  resourceTemplates: Array<ResourceTemplate & { serverId: string }>;
}

/** Options that the manager sets itself: tool names begin with the id of their server, and servers are added one by one. */
type ManagersOwn =
  | "mcpServers"
  | "prefix"
  | "additionalToolNamePrefix"
  | "toolNameMapper"
  | "catalog"
  | "callbackUrl"
  | "onServerError"
  | "requiredTools";

/** Options of {@link McpClientManager}: those of `createToolport` that make sense for an agent, and its own. */
export interface McpClientManagerOptions extends Omit<ToolportOptions, ManagersOwn> {
  /**
   * What happens to servers that were saved in `store`: connected at once, connected when one of
   * their tools is called, or ignored.
   * @default "connect"
   */
  restore?: "connect" | "lazy" | false;
  /**
   * The owner of these servers and logins, if several agents share a store.
   * @default none: agents that share the store share the servers
   */
  principal?: string;
  /**
   * Limits the text of a result that the model gets from a tool of `getAITools()`. With it, the tool `read_artifact` is offered beside the
   * others. See docs/calls.md#results-for-models.
   * @default false: models get every result whole
   * @example
   * ```ts
   * new McpClientManager({ forModel: { bytes: 100_000 }, deferTools: { mode: "auto" } });
   * ```
   */
  forModel?: ForModelOption;
}

/** Options of {@link McpClientManager.addServer}. */
export interface AddServerOptions {
  /** The URL to which the browser returns after a login. @default none: servers that need a login fail */
  callbackUrl?: string | undefined;
  client?: ClientOptions | undefined;
  transport?: TransportOptions | undefined;
}

/** The result of `addMcpServer()`: the server is ready, or the user has to log in first. */
export type AddMcpServerResult =
  | { id: string; state: "authenticating"; authUrl: string }
  | { id: string; state: "ready"; authUrl?: undefined };

/** The default of Cloudflare's agents. */
const DISCOVERY_TIMEOUT_MS = 15_000;

/**
 * Registers, connects, discovers and disconnects the servers of an agent, and returns their tools for the AI SDK.
 *
 * @example
 * ```ts
 * const mcp = new McpClientManager();
 * await mcp.registerServer("weather", { name: "Weather", url: "https://example.com/mcp", callbackUrl: "" });
 * await mcp.connectToServer("weather");
 * const tools = mcp.getAITools();
 * ```
 */
export class McpClientManager implements AsyncDisposable {
  /** The underlying port, for everything that has no method here. */
  readonly toolport: Toolport;
  /** Resolves when the saved servers are restored; they are connected after that. Never rejects. */
  readonly restored: Promise<void>;
  readonly #root: Toolport;
  readonly #records: ServerRecords;
  /** Servers that the program has named. They take precedence over saved ones. */
  readonly #named = new Set<string>();
  /** Registrations and removals, one after the other. */
  #changes: Promise<unknown> = Promise.resolve();
  readonly #ai = new AiTools();
  readonly #forModel: ForModelOption;
  /** The saved servers cannot be read because their key is missing. */
  #lostKey: StateError | undefined;

  constructor(given: McpClientManagerOptions = {}) {
    const { principal, restore = "connect", forModel = false, ...options } = given;
    this.#forModel = forModel;
    this.#root = createToolport({ ...options, restore: restore === false ? false : "lazy" });
    this.toolport = principal === undefined ? this.#root : this.#root.as(principal);
    const warn = (message: string) => options.logger?.warn(message);
    this.#records = new ServerRecords(options.store, principal, warn);
    this.restored = restore === false ? Promise.resolve() : this.#restore(restore === "connect");
  }

  /** Adds a server without connecting it. Adding it again as it was changes nothing; otherwise it is replaced. */
  async registerServer(id: string, options: ServerRegistration): Promise<string> {
    await this.#change(() => this.#register(id, options));
    return id;
  }

  /**
   * Adds a server and connects it. The same name and address mean the same server: its id stays, an open connection
   * is kept, and a failed one is tried again.
   *
   * @throws ToolportError if it cannot be connected; see `isUnauthorized` and `isTransportNotImplemented`
   */
  async addServer(name: string, url: string, options: AddServerOptions = {}): Promise<AddMcpServerResult> {
    const { callbackUrl = "", client: clientOptions, transport: transportOptions } = options;
    const id = await this.#change(async () => {
      const serverId = this.#records.idFor(name, url);
      const registration = { name, url, callbackUrl, clientOptions, transportOptions };
      await this.#register(serverId, definedFields(registration));
      return serverId;
    });
    const { error, state, authUrl } = await this.#connect(id);
    if (error === undefined) return { id, state: "ready" };
    if (state === "authenticating" && authUrl !== undefined) return { id, state, authUrl };
    throw error;
  }

  /**
   * Connects a registered server and reads its lists. Its states are `connecting`, `connected`, `discovering` and
   * finally `ready`.
   */
  async connectToServer(id: string): Promise<MCPConnectionResult> {
    const { error, state, authUrl } = await this.#connect(id);
    if (error === undefined) return { state: "connected" };
    if (state === "authenticating" && authUrl !== undefined) return { state, authUrl };
    return { state: "failed", error: error.message };
  }

  /**
   * Reads the lists of a server again; undefined if it is not connected.
   *
   * @param options `timeoutMs`: 15 seconds if it is not given
   */
  async discoverIfConnected(
    serverId: string,
    options: { timeoutMs?: number } = {},
  ): Promise<MCPDiscoverResult | undefined> {
    await this.restored;
    const status = () => toConnectionState(this.toolport.snapshot().servers[serverId]?.state ?? "idle");
    if (!["connected", "discovering", "ready"].includes(status())) return undefined;
    const { timeoutMs = DISCOVERY_TIMEOUT_MS } = options;
    try {
      await Promise.all([this.toolport.discover(serverId, { timeoutMs }), this.#ai.load()]);
      return { success: true, state: status() };
    } catch (error) {
      return { success: false, state: status(), error: toToolportError(error).message };
    }
  }

  /** Disconnects a server; it stays registered. */
  async closeConnection(id: string): Promise<void> {
    await this.restored;
    await this.toolport.disconnect(id);
  }

  /** Disconnects all servers; they stay registered. */
  async closeAllConnections(): Promise<void> {
    await this.restored;
    await this.toolport.disconnect();
  }

  /** Removes a server and its saved state, including its login. Does nothing if there is no such server. */
  async removeServer(id: string): Promise<void> {
    await this.#change(async () => {
      if (this.#isKnown(id)) {
        // Tokens that cannot be revoked are deleted anyway.
        await this.toolport.logOut(id).catch(() => {});
        await this.toolport.remove(id);
      }
      this.#named.delete(id);
      await this.#records.delete(id);
    });
  }

  /**
   * The state of every server, and what the servers offer.
   *
   * @throws StateError `KEY_MISMATCH` if saved servers cannot be read
   */
  getMcpServers(): MCPServersState {
    this.#assertReadable();
    return toServersState(this.toolport.snapshot(), (id) => this.#nameOf(id));
  }

  /**
   * The currently known tools for the AI SDK, each named `<id of its server>__<name on the server>`. Includes tools of servers that
   * are connecting, if their lists are known. Excludes tools of servers that failed, are disconnected or require a
   * login. With the option `deferTools`, the tools that it hides are reached through `search_tools` and `call_tool`; with `forModel`,
   * `read_artifact` reads on in results that were cut.
   *
   * @throws ConfigError if the package `ai` is not installed, StateError `KEY_MISMATCH` if saved servers cannot be read
   */
  getAITools(): ToolSet {
    this.#assertReadable();
    return this.#ai.of(this.toolport, this.#forModel, (id) => this.#nameOf(id));
  }

  /** Sets the page that a browser sees after a login. Without it, a page shows the result. */
  configureOAuthCallback(options: OAuthCallbackOptions): void {
    this.toolport.configureOAuthCallback(options);
  }

  /** Whether a request is the callback of a login to one of the servers. Call it after {@link restored}. */
  isCallbackRequest(request: Pick<Request, "url">): boolean {
    if (!canParseUrl(request.url)) return false;
    const { pathname } = new URL(request.url);
    return this.#records.ids.some((id) => {
      const url = this.#records.get(id)?.callbackUrl ?? "";
      return canParseUrl(url) && new URL(url).pathname === pathname;
    });
  }

  /** Completes a login, responds to the browser, and connects the server. */
  async handleCallbackRequest(request: Request): Promise<Response> {
    await this.restored;
    return this.toolport.handleOAuthCallback(request);
  }

  /** Closes all connections. Saved servers stay in the store, which stays open. */
  async close(): Promise<void> {
    await this.#root.close();
    await this.restored;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #assertReadable(): void {
    if (this.#lostKey !== undefined) throw this.#lostKey;
  }

  #nameOf(id: string): string {
    return this.#records.get(id)?.name ?? id;
  }

  #isKnown(id: string): boolean {
    return Object.hasOwn(this.toolport.snapshot().servers, id);
  }

  /** The lists are read while the AI SDK is loaded, so that afterwards `getAITools` need not wait for it. */
  async #connect(id: string): Promise<ServerReport> {
    await this.restored;
    this.#assertReadable();
    const [report] = await Promise.all([this.toolport.connectServer(id), this.#ai.load()]);
    return report;
  }

  async #register(id: string, options: ServerRegistration): Promise<void> {
    this.#assertReadable();
    const before = this.#records.get(id);
    const registration = { ...options, callbackUrl: this.#callbackUrl(id, options.callbackUrl) };
    const entry = toServerEntry(registration);
    const { name, callbackUrl } = registration;
    const record = { name, url: normaliseUrl(options.url), callbackUrl, print: printOf(entry) };
    const isSame = before?.print === record.print && before.callbackUrl === callbackUrl;
    if (isSame && this.#named.has(id) && before.name === name) return;
    if (!isSame && this.#isKnown(id)) await this.toolport.remove(id, { keepState: true });
    this.toolport.register(id, entry);
    try {
      await this.#records.set(id, record);
    } catch (error) {
      await this.toolport.remove(id);
      throw error;
    }
    this.#named.add(id);
  }

  /** The callback URL may be unknown outside a request. It is only needed when a server requires a login. */
  #callbackUrl(id: string, url: string): string {
    const before = this.#records.get(id)?.callbackUrl ?? "";
    const isUp = this.toolport.snapshot().servers[id]?.state === "ready";
    return url === "" || (isUp && before !== "") ? before : url;
  }

  async #change<Result>(run: () => Promise<Result>): Promise<Result> {
    await this.restored;
    const changed = this.#changes.then(run);
    this.#changes = changed.catch(() => {});
    return changed;
  }

  async #restore(connects: boolean): Promise<void> {
    try {
      // Connects nothing: waits until the port has restored its saved servers and their tools.
      await Promise.all([this.#records.restore(), this.toolport.connect({ servers: [] })]);
    } catch (error) {
      // Otherwise the manager was closed in the meantime.
      if (StateError.isInstance(error)) this.#lostKey = error;
      return;
    }
    const saved = this.#records.ids.filter((id) => this.#isKnown(id));
    if (saved.length === 0) return;
    await this.#ai.load();
    if (connects) for (const id of saved) this.toolport.connectServer(id).catch(() => {});
  }
}

function toConnectionState(status: ServerSnapshot["state"]): MCPConnectionState {
  if (status === "idle" || status === "reconnecting") return "connecting";
  return status === "closed" ? "failed" : status;
}

/** @param nameOf the name to show for an id */
function toServersState(snapshot: ToolportSnapshot, nameOf: (id: string) => string): MCPServersState {
  const { servers, tools, prompts, resources, resourceTemplates } = snapshot;
  return {
    servers: Object.fromEntries(
      Object.entries(servers).map(([id, server]) => [id, serverState(server, nameOf(id))]),
    ),
    tools: offered(snapshot, tools).map(
      ({ sourceName, ...tool }) => ({ ...tool, name: sourceName }) as never,
    ),
    prompts: offered(snapshot, prompts) as never,
    resources: offered(snapshot, resources) as never,
    resourceTemplates: offered(snapshot, resourceTemplates) as never,
  };
}

/** Lists of servers that are down are left out: they may be out of date. */
function offered<Info extends { server: string; serverId: string }>(
  snapshot: ToolportSnapshot,
  infos: readonly Info[],
): Omit<Info, "server">[] {
  return infos.filter(({ serverId }) => isOffered(snapshot, serverId)).map(({ server: _, ...info }) => info);
}

function serverState(server: ServerSnapshot, name: string): MCPServersState["servers"][string] {
  const { server_url, auth_url, state, capabilities, instructions } = server;
  return { name, server_url, auth_url, state: toConnectionState(state), capabilities, instructions };
}
