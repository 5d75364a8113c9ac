/** Checks that a request comes from the console's own page, with its token and host name. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** HTTP status of a rejected request. */
export type RejectionStatus = 401 | 403;

export interface GuardOptions {
  /** E.g. `127.0.0.1:4321`. */
  readonly host: string;
  readonly token: string;
}

/** Headers of every response, including rejections. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
    // Applies to every navigation of a frame, so that an app cannot leave its document.
    "frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

/** Rejects DNS rebinding and requests from pages of other sites. */
export function checkOrigin(request: IncomingMessage, { host }: GuardOptions): RejectionStatus | undefined {
  const { headers } = request;
  if (headers.host !== host) return 403;
  if (headers.origin !== undefined && headers.origin !== `http://${host}`) return 403;
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return undefined;
  // Allow links to the page: without a token it shows nothing.
  return isLink(request) ? undefined : 403;
}

const isLink = ({ method, url, headers }: IncomingMessage): boolean =>
  method === "GET" &&
  url === "/" &&
  headers["sec-fetch-mode"] === "navigate" &&
  headers["sec-fetch-dest"] === "document";

/** Checks a login redirect, which comes from another site as a plain navigation. */
export function checkCallback(request: IncomingMessage, { host }: GuardOptions): RejectionStatus | undefined {
  const { headers, method } = request;
  if (headers.host !== host || method !== "GET" || headers.origin !== undefined) return 403;
  const { "sec-fetch-mode": mode, "sec-fetch-dest": target } = headers;
  // Not in a frame: an app can lead its own frame here.
  const isPage = (mode ?? "navigate") === "navigate" && (target ?? "document") === "document";
  return isPage ? undefined : 403;
}

export function checkToken(request: IncomingMessage, { token }: GuardOptions): RejectionStatus | undefined {
  const given = /^Bearer (\S{1,256})$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
  // Compare hashes, which have equal length, in constant time.
  return timingSafeEqual(digest(given), digest(token)) ? undefined : 401;
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
