/** The public interface of a port. `create-toolport.ts` implements it. */
import type { Client } from "@modelcontextprotocol/client";
import type { OAuthStatus } from "./auth/server-oauth.js";
import type { CatalogExport } from "./catalog/exported-catalog.js";
import type { FilterInput } from "./catalog/filters/filter-set.js";
import type { ToolFilters } from "./catalog/filters/filters.js";
import type { ServerEntry } from "./config/server-entry.js";
import type { WaitOptions } from "./connection/server-connection.js";
import type { CallToolOptions, TaskCallOptions } from "./execution/tool-call.js";
import type { ToolResult } from "./execution/tool-result.js";
import type {
  PromptInfo,
  ResourceContents,
  ResourceInfo,
  ResourceTemplateInfo,
} from "./model/resource-info.js";
import type { ToolInfo } from "./model/tool-info.js";
import type { Completion, CompletionArgument, CompletionReference } from "./port/complete.js";
import type { ToolportEvents } from "./port/events.js";
import type { PromptResult } from "./port/get-prompt.js";
import type { InstructionsOptions } from "./port/instructions.js";
import type { OAuthCallbackOptions } from "./port/oauth-callback.js";
import type { PrincipalOptions } from "./port/principal.js";
import type { ConnectReport, ServerReport } from "./port/report.js";
import type { ReadResourceOptions } from "./port/resources/read-resource.js";
import type { TemplateReference } from "./port/resources/resource-address.js";
import type { ResourceListener } from "./port/resources/update-feed.js";
import type { AccessOptions } from "./port/server-access.js";
import type { Skills } from "./port/skills.js";
import type { ToolportSnapshot } from "./port/snapshot.js";
import type { TaskHandle } from "./port/tasks/task-handle.js";

/** What `tools()` takes. */
export interface ToolsOptions extends WaitOptions, ToolFilters {
  /** Only the tools of these servers. @default all */
  servers?: readonly string[];
  /** Every tool, not only those a model is shown: with `deferTools`, and those only for interfaces (MCP Apps). @default false */
  all?: boolean;
}

/** What `connect()` takes. */
export interface ConnectOptions extends WaitOptions {
  /** Only these servers. @default all */
  servers?: readonly string[];
}

/** Many MCP servers behind one handle. Created by {@link createToolport}. */
export interface Toolport extends AsyncDisposable {
  /** Brings up every server that is not ready, all at once. One bad server never hides another. */
  connect(options?: ConnectOptions): Promise<ConnectReport>;
  /** Every tool of every server, connecting those that were never asked for. */
  tools(options?: ToolsOptions): Promise<ToolInfo[]>;
  /** The tools that fit a few words best, of those that are known. */
  searchTools(query: string, options?: { limit?: number } & WaitOptions): Promise<ToolInfo[]>;
  /**
   * Starts a tool as a task and gives back a handle at once. Throws `NOT_OFFERED` if the server or the tool cannot do that.
   *
   * @example
   * ```ts
   * const task = await toolport.callTool("research__report", { topic: "tides" }, { task: true });
   * console.log((await task.status()).message);
   * const { text } = await task.result();
   * ```
   */
  callTool<Structured = unknown>(
    name: string,
    args: Readonly<Record<string, unknown>> | undefined,
    options: TaskCallOptions,
  ): Promise<TaskHandle<Structured>>;
  /** Calls a tool by its public name. Throws only if the call could not be made or its answer is not to be trusted. */
  callTool<Structured = unknown>(
    name: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallToolOptions,
  ): Promise<ToolResult<Structured>>;
  /** The tasks under way, those of earlier processes with the same store too, oldest first. */
  tasks(): Promise<TaskHandle[]>;
  /** A task under way by its id; undefined if there is none. */
  task<Structured = unknown>(id: string): Promise<TaskHandle<Structured> | undefined>;
  /** The skills of a server. Nothing is asked of it before `list()` or `read()`. */
  skills(server: string): Skills;
  resources(options?: WaitOptions): Promise<ResourceInfo[]>;
  resourceTemplates(options?: WaitOptions): Promise<ResourceTemplateInfo[]>;
  /**
   * Reads a resource by its address, or by a template and what to fill in; an address may stand for several contents.
   *
   * @example
   * ```ts
   * await toolport.readResource("docs", "docs://index");
   * await toolport.readResource("docs", { template: "docs://{page}", args: { page: "install" } });
   * ```
   */
  readResource(
    server: string,
    resource: string | TemplateReference,
    options?: ReadResourceOptions,
  ): Promise<ResourceContents[]>;
  /**
   * Tells when a resource changes, until the returned function is called. It outlives the connection: after a loss the
   * subscription is opened again and the listener told once, with `missed: true`, since a change may have gone unseen.
   *
   * @example
   * ```ts
   * const stop = await toolport.subscribe("docs", "docs://index", async ({ server, uri }) => {
   *   const [page] = await toolport.readResource(server, uri);
   *   console.log(page?.text);
   * });
   * await stop();
   * ```
   */
  subscribe(
    server: string,
    uri: string,
    listener: ResourceListener,
    options?: AccessOptions,
  ): Promise<() => Promise<void>>;
  prompts(options?: WaitOptions): Promise<PromptInfo[]>;
  getPrompt(
    server: string,
    name: string,
    args?: Readonly<Record<string, string>>,
    options?: AccessOptions,
  ): Promise<PromptResult>;
  /**
   * What a server proposes for an argument of a prompt or of a resource template that a user has begun to type.
   *
   * @example
   * ```ts
   * const { values } = await toolport.complete("docs", { prompt: "review" }, { name: "file", value: "src/" });
   * ```
   */
  complete(
    server: string,
    ref: CompletionReference,
    argument: CompletionArgument,
    options?: AccessOptions,
  ): Promise<Completion>;
  /**
   * What the servers say about how to use them, a heading for each; empty if none says anything. Toolport puts it
   * nowhere by itself: it comes from the servers, so decide whether you want it in a prompt.
   */
  instructions(options?: InstructionsOptions): Promise<string>;
  /** Adds a server and connects it. Adding the same server again changes nothing. */
  add(name: string, entry: ServerEntry, options?: WaitOptions): Promise<ServerReport>;
  /** Adds a server without connecting it. */
  register(name: string, entry: ServerEntry): void;
  /**
   * Disconnects a server, and deletes what is saved of it: its entry, lists, pins, tasks and logins. On the plain port for
   * all users, on `as(…)` for that user. Tokens are deleted, not revoked: call `logOut()` first for that.
   *
   * @param options `keepState`: keeps all but the entry, to add the server again with other options. Default: false
   */
  remove(name: string, options?: { keepState?: boolean }): Promise<void>;
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
  /**
   * One more filter that every tool must pass. On the plain port it applies to all users; on `as(user)` to that user only.
   *
   * @example
   * ```ts
   * toolport.addFilter({ except: ["delete_*"] }); // no user sees these
   * toolport.as("guest").addFilter({ only: ["read_*"] }); // and the guest sees no more than this
   * ```
   */
  addFilter(filter: FilterInput): void;
  /** Replaces the filters added to this port so far. Those of the options stay, and for a user those of the plain port. */
  setFilters(filters: FilterInput | readonly FilterInput[]): void;
  /** Removes every filter added to this port. Those of the options stay, and for a user those of the plain port. */
  resetFilters(): void;
  /** Accepts changed definitions: of the named tools of a server, or of all. */
  approveTools(server: string, tools?: readonly string[]): Promise<void>;
  /** The catalog as plain JSON, for the option `catalog` of another process. */
  exportCatalog(): CatalogExport;
  /** Tells servers that the roots changed. */
  rootsChanged(): Promise<void>;
  /**
   * Ends a login that `authUrl` began, with the query that the browser came back with, and connects the server.
   *
   * @example
   * ```ts
   * await toolport.finishAuth("weather", new URL(request.url).searchParams);
   * ```
   */
  finishAuth(server: string, params: URLSearchParams, options?: WaitOptions): Promise<ServerReport>;
  /** Answers the request of a browser that comes back from a login; works in any process that shares the store. */
  handleOAuthCallback(request: Request): Promise<Response>;
  /** What the browser sees after a login. */
  configureOAuthCallback(options: OAuthCallbackOptions): void;
  /** How the login at a server stands; undefined where logins are not the port's work. */
  authStatus(server: string): Promise<OAuthStatus | undefined>;
  /** Forgets a server's tokens, and revokes them where the authorization server can do that. */
  logOut(server: string): Promise<void>;
  /** The state of everything, as plain data. */
  snapshot(): ToolportSnapshot;
  /**
   * The same port for one user: connections, caches and credentials of its own. The same name is the same port; headers
   * given again replace the former ones from the next request on.
   */
  as(principal: string, options?: PrincipalOptions): Toolport;
  /**
   * Listens to an event; returns what stops it. A listener that returns promises gets one event at a time (`call`: 100 at
   * once). When 1,000 events wait for it, the oldest are dropped, with a `warning` and a count in `snapshot()`.
   *
   * @example
   * ```ts
   * const stop = toolport.on("notification", async ({ server, method }) => void (await db.insert({ server, method })));
   * ```
   */
  on<Name extends keyof ToolportEvents>(
    event: Name,
    listener: (event: ToolportEvents[Name]) => unknown,
  ): () => void;
  /** The SDK's client of a server, for what Toolport does not wrap. */
  client(server: string, options?: WaitOptions): Promise<Client>;
  /** Ends everything: no process, socket, timer or listener is left. On `as(…)`: everything of that user's. */
  close(): Promise<void>;
}
