/** The paths of a gateway: the MCP endpoint, health, metadata, and the pages for logins. */
import type { Authenticator, HeaderReader } from "../auth/authenticator.js";
import type { Connect } from "../auth/connect.js";
import { type GatewayOptions, MAX_BODY_BYTES } from "../gateway-options.js";
import type { GatewayParts } from "../request-context.js";
import { type GuardRules, LOOPBACK_HOSTS, refusalOf } from "./guards.js";
import { HttpEndpoint } from "./handle-http.js";
import type { HttpReply, HttpRequest } from "./http-request.js";

const TEXT = { "content-type": "text/plain" } as const;

export class HttpRouter {
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
        timeoutMs: options.bodyTimeoutMs ?? 30_000,
      },
      legacy: options.legacy ?? true,
      authenticate: (request) => authenticator.authenticate(headersOf(request), () => request.toRequest()),
    });
  }

  /** Serves one request. Never rejects. */
  handle(request: HttpRequest, reply: HttpReply): Promise<void> {
    const { target } = request;
    const query = target.indexOf("?");
    const path = query === -1 ? target : target.slice(0, query);
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
    if (
      this.#isPage(path) &&
      refusalOf({ header: (name) => hostOnly(request, name) }, this.#rules) === undefined
    ) {
      const page = this.#connect?.handle(request.toRequest());
      if (page !== undefined) return reply.respond(await page);
    }
    reply.send(404, TEXT, "Not found");
  }

  async #ready(reply: HttpReply): Promise<void> {
    const isReady = !this.#isClosing && (await this.#parts.isReady());
    reply.send(
      isReady ? 200 : 503,
      TEXT,
      isReady ? "ready" : this.#isClosing ? "closing" : "the store is away",
    );
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

/** Links to a page come from other sites, so only the host is checked; the page checks the rest. */
const hostOnly = (request: HttpRequest, name: string): string | undefined =>
  name === "host" ? request.header(name) : undefined;

const headersOf = (request: HttpRequest): HeaderReader => ({ get: (name) => request.header(name) });

function allowedHosts({ allowedHosts: given, url }: GatewayOptions): readonly string[] {
  if (given !== undefined) return given;
  return url === undefined ? LOOPBACK_HOSTS : [new URL(url).hostname, ...LOOPBACK_HOSTS];
}
