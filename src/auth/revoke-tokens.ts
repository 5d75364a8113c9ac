/** Tells the authorization server that tokens are no longer wanted (RFC 7009). */
import { authenticateAs, type OAuthClient } from "./client-authentication.js";
import type { TokenRecord } from "./token-record.js";

/** Best effort: true if it said that they are gone, or there is no place to say it. */
export async function revokeTokens(
  record: TokenRecord,
  client: OAuthClient,
  fetch: typeof globalThis.fetch,
): Promise<boolean> {
  const endpoint = record.at.revocationEndpoint;
  if (endpoint === undefined) return true;
  const { accessToken, refreshToken } = record;
  // The refresh token first: most servers end its access tokens with it.
  const wanted = [
    [refreshToken, "refresh_token"],
    [accessToken, "access_token"],
  ] as const;
  try {
    const authenticate = await authenticateAs(client);
    for (const [token, hint] of wanted) {
      if (token === undefined) continue;
      const headers = new Headers({ accept: "application/json" });
      const body = new URLSearchParams({ token, token_type_hint: hint });
      await authenticate(headers, body, endpoint);
      headers.set("content-type", "application/x-www-form-urlencoded");
      const response = await fetch(endpoint, { method: "POST", headers, body, redirect: "manual" });
      if (!response.ok) return false;
    }
    return true;
  } catch {
    return false;
  }
}
