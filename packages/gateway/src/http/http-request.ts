/** One HTTP request and its response, independent of the server that received it, and the requests that are refused. */

import { Fault, INVALID_REQUEST } from "../faults.js";
import type { RequestId } from "../message.js";
import { errorText, type Json } from "../results.js";

export interface HttpRequest {
  readonly method: string;
  /** Path with query. */
  readonly target: string;
  /** The same request at its whole path, if a framework has removed a prefix (`app.use("/mcp", …)` of Express). */
  unmounted?(): HttpRequest | undefined;
  /** Undefined if the header is missing. */
  header(name: string): string | undefined;
  /** The body as text. Rejects with a `Fault` if it is too long, or takes too long. */
  body(limits: BodyLimits): Promise<string>;
  /** The same request for user code. */
  toRequest(): Request;
}

export interface BodyLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
  /** Called with the length of each piece. Throws a `Fault` if the bodies of the user are too long together. */
  takeBytes(bytes: number): void;
}

export type Headers = Readonly<Record<string, string>>;

export interface HttpReply {
  /** Sends the whole response. */
  send(status: number, headers: Headers, body?: Json): void;
  /** Sends a response of web code, with all its cookies. */
  respond(response: Response): Promise<void>;
  /** Begins a response that stays open. Its headers are sent with the first text, or by `flush`. */
  open(headers: Headers): EventSink;
  /** Calls the listener once if the client goes away before the response is complete. */
  onGone(listener: () => void): void;
  /**
   * Undefined if the response has left this process, or nearly. Otherwise resolves when it has, or when the client is gone. A client
   * that reads nothing for `stalledMs` is cut.
   */
  untilSent(stalledMs: number): Promise<void> | undefined;
}

/** An open response. */
export interface EventSink {
  /** Sends the headers now. */
  flush(): void;
  /** False if the client reads more slowly than the gateway writes. */
  write(text: string): boolean;
  /** Calls the listener each time the client has read everything. */
  onDrain(listener: () => void): void;
  end(): void;
  /** Cuts the connection. */
  destroy(): void;
}

export const JSON_HEADERS = { "content-type": "application/json" } as const;

/** A request that could not be served at all has another status than 200. */
export function sendFault(
  reply: HttpReply,
  fault: Fault,
  { id, headers }: { id: RequestId | null; headers: Headers },
): void {
  const status = fault.status === 200 ? 400 : fault.status;
  reply.send(status, { ...headers, ...JSON_HEADERS, ...fault.headers }, errorText(id, fault));
}

export function refuse(reply: HttpReply, status: number, message: string, headers: Headers = {}): void {
  reply.send(status, { ...headers, ...JSON_HEADERS }, errorText(null, { code: -32000, message }));
}

export const bodyTooSlow = (timeoutMs: number): Fault =>
  new Fault(INVALID_REQUEST, `The body did not arrive within ${timeoutMs} ms`, { status: 408 });

export const bodyTooLarge = (maxBytes: number, headers?: Headers): Fault =>
  new Fault(INVALID_REQUEST, `The body is larger than ${maxBytes} bytes`, { status: 413, headers });

export interface GuardRules {
  /** Host names without port. */
  readonly allowedHosts: ReadonlySet<string>;
  readonly allowedOrigins: ReadonlySet<string>;
}

export const LOOPBACK_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** Why a request is refused: DNS rebinding, or a page of another site. */
export function refusalOf(
  request: Pick<HttpRequest, "header">,
  { allowedHosts, allowedOrigins }: GuardRules,
): string | undefined {
  const host = request.header("host");
  const name = host?.toLowerCase() ?? "";
  if (!allowedHosts.has(name) && !allowedHosts.has(name.replace(/:\d+$/, "")))
    return "This host name is not allowed";
  const origin = request.header("origin");
  if (origin === undefined) {
    // Browsers send this header even where they leave out the origin.
    const site = request.header("sec-fetch-site");
    return site === undefined || site === "none" || site === "same-origin"
      ? undefined
      : "Requests from pages of other sites are not allowed";
  }
  return allowedOrigins.has(origin) || isSameOrigin(origin, host) ? undefined : "This origin is not allowed";
}

/** A page of the gateway's own host, which is allowed. */
const isSameOrigin = (origin: string, host: string | undefined): boolean =>
  host !== undefined && /^https?:\/\//i.test(origin) && origin.replace(/^https?:\/\//i, "") === host;

/** Headers for pages of an allowed origin. */
export function corsHeaders(request: HttpRequest, { allowedOrigins }: GuardRules): Headers {
  const origin = request.header("origin");
  if (origin === undefined || !allowedOrigins.has(origin)) return {};
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "mcp-session-id, www-authenticate",
    vary: "origin",
  };
}

export const PREFLIGHT_HEADERS = {
  "access-control-allow-methods": "POST, GET, DELETE, OPTIONS",
  "access-control-max-age": "600",
} as const;
