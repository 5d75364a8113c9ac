/** Redirects: follows those that keep the method and the origin, and explains why others are not followed. */

import { ConnectionError, canParseUrl } from "@toolport/base";
import type { ResponseHeaders, WireResponse } from "./wire-client.js";

/** Maximum number of consecutive redirects. */
export const MAX_REDIRECTS = 5;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The URL to send the request to; undefined if the response is not a redirect, or one that must not be followed. */
export function redirectTarget(
  { status, headers }: WireResponse,
  from: URL,
  method: string,
): URL | undefined {
  const location = REDIRECTS.has(status) ? headers.get("location") : null;
  if (location === null || !canParseUrl(location, from.href)) return undefined;
  const target = new URL(location, from);
  const keepsMethod = method === "GET" || status === 307 || status === 308;
  const keepsUser =
    (target.username === "" && target.password === "") ||
    (target.username === from.username && target.password === from.password);
  return keepsMethod && keepsUser && isWithinOrigin(from, target) ? target : undefined;
}

/** The error for a redirect that is not followed. It names the target. */
export function redirectError(
  { status, headers }: { status: number; headers: Pick<ResponseHeaders, "get"> },
  from: URL,
  method: string,
): ConnectionError {
  const location = headers.get("location");
  const target = location !== null && canParseUrl(location, from.href) ? new URL(location, from) : undefined;
  const { why, next } = explain(target, from, { status, method });
  return new ConnectionError({
    code: "HTTP_STATUS",
    what: `The server redirects${target === undefined ? "" : ` to ${shown(target)}`} (HTTP ${status}), which is not followed: ${why}`,
    next,
    status,
    outcome: "unknown",
  });
}

function explain(
  target: URL | undefined,
  from: URL,
  { status, method }: { status: number; method: string },
): { why: string; next: string } {
  if (target === undefined)
    return { why: "it names no valid address", next: "Check the URL of the server, or ask its operator" };
  if (target.username !== "" || target.password !== "")
    return { why: "the address contains a user name", next: "Ask the server's operator for its address" };
  if (isSecure(from) && !isSecure(target))
    return { why: "it is not encrypted", next: "Ask the server's operator for an https address" };
  const next = `Set the server's url to ${shown(target)}`;
  if (from.hostname !== target.hostname)
    return {
      why: "it is on another host, which would get the credentials",
      next: `If you trust it: ${next}`,
    };
  if (!isWithinOrigin(from, target)) return { why: "it is another origin", next };
  if (method !== "GET" && status !== 307 && status !== 308)
    return { why: `this status turns ${method} into GET`, next };
  return {
    why: `there were more than ${MAX_REDIRECTS} redirects in a row`,
    next: "Ask the server's operator",
  };
}

const isSecure = ({ protocol }: URL): boolean => protocol === "https:" || protocol === "wss:";

/** Without the query, which may contain a key. */
const shown = ({ protocol, host, pathname }: URL): string => `${protocol}//${host}${pathname}`.slice(0, 300);

/** The same origin, or its https form with both on the default port. */
function isWithinOrigin(from: URL, to: URL): boolean {
  if (from.origin === to.origin) return true;
  const upgraded = from.protocol === "http:" && to.protocol === "https:";
  return upgraded && from.hostname === to.hostname && from.port === "" && to.port === "";
}
