/** Serves a test server over HTTP on 127.0.0.1, both protocol eras on one port. */

import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { ServerNotifier, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { HttpServerEntry } from "@toolport/core";
import { buildServer, type ServerSdk, type SharedState, trackServer } from "./build-server.js";
import { listenOnLoopback, type Opened, sendWebResponse, toWebRequest } from "./serve-connection.js";
import type { TestServerEra } from "./test-server-definition.js";

const MAX_REQUEST_BODY_SIZE = 64 * 1024 * 1024;

/** Options of `http()` of a test server. */
export interface TestHttpOptions {
  /** @default any free port */
  port?: number;
  /** @default "/mcp" */
  path?: string;
  /** @default the era of the test server */
  era?: TestServerEra;
  /** Keep sessions for legacy clients; without sessions the server is stateless. @default true */
  sessions?: boolean;
  /** Pass requests to other paths to `intercept` too; without a response from it they get 404. @default false */
  anyPath?: boolean;
  /**
   * Called before the server with every request. A returned response replaces that of the server: to return 503 for a while, to
   * require a token, or to hang (a promise that never settles).
   */
  intercept?(request: Request): Response | undefined | Promise<Response | undefined>;
}

/** A test server that listens on 127.0.0.1. */
export interface TestHttpServer extends Opened {
  readonly url: string;
  /** For `mcpServers`. */
  readonly entry: HttpServerEntry;
  /** Ids of the current legacy sessions. */
  readonly sessionIds: string[];
  /** Number of open TCP connections. */
  readonly connectionCount: number;
  /** Number of HTTP requests so far. */
  readonly requestCount: number;
  /** Deletes all sessions, as a restart would. */
  forgetSessions(): Promise<void>;
  /** Closes all TCP connections at once. */
  dropConnections(): void;
}

export async function serveHttp(
  state: SharedState,
  options: TestHttpOptions & { era: TestServerEra; notifiers: Set<ServerNotifier> },
): Promise<TestHttpServer> {
  const { port = 0, path = "/mcp", anyPath = false, intercept, notifiers } = options;
  const sdk = await state.loadSdk();
  const { handle, sessions, modern } = route(sdk, state, options);
  let requestCount = 0;
  let connectionCount = 0;

  async function respond(request: Request): Promise<Response> {
    const rejection = sdk.hostHeaderValidationResponse(request, sdk.localhostAllowedHostnames());
    if (rejection) return rejection;
    const isOtherPath = new URL(request.url).pathname !== path;
    const intercepted = isOtherPath && !anyPath ? undefined : await intercept?.(request);
    if (intercepted !== undefined) return intercepted;
    return isOtherPath ? new Response("Not found", { status: 404 }) : handle(request);
  }

  const listener = createServer((request: IncomingMessage, response: ServerResponse) => {
    requestCount++;
    toWebRequest(request, response)
      .then(respond)
      .then((result) => sendWebResponse(result, response))
      .catch(() => response.destroy());
  });
  listener.on("connection", (socket) => {
    connectionCount++;
    socket.once("close", () => connectionCount--);
  });
  const listening = await listenOnLoopback(listener, port);
  notifiers.add(modern.notify);

  const url = `http://${listening.address}${path}`;
  return {
    url,
    entry: { url },
    get sessionIds() {
      return sessions.ids;
    },
    get connectionCount() {
      return connectionCount;
    },
    get requestCount() {
      return requestCount;
    },
    forgetSessions: () => sessions.forget(),
    dropConnections: listening.dropConnections,
    async close() {
      notifiers.delete(modern.notify);
      await Promise.all([sessions.forget(), modern.close()]);
      await listening.close();
    },
  };
}

/** Routes requests by era; legacy requests with or without sessions. */
function route(
  sdk: ServerSdk,
  state: SharedState,
  { era, sessions: keepSessions = true }: { era: TestServerEra; sessions?: boolean },
) {
  const build = () => buildServer(sdk, state);
  const limit = { maxRequestBodySize: MAX_REQUEST_BODY_SIZE };
  const modern = sdk.createMcpHandler(build, { legacy: "reject", ...limit });
  const sessions = createLegacySessions(sdk, state, limit);
  const stateless = sdk.legacyStatelessFallback(build, undefined, limit);
  const legacy = (request: Request) => (keepSessions ? sessions.handle(request) : stateless(request));
  return {
    sessions,
    modern,
    async handle(request: Request): Promise<Response> {
      if (era === "legacy") return legacy(request);
      if (era === "modern") return modern.fetch(request);
      return (await sdk.isLegacyRequest(request, undefined, limit)) ? legacy(request) : modern.fetch(request);
    },
  };
}

/** Sessions of legacy clients. */
function createLegacySessions(
  sdk: ServerSdk,
  state: SharedState,
  { maxRequestBodySize }: { maxRequestBodySize: number },
) {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();

  async function open(request: Request): Promise<Response> {
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      maxRequestBodySize,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    const server = trackServer(buildServer(sdk, state), state, "legacy");
    await server.connect(transport);
    const response = await transport.handleRequest(request);
    // Without a session id the transport rejected the request: it was not a handshake.
    if (transport.sessionId === undefined) await server.close();
    return response;
  }

  return {
    get ids(): string[] {
      return [...sessions.keys()];
    },
    async handle(request: Request): Promise<Response> {
      const id = request.headers.get("mcp-session-id");
      if (id === null) return open(request);
      const transport = sessions.get(id);
      if (transport !== undefined) return transport.handleRequest(request);
      const error = { code: -32_001, message: "Session not found" };
      return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 404 });
    },
    /** Deletes all sessions, as a restart would: requests with their ids get 404. */
    async forget(): Promise<void> {
      const known = [...sessions.values()];
      sessions.clear();
      await Promise.all(known.map((transport) => transport.close()));
    },
  };
}
