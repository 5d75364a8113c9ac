/** Which URLs may be put in front of a user's browser, and which authorization servers a user may be sent to. */
import { AuthError } from "../../../errors/auth-error.js";
import type { AddressRuleOptions } from "../network/address-rule.js";
import { canonicalHost, isLoopbackHost } from "../network/local-host.js";

/** What a URL of an endpoint is made of. No blanks or line breaks, which parsers swallow, and nothing a shell reads. */
const PLAIN = /^[A-Za-z0-9\-._~:/?[\]@!&*+,=%]+$/;

const failed = (what: string, next: string) =>
  new AuthError({ code: "AUTH_FAILED", what, next, outcome: "unsent" });

const refused = (why: string) =>
  failed(
    `The authorization server's login page has an address that ${why}`,
    "Do not open it by hand; ask the server's operator for an https: address",
  );

/**
 * The URL, if a browser may be sent there: https, or http on this machine. An allow-list: whatever scheme programs of
 * this machine have registered for themselves, a server must not be able to start them.
 *
 * @throws AuthError, or ConnectionError for private addresses
 */
export async function checkLoginPage(text: string, guard: AddressRuleOptions): Promise<URL> {
  if (!PLAIN.test(text) || !URL.canParse(text)) throw refused("is not a plain URL");
  const url = new URL(text);
  const isLocal = url.protocol === "http:" && isLoopbackHost(canonicalHost(url));
  if (url.protocol !== "https:" && !isLocal) throw refused("is neither https: nor on this machine");
  if (url.username !== "" || url.password !== "") throw refused("has a user name in it");
  const { createAddressRule } = await import("../network/address-rule.js");
  createAddressRule(guard)(url);
  return url;
}

/**
 * Metadata that does not list S256 means a server without PKCE, however willing it looks.
 *
 * @throws AuthError
 */
export function checkPkce(metadata: {
  readonly code_challenge_methods_supported?: readonly string[] | undefined;
}): void {
  if (metadata.code_challenge_methods_supported?.includes("S256") === true) return;
  throw failed(
    "The authorization server does not say that it protects logins by PKCE (S256)",
    "Ask its operator to list `S256` in `code_challenge_methods_supported`",
  );
}
