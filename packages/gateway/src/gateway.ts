/** Offers the servers of a port as one MCP server: over HTTP, stdio and in memory, for any number of users and replicas. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { loadOnce, timerMs } from "@toolport/base";
import type { Toolport } from "@toolport/core";
import type { Users } from "@toolport/core/internal";
import { type Authenticator, createAuthenticator } from "./auth/authenticator.js";
import { type Connect, checkConnectOptions } from "./auth/connect.js";
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
type Connections = Set<{ close(drainMs: number): Promise<void> }>;

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
  let router: HttpRouter | undefined;
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
        router ??= new HttpRouter(parts, authenticator(), options);
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
          ...[...connections].map((connection) => connection.close(limitMs)),
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

/** A transport for a client in this process. Its connection begins with `start()`. */
function memoryTransport(start: () => Promise<GatewayParts>, connections: Connections): Transport {
  let connection: MessageConnection | undefined;
  const member = {
    async close(drainMs: number) {
      await connection?.drain(drainMs);
      close();
    },
  };
  const close = (): void => {
    if (connection === undefined) return;
    connection.close();
    connection = undefined;
    connections.delete(member);
    transport.onclose?.();
  };
  const transport: Transport = {
    async start() {
      connection = new MessageConnection(await start(), undefined, (text) => {
        const message = JSON.parse(text) as JSONRPCMessage;
        queueMicrotask(() => transport.onmessage?.(message));
      });
      connections.add(member);
    },
    async send(message) {
      if (connection === undefined) throw new Error("The connection is not open");
      void connection.receive(readMessage(structuredClone(message)));
    },
    close: async () => close(),
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
  const connection = new MessageConnection(parts, undefined, (text) => void output.write(`${text}\n`));
  let settle!: () => void;
  const over = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const member = {
    async close(limitMs: number) {
      await connection.drain(limitMs);
      settle();
    },
  };
  connections.add(member);
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
    if (rest.length > MAX_LINE) settle();
  };
  input.setEncoding("utf8");
  input.on("data", onData);
  const onEnd = () => void connection.drain(drainMs).then(settle);
  input.on("end", onEnd);
  input.on("close", onEnd);
  output.on("error", settle);
  await over;
  input.off("data", onData);
  connections.delete(member);
  connection.close();
}

const TEXT = { "content-type": "text/plain" } as const;

class HttpRouter {
  readonly #endpoint: HttpEndpoint;
  readonly #authenticator: Authenticator;
  readonly #parts: GatewayParts;
  readonly #rules: GuardRules;
  readonly #connect: Connect | undefined;
  readonly #path: string;
  #isClosing = false;

  constructor(parts: GatewayParts, authenticator: Authenticator, options: GatewayOptions) {
    this.#parts = parts;
    this.#authenticator = authenticator;
    this.#connect = parts.connect;
    this.#path = options.path ?? "/mcp";
    this.#rules = {
      allowedHosts: new Set(allowedHosts(options).map((host) => host.toLowerCase())),
      allowedOrigins: new Set(options.allowedOrigins),
    };
    this.#endpoint = new HttpEndpoint(parts, {
      rules: this.#rules,
      body: {
        maxBytes: options.maxBodyBytes ?? MAX_BODY_BYTES,
        timeoutMs: timerMs(options.bodyTimeoutMs ?? 30_000),
      },
      legacy: options.legacy ?? true,
      authenticate: authenticator.authenticate,
    });
  }

  /** Serves one request. Never rejects. */
  handle(request: HttpRequest, reply: HttpReply): Promise<void> {
    const [path = ""] = request.target.split("?", 1);
    if (path === this.#path || path === `${this.#path}/`) return this.#endpoint.handle(request, reply);
    const whole = this.#isKnown(path) ? undefined : request.unmounted?.();
    return whole === undefined ? this.#other(request, reply, path) : this.handle(whole, reply);
  }

  #isKnown = (path: string): boolean =>
    path === "/healthz" || path === "/readyz" || path.startsWith("/.well-known/") || this.#isPage(path);

  async #other(request: HttpRequest, reply: HttpReply, path: string): Promise<void> {
    if (path === "/healthz") return reply.send(200, TEXT, "ok");
    if (path === "/readyz") return this.#ready(reply);
    if (path.startsWith("/.well-known/")) return this.#metadata(request, reply, path);
    // Links to a page come from other sites, so only the host is checked; the page checks the rest.
    const header = (name: string) => (name === "host" ? request.header(name) : undefined);
    if (this.#isPage(path) && refusalOf({ header }, this.#rules) === undefined) {
      const page = this.#connect?.handle(request.toRequest());
      if (page !== undefined) return reply.respond(await page);
    }
    reply.send(404, TEXT, "Not found");
  }

  async #ready(reply: HttpReply): Promise<void> {
    const isReady = !this.#isClosing && (await this.#parts.isReady());
    if (isReady) return reply.send(200, TEXT, "ready");
    reply.send(503, TEXT, this.#isClosing ? "closing" : "the store is away");
  }

  /** Public, for clients in browsers too. */
  #metadata(request: HttpRequest, reply: HttpReply, path: string): void {
    const document = this.#authenticator.metadata(path);
    if (document === undefined) return reply.send(404, TEXT, "Not found");
    const cors = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };
    if (request.method === "OPTIONS")
      return reply.send(204, { ...cors, "access-control-allow-methods": "GET" });
    reply.send(200, { ...cors, "content-type": "application/json" }, document);
  }

  #isPage = (path: string): boolean =>
    path.includes("/connect/") && path.startsWith("/") && !path.startsWith("//");

  async close(drainMs: number): Promise<void> {
    this.#isClosing = true;
    await this.#endpoint.close(drainMs);
    this.#authenticator.close();
  }
}

const allowedHosts = ({ allowedHosts: hosts, url }: GatewayOptions): readonly string[] =>
  hosts ?? (url === undefined ? LOOPBACK_HOSTS : [new URL(url).hostname, ...LOOPBACK_HOSTS]);
