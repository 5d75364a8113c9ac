/** Adds MCP servers to any class, under the method names of Cloudflare's `Agent`, and a small replacement for that class, on any runtime. */

import { canParseUrl, loadOnce, oncePerObject } from "@toolport/base";
import {
  type DurableObjectSqlStorage,
  type DurableObjectStoreOptions,
  durableObjectStore,
  KEY_VARIABLE,
  type StoreKeys,
} from "@toolport/stores";
import { DurableObjectBase } from "#durable-object";
import {
  type AddMcpServerResult,
  type AddServerOptions,
  type MCPServersState,
  McpClientManager,
  type McpClientManagerOptions,
} from "./mcp-client-manager.js";

/** Options of `addMcpServer()`. */
export type McpServerOptions = Pick<AddServerOptions, "client" | "transport">;

/** What {@link withMcp} adds to a class. */
export interface McpMethods {
  /** The manager of the servers, for finer control. Created on first use. */
  readonly mcp: McpClientManager;
  /**
   * Connects to a server and makes its tools available. The same name and address mean the same server.
   *
   * After a login the browser returns to `<callbackHost>/<agentsPrefix>/<class, in kebab-case>/<name>/callback`.
   *
   * @param serverName a name to show
   * @param url the server's MCP endpoint
   * @param callbackHost host of the callback, with or without a scheme. Without it: the host that the request came to
   * @param agentsPrefix first part of the callback's path. Without it: `"agents"`
   * @throws ToolportError if the server cannot be connected; see `isUnauthorized` and `isTransportNotImplemented`
   */
  addMcpServer(
    serverName: string,
    url: string,
    callbackHost?: string,
    agentsPrefix?: string,
    options?: McpServerOptions,
  ): Promise<AddMcpServerResult>;
  /** Disconnects from a server and deletes its saved state, including its login. */
  removeMcpServer(id: string): Promise<void>;
  /** The state of every server, and what the servers offer. */
  getMcpServers(): MCPServersState;
}

/** Options of {@link withMcp}: those of {@link McpClientManager}, and the identity of the agent. */
export interface WithMcpOptions extends McpClientManagerOptions {
  /** The last part of the callback's path. @default the agent's `name`, the name or id of its Durable Object, or "default" */
  name?: string;
}

/** Any class, including abstract ones like `DurableObject`. */
export type AnyClass = abstract new (...args: never[]) => object;

/** A class and what {@link withMcp} adds to it. */
export type WithMcp<Given extends AnyClass> = Omit<Given, "prototype"> &
  (new (
    ...args: ConstructorParameters<Given>
  ) => InstanceType<Given> & McpMethods);

interface MixinParts<Instance> {
  readonly options: WithMcpOptions | ((instance: Instance) => WithMcpOptions);
  /** Runs before a request is handled. */
  readonly beforeRequest?: (instance: Instance) => Promise<void>;
}

/**
 * Adds `addMcpServer`, `removeMcpServer`, `getMcpServers` and `mcp` to a class.
 *
 * It intercepts the methods `fetch` and `onRequest`, including those of subclasses: the request
 * provides the host for callbacks, and callbacks of logins are handled before the class receives the request.
 *
 * @param options as an object, or as a function of the instance, called when `mcp` is first used. Without a `store`, the SQL storage
 * of the Durable Object is used if there is one, sealed with the key in `env.TOOLPORT_STORE_KEY`; otherwise memory
 * @example
 * ```ts
 * class Assistant extends withMcp(DurableObject) {
 *   async fetch(request: Request): Promise<Response> {
 *     const { id } = await this.addMcpServer("Weather", "https://example.com/mcp");
 *     return new Response(id);
 *   }
 * }
 * ```
 */
export const withMcp = <Given extends AnyClass>(
  Given: Given,
  options: WithMcpOptions | ((instance: InstanceType<Given>) => WithMcpOptions) = {},
): WithMcp<Given> => mixMcp(Given, { options });

function mixMcp<Given extends AnyClass>(
  Given: Given,
  { options, beforeRequest }: MixinParts<InstanceType<Given>>,
): WithMcp<Given> {
  class Mixed extends (Given as unknown as new (...args: unknown[]) => object) implements McpMethods {
    readonly #context: DurableContext | undefined;
    /** The bindings of the Worker. */
    readonly #env: unknown;
    readonly #answering = new WeakSet<object>();
    #mcp: McpClientManager | undefined;
    #options: WithMcpOptions | undefined;
    #lastOrigin: string | undefined;

    constructor(...args: unknown[]) {
      super(...args);
      const { ctx, env } = this as { ctx?: unknown; env?: unknown };
      this.#context = durableContext(ctx) ?? durableContext(args[0]);
      this.#env = env ?? args[1];
      for (const entrance of ["fetch", "onRequest"] as const) this.#guard(entrance);
      // RPC, alarms and WebSocket messages do not pass through `fetch`: no event is delivered before this has ended. A failure
      // reaches the caller of that event, and the runtime creates the object again for the next one.
      this.#context?.blockConcurrencyWhile?.(() => this.#wake()).catch(() => {});
    }

    get mcp(): McpClientManager {
      this.#mcp ??= new McpClientManager(this.#managerOptions());
      return this.#mcp;
    }

    async addMcpServer(
      serverName: string,
      url: string,
      callbackHost = originContext()?.getStore() ?? this.#lastOrigin,
      agentsPrefix = DEFAULT_AGENTS_PREFIX,
      { client, transport }: McpServerOptions = {},
    ): Promise<AddMcpServerResult> {
      const place = { prefix: agentsPrefix, agent: this.constructor.name, name: this.#name() };
      return this.mcp.addServer(serverName, url, {
        callbackUrl: callbackHost === undefined ? undefined : callbackUrl({ host: callbackHost, ...place }),
        client,
        transport,
      });
    }

    removeMcpServer(id: string): Promise<void> {
      return this.mcp.removeServer(id);
    }

    getMcpServers(): MCPServersState {
      return this.mcp.getMcpServers();
    }

    /** Restores the saved servers after the constructors of subclasses have ended, because `mcpOptions()` may use their fields. */
    async #wake(): Promise<void> {
      await Promise.resolve();
      await this.mcp.restored;
      await beforeRequest?.(this as unknown as InstanceType<Given>);
    }

    /** Defined on the instance, because a subclass may override methods of the prototype. */
    #guard(entrance: "fetch" | "onRequest"): void {
      const method = (this as Record<string, unknown>)[entrance];
      if (typeof method !== "function") return;
      const value = (...args: unknown[]): unknown => {
        const [request] = args;
        const run = () => method.apply(this, args);
        return isRequest(request) ? this.#answer(request, run) : run();
      };
      Object.defineProperty(this, entrance, { value, configurable: true, writable: true });
    }

    async #answer(request: Request, run: () => unknown): Promise<unknown> {
      // `fetch` calls `onRequest`; handle the request only once.
      if (this.#answering.has(request)) return run();
      this.#answering.add(request);
      const origin = originOf(request);
      this.#lastOrigin = origin ?? this.#lastOrigin;
      const answer = async (): Promise<unknown> => {
        await this.#wake();
        return this.#isCallback(request) ? this.mcp.handleCallbackRequest(request) : run();
      };
      const origins = originContext();
      return origin === undefined || origins === undefined ? answer() : origins.run(origin, answer);
    }

    /** Includes callbacks of servers that another process has added, with any prefix. */
    #isCallback(request: Request): boolean {
      const suffix = callbackSuffix(this.constructor.name, this.#name());
      return this.mcp.isCallbackRequest(request) || new URL(request.url).pathname.endsWith(suffix);
    }

    #name(): string {
      const { name } = this as { name?: unknown };
      const id = this.#context?.id;
      const ownName = this.#ownOptions().name ?? (typeof name === "string" ? name : undefined);
      return ownName || (id?.name ?? id?.toString()) || "default";
    }

    /** The secret of this name among the bindings: a text, or a binding of Cloudflare's Secrets Store. */
    #key(): DurableObjectStoreOptions["key"] {
      const binding: unknown = (this.#env as Partial<Record<string, unknown>> | undefined)?.[KEY_VARIABLE];
      if (typeof binding === "string" && binding.trim() === "") return undefined;
      const { get } = (binding ?? {}) as { get?: unknown };
      return typeof get === "function" ? () => get.call(binding) : (binding as StoreKeys | undefined);
    }

    #ownOptions(): WithMcpOptions {
      this.#options ??=
        typeof options === "function" ? options(this as unknown as InstanceType<Given>) : options;
      return this.#options;
    }

    #managerOptions(): McpClientManagerOptions {
      const { name: _, ...options } = this.#ownOptions();
      // Agents that share a store must not share their servers and logins.
      if (options.store !== undefined)
        return { principal: `${toKebabCase(this.constructor.name)}/${this.#name()}`, ...options };
      const storage = this.#context?.storage;
      if (storage === undefined) return options;
      return { ...options, store: durableObjectStore(storage, { key: this.#key(), logger: options.logger }) };
    }
  }
  Object.defineProperty(Mixed, "name", { value: Given.name });
  return Mixed as unknown as WithMcp<Given>;
}

/** The part of a Durable Object's `ctx` that is used here. */
interface DurableContext extends Pick<AgentContext, "id"> {
  readonly storage?: DurableObjectSqlStorage | undefined;
  blockConcurrencyWhile?<Result>(callback: () => Promise<Result>): Promise<Result>;
}

/** The arguments of the constructor of a Durable Object; undefined for any other class. */
function durableContext(value: unknown): DurableContext | undefined {
  if (typeof value !== "object" || value === null || !("storage" in value)) return undefined;
  const { id, storage } = value as Pick<DurableContext, "id"> & { storage: unknown };
  const { blockConcurrencyWhile } = value as DurableContext;
  return {
    ...(typeof id === "object" && id !== null && { id }),
    ...(hasSql(storage) && { storage }),
    ...(typeof blockConcurrencyWhile === "function" && {
      blockConcurrencyWhile: (callback) => blockConcurrencyWhile.call(value, callback) as Promise<never>,
    }),
  };
}

/** Reading `sql` throws in an object whose class is not listed under `new_sqlite_classes`. */
function hasSql(storage: unknown): storage is DurableObjectSqlStorage {
  try {
    return typeof (storage as Partial<DurableObjectSqlStorage> | undefined)?.sql?.exec === "function";
  } catch {
    return false;
  }
}

/** Requests of other implementations of `fetch` count too. */
function isRequest(value: unknown): value is Request {
  if (typeof value !== "object" || value === null) return false;
  const { url, method } = value as Partial<Request>;
  return typeof method === "string" && typeof url === "string" && canParseUrl(url);
}

interface AsyncContext<Value> {
  run<Result>(value: Value, callback: () => Result): Result;
  getStore(): Value | undefined;
}

interface HostProcess {
  getBuiltinModule?(name: string): { AsyncLocalStorage: new () => AsyncContext<string> } | undefined;
}

let context: AsyncContext<string> | undefined;

/**
 * The origin of the request that is being handled, on Node, Deno, Bun, and Workers with `nodejs_compat`. Loaded at run time: other
 * runtimes do not have the module.
 */
function originContext(): AsyncContext<string> | undefined {
  const host = (globalThis as { process?: HostProcess }).process;
  const hooks = context === undefined ? host?.getBuiltinModule?.("node:async_hooks") : undefined;
  context ??= hooks && new hooks.AsyncLocalStorage();
  return context;
}

const LOOPBACK: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];
const DEFAULT_AGENTS_PREFIX = "agents";

interface CallbackPlace {
  /** With or without a scheme and a path. Without a scheme: https, or http on this machine. */
  readonly host: string;
  readonly prefix: string;
  /** Name of the agent's class. */
  readonly agent: string;
  /** Name of this one agent of its class. */
  readonly name: string;
}

/**
 * `<host>/<prefix>/<class, in kebab-case>/<name>/callback`, which Cloudflare's routing maps to the agent.
 *
 * @example
 * ```ts
 * callbackUrl({ host: "app.example.com", prefix: "agents", agent: "MyAgent", name: "ada" });
 * // "https://app.example.com/agents/my-agent/ada/callback"
 * ```
 */
export function callbackUrl({ host, prefix, agent, name }: CallbackPlace): string {
  const lead = prefix
    .split("/")
    .filter((part) => part !== "")
    .map((part) => `/${encodeURIComponent(part)}`)
    .join("");
  return `${withScheme(host).replace(/\/+$/, "")}${lead}${callbackSuffix(agent, name)}`;
}

/** The end of the callback path of this agent, for any host and prefix. */
const callbackSuffix = (agent: string, name: string): string =>
  `/${encodeURIComponent(toKebabCase(agent) || "agent")}/${encodeURIComponent(name)}/callback`;

/** The host of a request. A proxy that terminates TLS turns https into http. */
function originOf({ url }: Pick<Request, "url">): string | undefined {
  if (!canParseUrl(url)) return undefined;
  const { protocol, host, hostname } = new URL(url);
  const isPlain = protocol === "http:" && LOOPBACK.includes(hostname);
  return `${isPlain ? "http" : "https"}://${host}`;
}

function withScheme(host: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(host)) return host;
  const isLocal = canParseUrl(`http://${host}`) && LOOPBACK.includes(new URL(`http://${host}`).hostname);
  return `${isLocal ? "http" : "https"}://${host}`;
}

/** Kebab-case as in Cloudflare's routing of class names. */
export function toKebabCase(name: string): string {
  if (name === name.toUpperCase() && name !== name.toLowerCase())
    return name.toLowerCase().replaceAll("_", "-");
  return name
    .replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    .replace(/^-/, "")
    .replaceAll("_", "-")
    .replace(/-$/, "");
}

/** The part of a Durable Object's `ctx` that an agent uses. */
export interface AgentContext {
  readonly id?: { readonly name?: string | undefined; toString(): string };
  /** Its SQL storage keeps the servers and their logins. */
  readonly storage?: object;
}

/**
 * The `ctx` of an agent: `DurableObjectState` in a project with the types of Cloudflare's runtime (`@cloudflare/workers-types`, or
 * `wrangler types`), elsewhere {@link AgentContext} or nothing.
 */
export type RuntimeContext = typeof globalThis extends {
  CloudflareWorkersModule: { DurableObject: abstract new (ctx: infer Context, env: never) => unknown };
}
  ? Context
  : AgentContext | undefined;

/** In workerd `DurableObject`, without naming a type that other projects do not have. */
const Base: new (
  ctx?: AgentContext,
  env?: unknown,
) => {
  /** The context of the Durable Object, if it is one. */
  readonly ctx: RuntimeContext;
  /** The bindings of the Worker, or the second argument of the constructor. */
  readonly env: unknown;
} = DurableObjectBase as never;

const notFound = (): Response => new Response("Not found", { status: 404 });

/** An agent without MCP. */
class PlainAgent extends Base {
  /** The name of this agent within its class; a part of its callback URL. */
  get name(): string {
    const id = this.ctx?.id;
    return id?.name ?? id?.toString() ?? "default";
  }

  /** Called once before the first request; in a Durable Object before any event, including RPC and alarms. */
  onStart(): void | Promise<void> {}

  /** Handles a request. */
  onRequest(_request: Request): Response | Promise<Response> {
    return notFound();
  }

  /** Handles a request: starts the agent, handles callbacks of logins, and passes other requests to `onRequest`. */
  async fetch(request: Request): Promise<Response> {
    // A class in JavaScript may return undefined.
    const answer: Response | undefined = await this.onRequest(request);
    return answer ?? notFound();
  }

  /** Options for `mcp`, called once: a store, a time limit, a logger … */
  mcpOptions(): WithMcpOptions {
    return {};
  }
}

/** The next request repeats a start that failed. */
const startOf = oncePerObject((agent: PlainAgent) => loadOnce(async () => agent.onStart()));

/**
 * An agent: extend it, handle requests in `onRequest`, add MCP servers. In a Worker it is constructed as a Durable Object,
 * elsewhere without arguments; then pass requests to `fetch`.
 *
 * @example
 * ```ts
 * class MyAgent extends Agent {
 *   override async onRequest(request: Request): Promise<Response> {
 *     const result = await this.addMcpServer("Weather", "https://example.com/mcp");
 *     return Response.json(result);
 *   }
 * }
 * const agent = new MyAgent();
 * const response = await agent.fetch(new Request("https://app.example.com/"));
 * ```
 */
export class Agent<Env = unknown, State = unknown> extends mixMcp(PlainAgent, {
  options: (agent) => agent.mcpOptions(),
  beforeRequest: (agent) => startOf(agent)(),
}) {
  declare readonly env: Env;
  /**
   * Marks the class for `DurableObjectNamespace<MyAgent>`. There is no such property at run time.
   * @hidden
   */
  declare readonly __DURABLE_OBJECT_BRAND: never;
  /** Only declares the type parameter: this class has no state. */
  declare readonly state?: State;

  constructor(ctx?: AgentContext, env?: Env) {
    super(ctx, env);
  }
}
