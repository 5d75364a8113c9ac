/** A server that asks for authorization and lies about where to get it, and a canary that nobody may reach. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createServer as createSocketServer, type Server as SocketServer } from "node:net";

/** What it says, by field; every field left out is honest. */
export interface Lies {
  /** In the challenge of the 401. */
  readonly resourceMetadata?: string;
  readonly authorizationServers?: readonly string[];
  /** Over the honest metadata of the authorization server; undefined leaves a field out. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Over the honest metadata of the resource. */
  readonly resource?: Readonly<Record<string, unknown>>;
  /** Paths that answer with a redirect to this place. */
  readonly redirect?: { readonly path: string; readonly status: number; readonly to: string };
  /** Answers this path in any way. */
  readonly answer?: { readonly path: string; readonly with: (response: ServerResponse) => void };
}

export interface HostileServer extends AsyncDisposable {
  readonly origin: string;
  readonly url: string;
  lies: Lies;
  /** `METHOD path` of every request, with its header fields and its body. */
  readonly seen: { readonly line: string; readonly headers: IncomingHttpHeaders; readonly body: string }[];
}

const RESOURCE = "/.well-known/oauth-protected-resource";
const SERVER = "/.well-known/oauth-authorization-server";

/** Starts on a free port of `host`, which is another one than the canary's. */
export async function startHostileServer(host = "127.0.0.3"): Promise<HostileServer> {
  const seen: HostileServer["seen"] = [];
  const listener = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const path = new URL(request.url ?? "/", origin).pathname;
    seen.push({ line: `${request.method} ${path}`, headers: request.headers, body });
    const { redirect, answer } = hostile.lies;
    if (redirect?.path === path) response.writeHead(redirect.status, { location: redirect.to }).end();
    else if (answer?.path === path) answer.with(response);
    else reply(path, response);
  });
  await new Promise<void>((resolve) => listener.listen(0, host, resolve));
  const origin = `http://${host}:${(listener.address() as AddressInfo).port}`;
  const json = (response: ServerResponse, value: unknown, status = 200) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));

  function reply(path: string, response: ServerResponse): void {
    const { lies } = hostile;
    if (path === "/mcp") {
      // Whatever bytes: an attacker is not bound to what Node lets pass.
      const metadataUrl = Buffer.from(lies.resourceMetadata ?? `${origin}${RESOURCE}/mcp`).toString("latin1");
      response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${metadataUrl}"` }).end();
    } else if (path.startsWith(RESOURCE)) {
      const authorization_servers = lies.authorizationServers ?? [origin];
      json(response, { resource: `${origin}/mcp`, authorization_servers, ...lies.resource });
    } else if (path === SERVER) {
      json(response, { ...honestMetadata(origin), ...lies.metadata });
    } else if (path === "/register") {
      json(response, { client_id: "hostile-client", redirect_uris: [] }, 201);
    } else if (path === "/token") {
      json(response, { access_token: "hostile", token_type: "Bearer", expires_in: 3_600 });
    } else {
      response.writeHead(404).end();
    }
  }

  const hostile: HostileServer = {
    origin,
    url: `${origin}/mcp`,
    lies: {},
    seen,
    async [Symbol.asyncDispose]() {
      listener.closeAllConnections();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
  return hostile;
}

const honestMetadata = (origin: string) => ({
  issuer: origin,
  authorization_endpoint: `${origin}/authorize`,
  token_endpoint: `${origin}/token`,
  registration_endpoint: `${origin}/register`,
  response_types_supported: ["code"],
  grant_types_supported: ["authorization_code", "refresh_token"],
  code_challenge_methods_supported: ["S256"],
  token_endpoint_auth_methods_supported: ["none"],
});

export interface Canary extends AsyncDisposable {
  readonly port: number;
  /** Connections so far: it is reached before a request is sent. */
  readonly hits: number;
}

/** Listens on every address of this machine, so that every spelling of one leads here. */
export async function startCanary(): Promise<Canary> {
  const sockets = new Set<Socket>();
  let hits = 0;
  const server = createSocketServer((socket) => {
    hits += 1;
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket)).on("error", () => {});
    socket.end("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}");
  });
  await listenEverywhere(server);
  return {
    port: (server.address() as AddressInfo).port,
    get hits() {
      return hits;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function listenEverywhere(server: SocketServer): Promise<void> {
  return new Promise((resolve, reject) => {
    // Where there is no IPv6, half of the spellings lead nowhere, which is as good.
    server.once("error", () => server.once("error", reject).listen(0, "0.0.0.0", resolve));
    server.listen(0, "::", resolve);
  });
}
