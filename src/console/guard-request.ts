/** Who may speak to the console: only its own page, with its token, under its own name. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** Why a request is turned away; told by its status alone. */
export type Refusal = 401 | 403;

export interface GuardOptions {
  /** E.g. `127.0.0.1:4321`. */
  readonly host: string;
  readonly token: string;
}

/** Headers that are sent with everything, refusals too. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

/** A site elsewhere may have pointed its name to this machine, or send requests from its own page. */
export function refuseForeign(request: IncomingMessage, { host }: GuardOptions): Refusal | undefined {
  const { headers } = request;
  if (headers.host !== host) return 403;
  if (headers.origin !== undefined && headers.origin !== `http://${host}`) return 403;
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return undefined;
  // A link that somebody follows: the page opens in a tab of its own, and without a token it shows nothing.
  return isLink(request) ? undefined : 403;
}

const isLink = ({ method, url, headers }: IncomingMessage): boolean =>
  method === "GET" &&
  url === "/" &&
  headers["sec-fetch-mode"] === "navigate" &&
  headers["sec-fetch-dest"] === "document";

/** The end of a login is a visit from elsewhere: a browser that was sent here, with nothing but a URL. */
export function refuseVisitor(request: IncomingMessage, { host }: GuardOptions): Refusal | undefined {
  const { headers, method } = request;
  if (headers.host !== host || method !== "GET" || headers.origin !== undefined) return 403;
  const mode = headers["sec-fetch-mode"];
  return mode === undefined || mode === "navigate" ? undefined : 403;
}

export function refuseStranger(request: IncomingMessage, { token }: GuardOptions): Refusal | undefined {
  const given = /^Bearer (\S{1,256})$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
  // Of equal length whatever was sent, and compared without telling how much of it is right.
  return timingSafeEqual(digest(given), digest(token)) ? undefined : 401;
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
