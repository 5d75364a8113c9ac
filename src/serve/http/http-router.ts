/** The paths of a gateway: the MCP endpoint, health, metadata, and the pages for logins. */
import type { Authenticator, HeaderReader } from "../auth/authenticator.js";
import type { Connect } from "../auth/connect.js";
import type { GatewayOptions } from "../gateway-options.js";
import type { GatewayParts } from "../request-context.js";
import { LOOPBACK_HOSTS } from "./guards.js";
import { HttpEndpoint } from "./handle-http.js";
import type { HttpReply, HttpRequest } from "./http-request.js";

const TEXT = { "content-type": "text/plain" } as const;

export class HttpRouter {
  readonly #endpoint: HttpEndpoint;
  readonly #authenticator: Authenticator;
  readonly #connect: Connect | undefined;
  readonly #path: string;
  #isClosing = false;

  constructor(parts: GatewayParts, authenticator: Authenticator, options: GatewayOptions) {
    this.#authenticator = authenticator;
    this.#connect = parts.connect;
    this.#path = options.path ?? "/mcp";
    this.#endpoint = new HttpEndpoint(parts, {
      rules: {
        allowedHosts: new Set(allowedHosts(options).map((host) => host.toLowerCase())),
        allowedOrigins: new Set(options.allowedOrigins),
      },
      maxBodyBytes: options.maxBodyBytes ?? 4 * 1024 * 1024,
      legacy: options.legacy ?? true,
      authenticate: (request) => authenticator.authenticate(headersOf(request), () => request.toRequest()),
    });
  }

  /** Serves one request. Never rejects. */
  async handle(request: HttpRequest, reply: HttpReply): Promise<void> {
    const { target } = request;
    const query = target.indexOf("?");
    const path = query === -1 ? target : target.slice(0, query);
    if (path === this.#path || path === `${this.#path}/`) return this.#endpoint.handle(request, reply);
    if (path === "/healthz") return reply.send(200, TEXT, "ok");
    if (path === "/readyz")
      return this.#isClosing ? reply.send(503, TEXT, "closing") : reply.send(200, TEXT, "ready");
    const page = this.#connect?.handle(request.toRequest());
    if (page !== undefined) return reply.respond(await page);
    const metadata = request.method === "GET" ? this.#authenticator.metadata(path) : undefined;
    if (metadata !== undefined)
      return reply.send(
        200,
        { "content-type": "application/json", "access-control-allow-origin": "*" },
        metadata,
      );
    reply.send(404, TEXT, "Not found");
  }

  async close(drainMs: number): Promise<void> {
    this.#isClosing = true;
    await this.#endpoint.close(drainMs);
    this.#authenticator.close();
  }
}

const headersOf = (request: HttpRequest): HeaderReader => ({ get: (name) => request.header(name) });

function allowedHosts({ allowedHosts: given, url }: GatewayOptions): readonly string[] {
  if (given !== undefined) return given;
  return url === undefined ? LOOPBACK_HOSTS : [new URL(url).hostname, ...LOOPBACK_HOSTS];
}
