/** Logs out: revokes and deletes the tokens, and deletes everything prepared for the next login. */
import type { AccessTokens } from "./access-tokens.js";
import { bindingKey, loginKey, pendingKey, proofKeyKey, tokensKey } from "./credential-records.js";
import { clientAuthenticator, forgetRegistration, type OAuthClient, restoreClient } from "./oauth-client.js";
import { guardedFetchOf, type OAuthContext, redirectUrlOf } from "./oauth-context.js";
import { readStartedLogin } from "./start-authorization.js";
import type { TokenRecord } from "./token-record.js";

/** Another process may refresh the tokens during the logout; its tokens have to be deleted too. */
const MAX_ROUNDS = 5;

export async function logOut(context: OAuthContext, tokens: AccessTokens): Promise<void> {
  const { store, options, serverUrl } = context;
  const issuers = new Set<string>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    tokens.cache.clear();
    const held = await tokens.cache.read();
    if (held !== undefined) {
      issuers.add(held.record.at.issuer);
      await revoke(context, held.record);
    }
    const version = held?.version ?? (await tokens.cache.version());
    if (version === 0 || (await store.delete(tokensKey(context), { ifVersion: version }))) break;
  }
  const waiting = readStartedLogin(await store.get(loginKey(context)));
  if (waiting !== undefined) {
    issuers.add(waiting.issuer);
    await store.delete(pendingKey(waiting.stateHash));
  }
  await store.delete(loginKey(context));
  await store.delete(proofKeyKey(context));
  const redirectUrl = redirectUrlOf(context);
  for (const issuer of redirectUrl === undefined ? [] : issuers)
    await forgetRegistration(context, { issuer, redirectUrl: redirectUrl!, clientId: undefined });
  if (options.clientId !== undefined) await store.delete(bindingKey(options.clientId, serverUrl));
  tokens.clear();
}

async function revoke(context: OAuthContext, record: TokenRecord): Promise<void> {
  const client = restoreClient(record.client, context.options);
  const isDone = client !== undefined && (await revokeTokens(record, client, await guardedFetchOf(context)));
  if (!isDone)
    context.warn("The authorization server did not confirm the logout; the tokens are deleted here");
}

/** Revokes the tokens (RFC 7009). True if the server confirmed it, or has no revocation endpoint. Never rejects. */
async function revokeTokens(
  record: TokenRecord,
  client: OAuthClient,
  fetch: typeof globalThis.fetch,
): Promise<boolean> {
  const endpoint = record.at.revocationEndpoint;
  if (endpoint === undefined) return true;
  const { accessToken, refreshToken } = record;
  // The refresh token first: most servers revoke its access tokens with it.
  const wanted = [
    [refreshToken, "refresh_token"],
    [accessToken, "access_token"],
  ] as const;
  try {
    const authenticate = await clientAuthenticator(client);
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
