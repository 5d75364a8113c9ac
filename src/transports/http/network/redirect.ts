/** Redirects that are followed: those that keep the method and the origin. */
import type { WireAnswer } from "./wire.js";

/** So many in a row, and no more. */
export const MAX_REDIRECTS = 5;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Where to ask again; undefined if the answer is no redirect, or none that may be followed. */
export function redirectTarget({ status, headers }: WireAnswer, from: URL, method: string): URL | undefined {
  const location = REDIRECTS.has(status) ? headers.get("location") : null;
  if (location === null || !URL.canParse(location, from.href)) return undefined;
  const target = new URL(location, from);
  const keepsMethod = method === "GET" || status === 307 || status === 308;
  const keepsUser =
    (target.username === "" && target.password === "") ||
    (target.username === from.username && target.password === from.password);
  return keepsMethod && keepsUser && isWithinOrigin(from, target) ? target : undefined;
}

/** The same origin, or its https form with both on the default port. */
function isWithinOrigin(from: URL, to: URL): boolean {
  if (from.origin === to.origin) return true;
  const upgraded = from.protocol === "http:" && to.protocol === "https:";
  return upgraded && from.hostname === to.hostname && from.port === "" && to.port === "";
}
