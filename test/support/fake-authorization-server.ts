/** A scripted authorization server with a protected endpoint. A test may replace any response. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type AuthorizationServerState,
  createAuthorizationServer,
  type ScriptedAnswer,
  type SeenRequest,
} from "../fixtures/servers/authorization-server.mjs";

export type { SeenRequest } from "../fixtures/servers/authorization-server.mjs";

/** A response, or a function that writes it. */
type ScriptResult = ScriptedAnswer | ((response: ServerResponse) => void) | undefined;
type Script = (request: SeenRequest) => ScriptResult | Promise<ScriptResult>;

export interface FakeAuthorizationServer extends AuthorizationServerState, AsyncDisposable {
  /** The protected endpoint. */
  readonly mcpUrl: URL;
  readonly requests: SeenRequest[];
  /** Responds to some requests instead of the server. */
  script: Script | undefined;
  /** Requests with this method and path. */
  count(method: string, path: string): number;
  tokenRequests(grant?: string): SeenRequest[];
  /** Logs a user in at the URL, and returns the parameters of the callback. */
  logIn(authUrl: string): Promise<URLSearchParams>;
}

export interface FakeServerOptions {
  /** @default "127.0.0.1" */
  readonly host?: string;
  /** Path of the protected endpoint. @default "/mcp" */
  readonly resourcePath?: string;
  /** Responds to every path outside OAuth if the token is valid. @default `{ ok: true }` at the endpoint, else 404 */
  readonly serveProtected?: (request: SeenRequest, response: ServerResponse) => void;
}

const JSON_TYPE = { "content-type": "application/json" };

/** Starts on a free port. */
export async function startFakeAuthorizationServer({
  host = "127.0.0.1",
  resourcePath = "/mcp",
  serveProtected,
}: FakeServerOptions = {}): Promise<FakeAuthorizationServer> {
  const requests: SeenRequest[] = [];
  const http = createServer((incoming, response) => {
    respond(incoming, response).catch((error) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve, reject) => {
    http.once("error", reject).listen(0, host, resolve);
  });
  const origin = `http://${host}:${(http.address() as AddressInfo).port}`;
  const server = createAuthorizationServer(origin, { resourcePath });

  async function respond(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(incoming);
    requests.push(request);
    const result = (await fake.script?.(request)) ?? server.answer(request) ?? protect(request);
    if (typeof result === "function") return result(response);
    const { status = 200, headers = {}, body } = result;
    const text = typeof body === "string" ? body : JSON.stringify(body ?? {});
    response.writeHead(status, { ...JSON_TYPE, ...headers }).end(text);
  }

  function protect(request: SeenRequest): NonNullable<ScriptResult> {
    const isEndpoint = serveProtected !== undefined || request.path === resourcePath;
    if (!isEndpoint) return { status: 404 };
    const refusal = server.challenge(request);
    if (refusal !== undefined) return refusal;
    if (serveProtected === undefined) return { body: { ok: true } };
    return (response) => serveProtected(request, response);
  }

  const fake: FakeAuthorizationServer = Object.assign(server, {
    mcpUrl: new URL(resourcePath, origin),
    requests,
    script: undefined,
    count: (method: string, path: string) =>
      requests.filter((seen) => seen.method === method && seen.path === path).length,
    tokenRequests: (grant?: string) =>
      requests.filter(
        (seen) => seen.path === "/token" && (grant === undefined || seen.form.get("grant_type") === grant),
      ),
    async logIn(authUrl: string) {
      const response = await fetch(authUrl, { redirect: "manual" });
      return new URL(response.headers.get("location") ?? "about:blank").searchParams;
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => http.close(resolve));
      http.closeAllConnections();
      await closed;
    },
  });
  return fake;
}

async function readRequest(incoming: IncomingMessage): Promise<SeenRequest> {
  const url = new URL(incoming.url ?? "/", "http://fake");
  let body = "";
  for await (const chunk of incoming.setEncoding("utf8")) body += chunk;
  const { method = "GET", headers } = incoming;
  return {
    method,
    path: url.pathname,
    query: url.searchParams,
    headers,
    body,
    form: new URLSearchParams(body),
  };
}
