/** The public interface of a port. `create-toolport.ts` implements it. */
import type { Client } from "@modelcontextprotocol/client";
import type {
  PromptInfo,
  ResourceContents,
  ResourceInfo,
  ResourceTemplateInfo,
  ToolInfo,
} from "@toolport/base";
import type { OAuthStatus } from "./auth/server-oauth.js";
import type { CatalogExport } from "./catalog/exported-catalog.js";
import type { FilterInput, ToolFilters } from "./catalog/filters.js";
import type { ServerEntry } from "./config/server-entry.js";
import type { WaitOptions } from "./connection/server-connection.js";
import type {
  ResumeInput,
  ResumeOptions,
  Suspended,
  SuspendedForApproval,
} from "./execution/suspend/suspension.js";
import type { CallToolOptions, SuspendCallOptions, TaskCallOptions } from "./execution/tool-call.js";
import type { ToolResult } from "./execution/tool-result.js";
import type { Completion, CompletionArgument, CompletionReference } from "./port/complete.js";
import type { ToolportEvents } from "./port/events.js";
import type { PromptResult } from "./port/get-prompt.js";
import type { InstructionsOptions } from "./port/instructions.js";
import type { OAuthCallbackOptions } from "./port/oauth-callback.js";
import type { PrincipalOptions } from "./port/principal.js";
import type { ConnectReport, ServerReport } from "./port/report.js";
import type { TemplateReference } from "./port/resources/read-resource.js";
import type { ResourceListener } from "./port/resources/subscriptions.js";
import type { AccessOptions, ReadResourceOptions } from "./port/server-access.js";
import type { Skills } from "./port/skills.js";
import type { ToolportSnapshot } from "./port/snapshot.js";
import type { TaskHandle } from "./port/tasks/port-tasks.js";
import type { CostOptions, ToolCosts } from "./port/tool-costs.js";

/** Options of `tools()`. */
export interface ToolsOptions extends WaitOptions, ToolFilters {
  /** Only the tools of these servers. @default all */
  servers?: readonly string[];
  /** Return every tool, not only those that models see: with `deferTools`, and tools that only an interface may call (MCP Apps). @default false */
  all?: boolean;
  /** Return the tools that `deferTools` hides from models, instead of those that they see. @default false */
  deferred?: boolean;
}

/** Options of `connect()`. */
export interface ConnectOptions extends WaitOptions {
  /** Connect only these servers. @default all */
  servers?: readonly string[];
}

/** Many MCP servers behind one object. Created by {@link createToolport}. */
export interface Toolport extends AsyncDisposable {
  /** Connects all servers that are not ready, at the same time. A server that fails does not affect the others. */
  connect(options?: ConnectOptions): Promise<ConnectReport>;
  /** Lists the tools of all servers. Connects servers that have not been listed yet. */
  tools(options?: ToolsOptions): Promise<ToolInfo[]>;
  /**
   * Finds the tools that match the words of `query` best. Tools whose exact name stands in the query come first, and `limit` cuts
   * none of them.
   */
  searchTools(query: string, options?: { limit?: number } & WaitOptions): Promise<ToolInfo[]>;
  /**
   * What the definitions of the tools cost a model in tokens: estimated by their size, or counted by `count`.
   *
   * @example
   * ```ts
   * const { tokens, servers } = await toolport.cost();
   * console.log(tokens, servers.files?.tokens);
   * ```
   */
  cost(options?: CostOptions): Promise<ToolCosts>;
  /**
   * Starts a tool as a task and returns a handle at once. Throws `NOT_OFFERED` if the server or the tool does not support tasks.
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
  /**
   * Calls a tool that may have to wait for a person: for an answer, an approval or a login. The call is then saved in the store
   * and returned with a token, and no process has to run until {@link Toolport.resume}. Every round is sent at most once.
   *
   * @example
   * ```ts
   * const out = await toolport.callTool("travel__book", { to: "Oslo" }, { suspend: true });
   * if (isSuspended(out)) console.log(out.reason, out.token);
   * else console.log(out.text);
   * ```
   */
  callTool<Structured = unknown>(
    name: string,
    args: Readonly<Record<string, unknown>> | undefined,
    options: SuspendCallOptions,
  ): Promise<(ToolResult<Structured> & { readonly suspended?: undefined }) | Suspended>;
  /** Calls a tool by its public name. Throws if the call fails or its result is invalid. A result with `isError` is returned. */
  callTool<Structured = unknown>(
    name: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallToolOptions,
  ): Promise<ToolResult<Structured>>;
  /** Lists the running tasks, oldest first, including those of earlier processes with the same store. */
  tasks(): Promise<TaskHandle[]>;
  /** Finds a running task by its id. */
  task<Structured = unknown>(id: string): Promise<TaskHandle<Structured> | undefined>;
  /**
   * Continues a suspended call with the decision of a person, in this process or any other with the same store. Returns the
   * result, or the next suspension. The token works once; a call that could not be sent keeps it.
   *
   * @example
   * ```ts
   * await toolport.resume(token, { answers: { seat: { action: "accept", content: { row: 12 } } } });
   * await toolport.resume(token, { approve: true });
   * ```
   */
  resume<Structured = unknown>(
    token: string,
    answer?: ResumeInput,
    options?: ResumeOptions,
  ): Promise<(ToolResult<Structured> & { readonly suspended?: undefined }) | Suspended>;
  /**
   * Asks the option `approve` about a call and sends nothing. If a person has to decide, the call is saved and returned with its
   * token; otherwise the result is undefined. For frameworks that ask for approval before they make the call. With a `key`, the
   * same call is found again by `callTool(…, { suspend: { key } })`. Interceptors run too, up to their call of `next`.
   *
   * @example
   * ```ts
   * const waiting = await toolport.requestApproval("bank__pay", { amount: 5 }, { suspend: { key: "order-7" } });
   * if (waiting) await toolport.resume(waiting.token, { approve: true });
   * ```
   */
  requestApproval(
    name: string,
    args?: Readonly<Record<string, unknown>>,
    options?: SuspendCallOptions,
  ): Promise<SuspendedForApproval | undefined>;
  /** The calls of this principal that wait for a person, oldest first, with their tokens. */
  suspended(): Promise<Suspended[]>;
  /** Gives up a suspended call. Nothing is sent. Throws `SUSPENSION_UNKNOWN` if no such call waits. */
  discard(token: string, options?: Pick<ResumeInput, "answeredBy">): Promise<void>;
  /** The skills of a server. Sends nothing before `list()` or `read()`. */
  skills(server: string): Skills;
  resources(options?: WaitOptions): Promise<ResourceInfo[]>;
  resourceTemplates(options?: WaitOptions): Promise<ResourceTemplateInfo[]>;
  /**
   * Reads a resource by its URI, or by a template and its variables. A URI may refer to several contents.
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
   * Notifies the listener when a resource changes, until the returned function is called. Toolport subscribes again after a
   * reconnect, and then calls the listener once with `missed: true`, because it may have missed a change.
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
   * Asks a server to complete an argument of a prompt or of a resource template.
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
   * The instructions of the servers, each under a heading; empty if there are none. They are written by the servers, so
   * Toolport adds them to no prompt: decide whether yours should contain them.
   */
  instructions(options?: InstructionsOptions): Promise<string>;
  /** Adds a server and connects it. Adding the same server again has no effect. */
  add(name: string, entry: ServerEntry, options?: WaitOptions): Promise<ServerReport>;
  /** Adds a server without connecting it. */
  register(name: string, entry: ServerEntry): void;
  /**
   * Disconnects a server and deletes everything saved about it: its entry, lists, pins, tasks, suspended calls and logins.
   * On the plain port this applies to all users, on `as(…)` to that user. Tokens are deleted, but not revoked: call `logOut()` first to revoke them.
   *
   * @param options `keepState`: delete only the entry, to add the server again with other options. Default: false
   */
  remove(name: string, options?: { keepState?: boolean }): Promise<void>;
  /** Connects one server and resets its circuit breaker. */
  connectServer(name: string, options?: WaitOptions): Promise<ServerReport>;
  /** Reads the lists of a server again. */
  discover(name: string, options?: WaitOptions): Promise<ServerReport>;
  /**
   * Reads the lists of one server, or of all ready servers, again. Returns the tools of these servers that pass the filters,
   * including those that are deferred or for interfaces only.
   *
   * @example
   * ```ts
   * const tools = await toolport.refresh("weather");
   * console.log(tools.map(({ name }) => name));
   * ```
   */
  refresh(name?: string, options?: WaitOptions): Promise<ToolInfo[]>;
  /** Disconnects one server, or all. A server stays disconnected until you connect it. */
  disconnect(name?: string): Promise<void>;
  /** Pings a server and returns the round-trip time. */
  ping(name: string, options?: WaitOptions): Promise<{ ms: number }>;
  /**
   * Adds a filter that every tool must pass. On the plain port it applies to all users, on `as(user)` to that user only.
   *
   * @example
   * ```ts
   * toolport.addFilter({ except: ["delete_*"] }); // no user sees these
   * toolport.as("guest").addFilter({ only: ["read_*"] }); // and the guest sees no more than this
   * ```
   */
  addFilter(filter: FilterInput): void;
  /** Replaces the filters added to this port. Filters of the options stay, and for a user those of the plain port. */
  setFilters(filters: FilterInput | readonly FilterInput[]): void;
  /** Removes the filters added to this port. Filters of the options stay, and for a user those of the plain port. */
  resetFilters(): void;
  /** Accepts changed tool definitions of a server: of the named tools, or of all. */
  approveTools(server: string, tools?: readonly string[]): Promise<void>;
  /** Exports the catalog as plain JSON, for the option `catalog` of another process. */
  exportCatalog(): CatalogExport;
  /** Notifies the servers that the roots changed. */
  rootsChanged(): Promise<void>;
  /**
   * Finishes the login that began with `authUrl`, with the query of the callback request, and connects the server.
   *
   * @example
   * ```ts
   * await toolport.finishAuth("weather", new URL(request.url).searchParams);
   * ```
   */
  finishAuth(server: string, params: URLSearchParams, options?: WaitOptions): Promise<ServerReport>;
  /** Handles the callback request of a login. Works in any process that shares the store. */
  handleOAuthCallback(request: Request): Promise<Response>;
  /** Sets what the browser shows after a login. */
  configureOAuthCallback(options: OAuthCallbackOptions): void;
  /** The status of the login at a server; undefined if Toolport does not handle logins for it. */
  authStatus(server: string): Promise<OAuthStatus | undefined>;
  /** Deletes the tokens of a server, and revokes them if the authorization server supports that. */
  logOut(server: string): Promise<void>;
  /** The state of the port as plain data. */
  snapshot(): ToolportSnapshot;
  /**
   * A port for one user, with its own connections, caches and credentials. The same name returns the same port; new headers
   * replace the previous ones from the next request on.
   */
  as(principal: string, options?: PrincipalOptions): Toolport;
  /**
   * Listens to an event; returns a function that stops it. A listener that returns promises gets one event at a time
   * (`call`: up to 100). When 1,000 events wait for it, the oldest are dropped, with a `warning` and a count in `snapshot()`.
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
  /** The SDK client of a server, for features that Toolport does not wrap. */
  client(server: string, options?: WaitOptions): Promise<Client>;
  /** Closes everything: all connections, processes, sockets, timers and listeners. On `as(…)`: those of that user. */
  close(): Promise<void>;
}
