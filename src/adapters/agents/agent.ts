/** A small replacement for Cloudflare's `Agent`: a class that handles requests and has MCP servers, on any runtime. */
import { DurableObjectBase } from "#durable-object";
import { loadOnce, oncePerObject } from "../../util/concurrency.js";
import { mixMcp, type WithMcpOptions } from "./with-mcp.js";

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
