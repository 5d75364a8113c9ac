/** Tokens without a user: the program's own credentials, a platform's word, or an identity provider's. */
import type { DpopSession } from "@modelcontextprotocol/client";
import type { EnterpriseAuthorization, OAuthOptions } from "../config/oauth-options.js";
import { dropUnknownLifetimes } from "../transports/http/credentials/token-lifetime.js";
import { createGuardedFetch } from "../transports/http/network/guarded-fetch.js";
import { authFailed, authUnavailable, issuerMismatch } from "./auth-failures.js";
import type { AuthorizationServer } from "./authorization-server.js";
import type { OAuthClient } from "./client-authentication.js";
import type { OAuthContext } from "./oauth-context.js";
import { observeFetch } from "./observed-fetch.js";
import { requestTokens, type TokenAnswer } from "./token-requests.js";

export interface GrantParts {
  readonly context: OAuthContext;
  readonly at: AuthorizationServer;
  readonly client: OAuthClient;
  readonly resource: string;
  readonly scope: string | undefined;
  readonly fetch: typeof globalThis.fetch;
  readonly dpop: DpopSession | undefined;
}

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

export async function requestByGrant(parts: GrantParts): Promise<TokenAnswer> {
  const { at, client, resource, fetch, dpop, scope } = parts;
  const params = { ...(await grantOf(parts)), ...(scope !== undefined && { scope }) };
  return requestTokens({ at, client, resource, fetch, dpop, params });
}

async function grantOf(parts: GrantParts): Promise<Record<string, string>> {
  const { options } = parts.context;
  switch (options.grant) {
    case "jwt-bearer":
      return { grant_type: JWT_BEARER, assertion: await ask(options.assertion, "assertion") };
    case "enterprise":
      return { grant_type: JWT_BEARER, assertion: await vouchFor(options.enterprise, parts) };
    default:
      return { grant_type: "client_credentials" };
  }
}

/** A text of the user's, perhaps asked for anew each time. */
async function ask(source: OAuthOptions["assertion"], name: string): Promise<string> {
  let text: unknown;
  try {
    text = typeof source === "function" ? await source() : source;
  } catch {
    throw authFailed(`The function in \`oauth.${name}\` failed`, undefined, { retryable: true });
  }
  if (typeof text === "string" && text !== "") return text;
  throw authFailed(`There is no \`oauth.${name}\``, "Configure it");
}

/** The identity provider's word for the user, made out to this one authorization server and resource (ID-JAG). */
async function vouchFor(
  enterprise: EnterpriseAuthorization | undefined,
  { context, at, resource, scope }: GrantParts,
): Promise<string> {
  if (enterprise === undefined) throw authFailed("There is no `oauth.enterprise`", "Configure it");
  const { clientId, clientSecret, idToken } = enterprise;
  const home = enterprise.tokenEndpoint ?? enterprise.issuer ?? "";
  // The user has named the identity provider: its own host may be a private one.
  const fetch = createGuardedFetch(await context.http(), {
    serverUrl: home,
    allowedHosts: context.options.allowedHosts,
  });
  const tokenEndpoint = enterprise.tokenEndpoint ?? (await findTokenEndpoint(home, fetch));
  const { requestJwtAuthorizationGrant } = await import("@modelcontextprotocol/client");
  const subject = await ask(idToken, "enterprise.idToken");
  const observed = observeFetch(fetch);
  try {
    const granted = await requestJwtAuthorizationGrant({
      tokenEndpoint,
      audience: at.issuer,
      resource,
      idToken: subject,
      clientId,
      ...(clientSecret !== undefined && { clientSecret }),
      ...(scope !== undefined && { scope }),
      fetchFn: dropUnknownLifetimes(observed.fetch),
    });
    return granted.jwtAuthGrant;
  } catch (error) {
    const status = observed.status() ?? 500;
    if (status >= 500 || status === 429)
      throw authUnavailable("The identity provider did not vouch for the user", error);
    throw authFailed(
      "The identity provider does not vouch for the user",
      "Log in there anew, or check its client",
    );
  }
}

/** Identity providers publish less than the SDK's reader wants; two fields are enough here. */
async function findTokenEndpoint(issuer: string, fetch: typeof globalThis.fetch): Promise<string> {
  const { buildDiscoveryUrls } = await import("@modelcontextprotocol/client");
  for (const { url } of buildDiscoveryUrls(issuer)) {
    const described = await readJson(url, fetch);
    if (typeof described?.["token_endpoint"] !== "string") continue;
    if (described["issuer"] === issuer) return described["token_endpoint"];
    throw issuerMismatch("The identity provider calls itself by another name than `oauth.enterprise.issuer`");
  }
  throw authFailed("The identity provider does not describe itself", "Set `oauth.enterprise.tokenEndpoint`");
}

async function readJson(
  url: URL,
  fetch: typeof globalThis.fetch,
): Promise<Record<string, unknown> | undefined> {
  try {
    const response = await fetch(url, { headers: { accept: "application/json" } });
    return response.ok ? ((await response.json()) as Record<string, unknown>) : undefined;
  } catch (error) {
    throw authUnavailable("The identity provider's description of itself could not be read", error);
  }
}
