/** Cookies that bind a login to one browser. */
import { hash } from "node:crypto";

/** Logins of several servers may run in one browser at once, so each `state` has a cookie of its own. */
export function cookieNameOf(kind: "login" | "upstream", state: string): string {
  return `__Host-toolport-${kind}-${hashOf(state).slice(0, 16)}`;
}

export const hashOf = (text: string): string => hash("sha256", text, "base64url");

/** `__Host-` makes browsers insist on Secure, on Path=/ and on this host alone, so that no other host can set it. */
const ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Lax";

export const setCookie = (name: string, value: string, maxAgeMs: number): string =>
  `${name}=${value}; Max-Age=${Math.floor(maxAgeMs / 1_000)}; ${ATTRIBUTES}`;

export const deleteCookie = (name: string): string => `${name}=; Max-Age=0; ${ATTRIBUTES}`;

/** The value of a cookie that is present exactly once. */
export function readCookie(request: Request, name: string): string | undefined {
  const values = (request.headers.get("cookie") ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? values[0] : undefined;
}
