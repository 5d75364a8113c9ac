/** Offers the servers of a port as one MCP server: over HTTP, stdio and in memory, for any number of users and replicas. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { loadOnce, timerMs } from "@toolport/base";
import type { Toolport } from "@toolport/core";
import type { Users } from "@toolport/core/internal";
import { type Authenticator, createAuthenticator } from "./auth/authenticator.js";
import { checkConnectOptions } from "./auth/connect.js";
import { type GatewayOptions, MAX_BODY_BYTES } from "./gateway-options.js";
import { HttpEndpoint } from "./http/handle-http.js";
import {
  type GuardRules,
  type HttpReply,
  type HttpRequest,
  LOOPBACK_HOSTS,
  refusalOf,
} from "./http/http-request.js";
import { NodeReply, NodeRequest } from "./http/node-http.js";
import { FetchReply, FetchRequest } from "./http/web-http.js";
import { readMessage, readMessages, weigh } from "./message.js";
import { MessageConnection } from "./message-connection.js";
import type { GatewayParts } from "./request-context.js";
import { startGateway } from "./start-gateway.js";
import { usersOf } from "./users.js";

/** Servers of a port as one MCP server. */
export interface Gateway {
  /** Serves a web request: Workers, Deno, Bun, Hono. */
  fetch(request: Request): Promise<Response>;
  /** Serves a request of `node:http`, Express or Fastify. Needs less CPU than `fetch` on Node. */
  node(request: IncomingMessage, response: ServerResponse): void;
  /** Serves one client over standard input and output. Resolves when the client is gone and everything has ended. */
  stdio(): Promise<void>;
  /** A transport for a client in the same process. */
  memory(): Transport;
  /** Starts now instead of with the first request: reads the keys and opens the audit log. Rejects if that fails. */
  ready(): Promise<void>;
  /** Takes no new requests, lets open ones finish, and ends all streams. The port stays open. */
  close(options?: { drainMs?: number }): Promise<void>;
}

/** Clients that are not served over HTTP. */
type Connections = Set<MessageConnection>;

/** A client that closed standard input waits for the end of the process, but not long. */
const STDIO_DRAIN_MS = 500;

/**
 * Offers the servers of a port as one MCP server.
 *
 * @example
 * ```ts
 * const gateway = createGateway(toolport, {
 *   url: "https://tools.example.com/mcp",
 *   auth: { issuer: "https://login.example.com" },
 * });
 * createServer((request, response) => gateway.node(request, response)).listen(8080);
 * ```
 */
export function createGateway(toolport: Toolport, options: GatewayOptions = {}): Gateway {
  const { drainMs = 10_000 } = options;
  let router: ReturnType<typeof createRouter> | undefined;
  let closing: Promise<void> | undefined;
  const connections: Connections = new Set();
  const users = usersOf(toolport);
  // Wrong options are reported at once, not with the first request.
  const authenticator = createHttpAuthenticator(options, users);

  const start = loadOnce(() =>
    startGateway(users, options, options.auth === undefined ? undefined : authenticator()),
  );

  const serve = async (request: HttpRequest, reply: HttpReply): Promise<void> => {
    try {
      if (router === undefined) {
        const { parts } = await start();
        router ??= createRouter(parts, authenticator(), options);
      }
      await router.handle(request, reply);
    } catch (error) {
      users.plain.parts.report(error);
      reply.send(503, { ...TEXT, "retry-after": "1" }, "The gateway cannot start");
    }
  };

  return {
    async fetch(request) {
      if (router === undefined) authenticator();
      const reply = new FetchReply(request.signal);
      void serve(new FetchRequest(request), reply);
      return reply.response;
    },
    node(request, response) {
      if (router === undefined) authenticator();
      void serve(new NodeRequest(request), new NodeReply(response));
    },
    async stdio() {
      const { parts } = await start();
      await serveStdio(parts, connections, options.drainMs ?? STDIO_DRAIN_MS);
    },
    memory() {
      return memoryTransport(async () => (await start()).parts, connections);
    },
    async ready() {
      await start();
    },
    close({ drainMs: limitMs = drainMs } = {}) {
      closing ??= (async () => {
        const begun = await start.current?.catch(() => undefined);
        await Promise.all([
          router?.close(limitMs),
          ...[...connections].map((connection) => connection.end(limitMs)),
        ]);
        await begun?.stop();
      })();
      return closing;
    },
  };
}

/** Created when HTTP is used first: a gateway over stdio needs no credentials. Without `auth` it throws. */
function createHttpAuthenticator(options: GatewayOptions, { plain }: Users): () => Authenticator {
  const { warn, settings } = plain.parts;
  const create = () => {
    const authenticator = createAuthenticator(options, {
      warn: (message) => warn(undefined, message),
      http: () => plain.http({}),
    });
    checkConnectOptions(authenticator.settings, settings.callbackUrl?.toString());
    return authenticator;
  };
  let created = options.auth === undefined ? undefined : create();
  return () => {
    created ??= create();
    return created;
  };
}

/** Opens a connection that the gateway ends when it closes. */
function open(
  parts: GatewayParts,
  connections: Connections,
  write: (text: string) => void,
): MessageConnection {
  const connection = new MessageConnection(parts, undefined, write);
  connections.add(connection);
  connection.closed.addEventListener("abort", () => connections.delete(connection));
  return connection;
}

/** A transport for a client in this process. Its connection begins with `start()`. */
function memoryTransport(start: () => Promise<GatewayParts>, connections: Connections): Transport {
  let connection: MessageConnection | undefined;
  const transport: Transport = {
    async start() {
      connection = open(await start(), connections, (text) => {
        const message = JSON.parse(text) as JSONRPCMessage;
        queueMicrotask(() => transport.onmessage?.(message));
      });
      connection.closed.addEventListener("abort", () => {
        connection = undefined;
        transport.onclose?.();
      });
    },
    async send(message) {
      if (connection === undefined) throw new Error("The connection is not open");
      void connection.receive(readMessage(structuredClone(message)));
    },
    close: async () => connection?.close(),
  };
  return transport;
}

const MAX_LINE = 64 * 1024 * 1024;

/**
 * Resolves when the input has ended or the gateway is closed. Requests that were sent before the end of the input may still be
 * answered within `drainMs`, as in `printf … | toolport serve`.
 */
async function serveStdio(parts: GatewayParts, connections: Connections, drainMs: number): Promise<void> {
  const { stdin: input, stdout: output } = process;
  const connection = open(parts, connections, (text) => void output.write(`${text}\n`));
  let rest = "";
  const receive = (line: string): void => {
    try {
      weigh(line);
      for (const message of readMessages(line).messages) void connection.receive(message);
    } catch (error) {
      connection.refuse(error);
    }
  };
  const onData = (chunk: Buffer | string) => {
    rest += chunk.toString();
    for (let end = rest.indexOf("\n"); end !== -1; end = rest.indexOf("\n")) {
      const line = rest.slice(0, end).trim();
      rest = rest.slice(end + 1);
      if (line !== "") receive(line);
    }
    if (rest.length > MAX_LINE) connection.close();
  };
  input.setEncoding("utf8");
  input.on("data", onData);
  const onEnd = () => void connection.end(drainMs);
  input.on("end", onEnd);
  input.on("close", onEnd);
  output.on("error", () => connection.close());
  await new Promise((resolve) => connection.closed.addEventListener("abort", resolve));
  input.off("data", onData);
}

const TEXT = { "content-type": "text/plain" } as const;

const isPage = (path: string): boolean =>
  path.includes("/connect/") && path.startsWith("/") && !path.startsWith("//");

const isKnown = (path: string): boolean =>
  path === "/healthz" || path === "/readyz" || path.startsWith("/.well-known/") || isPage(path);

function createRouter(parts: GatewayParts, authenticator: Authenticator, options: GatewayOptions) {
  const { path: own = "/mcp" } = options;
  const rules: GuardRules = {
    allowedHosts: new Set(allowedHosts(options).map((host) => host.toLowerCase())),
    allowedOrigins: new Set(options.allowedOrigins),
  };
  const endpoint = new HttpEndpoint(parts, {
    rules,
    body: {
      maxBytes: options.maxBodyBytes ?? MAX_BODY_BYTES,
      timeoutMs: timerMs(options.bodyTimeoutMs ?? 30_000),
    },
    legacy: options.legacy ?? true,
    authenticate: authenticator.authenticate,
  });
  let isClosing = false;

  /** Public, for clients in browsers too. */
  const sendMetadata = (request: HttpRequest, reply: HttpReply, path: string): void => {
    const document = authenticator.metadata(path);
    if (document === undefined) return reply.send(404, TEXT, "Not found");
    const cors = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };
    if (request.method === "OPTIONS")
      return reply.send(204, { ...cors, "access-control-allow-methods": "GET" });
    reply.send(200, { ...cors, "content-type": "application/json" }, document);
  };
  const serveOther = async (request: HttpRequest, reply: HttpReply, path: string): Promise<void> => {
    if (path === "/healthz") return reply.send(200, TEXT, "ok");
    if (path === "/readyz") {
      const isReady = !isClosing && (await parts.isReady());
      if (isReady) return reply.send(200, TEXT, "ready");
      return reply.send(503, TEXT, isClosing ? "closing" : "the store is away");
    }
    if (path.startsWith("/.well-known/")) return sendMetadata(request, reply, path);
    // Links to a page come from other sites, so only the host is checked; the page checks the rest.
    const header = (name: string) => (name === "host" ? request.header(name) : undefined);
    if (isPage(path) && refusalOf({ header }, rules) === undefined) {
      const page = parts.connect?.handle(request.toRequest());
      if (page !== undefined) return reply.respond(await page);
    }
    reply.send(404, TEXT, "Not found");
  };
  /** Serves one request. Never rejects. */
  const handle = (request: HttpRequest, reply: HttpReply): Promise<void> => {
    const [path = ""] = request.target.split("?", 1);
    if (path === own || path === `${own}/`) return endpoint.handle(request, reply);
    const unmounted = isKnown(path) ? undefined : request.unmounted?.();
    return unmounted === undefined ? serveOther(request, reply, path) : handle(unmounted, reply);
  };
  return {
    handle,
    async close(drainMs: number): Promise<void> {
      isClosing = true;
      await endpoint.close(drainMs);
      authenticator.close();
    },
  };
}

const allowedHosts = ({ allowedHosts: hosts, url }: GatewayOptions): readonly string[] =>
  hosts ?? (url === undefined ? LOOPBACK_HOSTS : [new URL(url).hostname, ...LOOPBACK_HOSTS]);
