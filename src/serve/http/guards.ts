/** Checks of an HTTP request that come before its credentials and its body. */
import type { Headers, HttpRequest } from "./http-request.js";

export interface GuardRules {
  /** Host names without port; undefined: any. */
  readonly allowedHosts: ReadonlySet<string> | undefined;
  readonly allowedOrigins: ReadonlySet<string>;
}

export const LOOPBACK_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** Why a request is refused: DNS rebinding, or a page of another site. */
export function refusalOf(
  request: Pick<HttpRequest, "header">,
  { allowedHosts, allowedOrigins }: GuardRules,
): string | undefined {
  const host = request.header("host");
  if (allowedHosts !== undefined && (host === undefined || !isAllowedHost(host, allowedHosts)))
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

function isAllowedHost(host: string, allowed: ReadonlySet<string>): boolean {
  const lower = host.toLowerCase();
  if (allowed.has(lower)) return true;
  const colon = lower.lastIndexOf(":");
  return colon !== -1 && /^\d+$/.test(lower.slice(colon + 1)) && allowed.has(lower.slice(0, colon));
}

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
