/** A server that requires authorization and sends false URLs for it, and a canary that no client may reach. */
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createServer as createSocketServer, type Server as SocketServer } from "node:net";
import { startFakeAuthorizationServer } from "./fake-authorization-server.js";

/** False values by field; omitted fields are correct. */
export interface Lies {
  /** In the challenge of the 401. */
  readonly resourceMetadata?: string;
  readonly authorizationServers?: readonly string[];
  /** Overrides the correct metadata of the authorization server; undefined removes a field. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Overrides the correct metadata of the resource. */
  readonly resource?: Readonly<Record<string, unknown>>;
  /** Redirects this path. */
  readonly redirect?: { readonly path: string; readonly status: number; readonly to: string };
  /** Handles requests to this path. */
  readonly answer?: { readonly path: string; readonly with: (response: ServerResponse) => void };
}

export interface HostileServer extends AsyncDisposable {
  readonly origin: string;
  readonly url: string;
  lies: Lies;
  /** `METHOD path` of every request, with its header fields and its body. */
  readonly seen: { readonly line: string; readonly headers: IncomingHttpHeaders; readonly body: string }[];
}

/** Starts on a free port of `host`, which differs from the canary's. It issues tokens, but accepts none. */
export async function startHostileServer(host = "127.0.0.3"): Promise<HostileServer> {
  const fake = await startFakeAuthorizationServer({ host });
  const honestUrl = fake.resourceMetadataUrl;
  const hostile: HostileServer = {
    origin: fake.origin,
    url: fake.mcpUrl.href,
    lies: {},
    seen: [],
    [Symbol.asyncDispose]: () => fake[Symbol.asyncDispose](),
  };
  fake.script = ({ method, path, headers, body }) => {
    hostile.seen.push({ line: `${method} ${path}`, headers, body });
    const { resourceMetadata, authorizationServers, metadata, resource, redirect, answer } = hostile.lies;
    fake.resourceMetadataUrl = resourceMetadata ?? honestUrl;
    fake.resource = {
      ...(authorizationServers && { authorization_servers: authorizationServers }),
      ...resource,
    };
    fake.metadata = { ...LESS_METADATA, ...metadata };
    if (redirect?.path === path) return { status: redirect.status, headers: { location: redirect.to } };
    if (answer?.path === path) return answer.with;
    if (path === "/authorize" || path === "/revoke") return { status: 404 };
    if (path === "/register")
      return { status: 201, body: { client_id: "hostile-client", redirect_uris: [] } };
    if (path === "/token")
      return { body: { access_token: "hostile", token_type: "Bearer", expires_in: 3_600 } };
    return undefined;
  };
  return hostile;
}

/** Removes optional fields. */
const LESS_METADATA = {
  revocation_endpoint: undefined,
  authorization_response_iss_parameter_supported: undefined,
  token_endpoint_auth_methods_supported: ["none"],
};

export interface Canary extends AsyncDisposable {
  readonly port: number;
  /** Connections so far: a client reaches it before it sends a request. */
  readonly hits: number;
}

/** Listens on every address of this machine, so that every spelling of one reaches it. */
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
    // Without IPv6, half of the spellings reach no server, which the tests accept.
    server.once("error", () => server.once("error", reject).listen(0, "0.0.0.0", resolve));
    server.listen(0, "::", resolve);
  });
}
