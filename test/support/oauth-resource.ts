/** A real MCP server behind a check of access tokens: challenges, resource metadata and a tool that needs more scope. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import {
  listenOnLoopback,
  sendWebResponse,
  toWebRequest,
} from "../../packages/testing/src/serve-connection.js";

/** The result of a token check. */
export interface TokenHolder {
  readonly user: string;
  readonly scopes: ReadonlySet<string>;
}

export interface ResourceOptions {
  /** Its authorization servers. */
  readonly issuers: () => readonly string[];
  /** Undefined: the token is invalid. */
  readonly check: (authorization: string, request: Request) => Promise<TokenHolder | undefined>;
  /** Scopes that every request needs. */
  readonly needs: string;
  /** Scopes that its challenge and metadata name. */
  readonly scope: string;
  /** Tools that need more scopes, by name. */
  readonly widerScopes: Readonly<Record<string, string>>;
}

/** One request as received. */
export interface SeenAtResource {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly rpc: string | undefined;
}

export interface OAuthResource {
  readonly origin: string;
  /** The protected endpoint; also the identifier of the resource. */
  readonly url: string;
  readonly seen: SeenAtResource[];
  /** Redirects requests for the endpoint to this URL, with status 307. */
  redirect: string | undefined;
  /** Executed tool calls, by user. */
  readonly calls: Map<string, number>;
  close(): Promise<void>;
}

const whoSchema = fromJsonSchema<{ text?: string }>({
  type: "object",
  properties: { text: { type: "string" } },
});

function buildServer(calls: Map<string, number>): McpServer {
  // It reports no changes, so its list is read once and the number of requests is known.
  const capabilities = { tools: { listChanged: false } };
  const server = new McpServer({ name: "protected", version: "1.0.0" }, { capabilities });
  for (const name of ["whoami", "erase"]) {
    server.registerTool(name, { description: "Says who asks.", inputSchema: whoSchema }, (_args, ctx) => {
      const user = ctx.http?.req?.headers.get("x-checked-user") ?? "unknown";
      calls.set(user, (calls.get(user) ?? 0) + 1);
      return { content: [{ type: "text", text: user }] };
    });
  }
  return server;
}

/** Starts on a free port of 127.0.0.1. */
export async function startOAuthResource(options: ResourceOptions): Promise<OAuthResource> {
  const calls = new Map<string, number>();
  const seen: SeenAtResource[] = [];
  const handler = createMcpHandler(() => buildServer(calls));

  const challenge = (status: number, parameters: Record<string, string>): Response => {
    const named = Object.entries({ ...parameters, resource_metadata: `${origin}${METADATA}/mcp` });
    const field = `Bearer ${named.map(([name, value]) => `${name}="${value}"`).join(", ")}`;
    return new Response(null, { status, headers: { "www-authenticate": field } });
  };

  async function answer(request: Request, rpc: Rpc | undefined): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === METADATA || pathname === `${METADATA}/mcp`) return Response.json(metadata(url, options));
    if (resource.redirect !== undefined)
      return new Response(null, { status: 307, headers: { location: resource.redirect } });
    if (pathname !== "/mcp") return new Response("Not found", { status: 404 });
    const authorization = request.headers.get("authorization");
    if (authorization === null) return challenge(401, { scope: options.scope });
    const holder = await options.check(authorization, request);
    if (holder === undefined) return challenge(401, { error: "invalid_token", scope: options.scope });
    const wider = rpc?.tool === undefined ? undefined : options.widerScopes[rpc.tool];
    const missing = [options.needs, wider ?? options.needs].find((scope) => !holder.scopes.has(scope));
    if (missing !== undefined)
      return challenge(403, { error: "insufficient_scope", scope: missing, error_description: "More scope" });
    const headers = new Headers(request.headers);
    headers.set("x-checked-user", holder.user);
    return handler.fetch(new Request(request, { headers }));
  }

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await toWebRequest(incoming, response);
    const rpc = await readRpc(request);
    const answered = await answer(request, rpc);
    const path = incoming.url ?? "";
    seen.push({ method: request.method, path, status: answered.status, rpc: rpc?.method });
    await sendWebResponse(answered, response);
  }

  const listener = createServer((incoming, response) => {
    serve(incoming, response).catch(() => response.destroy());
  });
  // The server never closes idle connections, so that no request arrives on a socket that it is closing.
  listener.keepAliveTimeout = 0;
  const listening = await listenOnLoopback(listener);
  const origin = `http://${listening.address}`;
  const url = `${origin}/mcp`;
  const resource: OAuthResource = {
    origin,
    url,
    seen,
    redirect: undefined,
    calls,
    async close() {
      await handler.close();
      await listening.close();
    },
  };
  return resource;
}

const METADATA = "/.well-known/oauth-protected-resource";

const metadata = (resource: string, { issuers, scope }: ResourceOptions) => ({
  resource,
  authorization_servers: issuers(),
  scopes_supported: scope.split(" "),
  bearer_methods_supported: ["header"],
});

interface Rpc {
  readonly method: string;
  readonly tool: string | undefined;
}

async function readRpc(request: Request): Promise<Rpc | undefined> {
  if (request.method !== "POST") return undefined;
  try {
    const { method, params } = (await request.clone().json()) as {
      method: string;
      params?: { name?: string };
    };
    return { method, tool: method === "tools/call" ? params?.name : undefined };
  } catch {
    return undefined;
  }
}
