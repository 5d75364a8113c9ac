/** Which URLs may be put in front of a user's browser. */
import { createAddressRule, type GuardOptions } from "../transports/http/guarded-fetch.js";
import { canonicalHost, isLoopbackHost } from "../transports/http/private-address.js";
import { authFailed } from "./auth-failures.js";

/** What a URL of an endpoint is made of. No blanks or line breaks, which parsers swallow, and nothing a shell reads. */
const PLAIN = /^[A-Za-z0-9\-._~:/?[\]@!&*+,=%]+$/;

const refused = (why: string) =>
  authFailed(
    `The authorization server's login page has an address that ${why}`,
    "Do not open it by hand; ask the server's operator for an https: address",
  );

/**
 * The URL, if a browser may be sent there: https, or http on this machine. An allow-list: whatever scheme programs of
 * this machine have registered for themselves, a server must not be able to start them.
 *
 * @throws AuthError, or ConnectionError for private addresses
 */
export function checkLoginPage(text: string, guard: GuardOptions): URL {
  if (!PLAIN.test(text) || !URL.canParse(text)) throw refused("is not a plain URL");
  const url = new URL(text);
  const isLocal = url.protocol === "http:" && isLoopbackHost(canonicalHost(url));
  if (url.protocol !== "https:" && !isLocal) throw refused("is neither https: nor on this machine");
  if (url.username !== "" || url.password !== "") throw refused("has a user name in it");
  createAddressRule(guard)(url);
  return url;
}
