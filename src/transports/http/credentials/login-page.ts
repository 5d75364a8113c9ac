/** Checks the URL of a login page and the PKCE support of an authorization server before a browser opens it. */

import { AuthError } from "../../../errors/toolport-error.js";
import { canParseUrl } from "../../../util/text.js";
import type { AddressRuleOptions } from "../network/address-rule.js";
import { canonicalHost, isLoopbackHost } from "../network/local-host.js";

/** Characters of a plain URL: no whitespace, which parsers remove, and no shell metacharacters. */
const PLAIN = /^[A-Za-z0-9\-._~:/?[\]@!&*+,=%]+$/;

const failed = (what: string, next: string) =>
  new AuthError({ code: "AUTH_FAILED", what, next, outcome: "unsent" });

const refused = (why: string) =>
  failed(
    `The authorization server's login page has an address that ${why}`,
    "Do not open it by hand; ask the server's operator for an https: address",
  );

/**
 * Returns the URL if a browser may open it: https, or http on this machine. Other schemes are refused, because a server
 * could start any program of this machine that has registered one.
 *
 * @throws AuthError, or ConnectionError for private addresses
 */
export async function checkLoginPage(text: string, guard: AddressRuleOptions): Promise<URL> {
  if (!PLAIN.test(text) || !canParseUrl(text)) throw refused("is not a plain URL");
  const url = new URL(text);
  const isLocal = url.protocol === "http:" && isLoopbackHost(canonicalHost(url));
  if (url.protocol !== "https:" && !isLocal) throw refused("is neither https: nor on this machine");
  if (url.username !== "" || url.password !== "") throw refused("has a user name in it");
  const { createAddressRule } = await import("../network/address-rule.js");
  createAddressRule(guard)(url);
  return url;
}

/**
 * Metadata that does not list S256 means that the server does not support PKCE.
 *
 * @throws AuthError
 */
export function checkPkce(metadata: {
  readonly code_challenge_methods_supported?: readonly string[] | undefined;
}): void {
  if (metadata.code_challenge_methods_supported?.includes("S256") === true) return;
  throw failed(
    "The authorization server's metadata does not list PKCE with S256",
    "Ask its operator to list `S256` in `code_challenge_methods_supported`",
  );
}
