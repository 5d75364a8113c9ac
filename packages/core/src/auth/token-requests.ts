/** Requests tokens from an authorization server, with a given grant or with the client's own credentials. */
import type {
  AuthorizationServerMetadata,
  DpopSession,
  OAuthClientProvider,
  OAuthTokens,
} from "@modelcontextprotocol/client";
import { hasBrand, readField } from "@toolport/base";
import { createGuardedFetch } from "@toolport/http/guarded-fetch";
import type { EnterpriseAuthorization, OAuthOptions } from "../config/read-oauth.js";
import { dropUnknownLifetimes } from "../transports/http/credentials/checked-provider.js";
import type { AuthorizationServer } from "./discover-authorization.js";
import { clientAuthenticator, type OAuthClient } from "./oauth-client.js";
import {
  authFailed,
  authUnavailable,
  issuerMismatch,
  type OAuthContext,
  observeFetch,
} from "./oauth-context.js";

interface TokenRequest {
  readonly at: AuthorizationServer;
  readonly client: OAuthClient;
  /** Parameters of the grant, without those of the client and the resource. */
  readonly params: Readonly<Record<string, string>>;
  readonly resource: string;
  readonly fetch: typeof globalThis.fetch;
  /** Binds the tokens to this key. */
  readonly dpop?: DpopSession | undefined;
}

/** Tokens, or the error code (RFC 6749) with which the authorization server rejected the request. */
export type TokenResponse = { readonly tokens: OAuthTokens } | { readonly refused: string };

/** The request may succeed later. */
const isBusy = (status: number | undefined): boolean =>
  status === undefined || status >= 500 || status === 429;

/** @throws AuthError if the authorization server could not be reached or its response is not acceptable */
export async function requestTokens(request: TokenRequest): Promise<TokenResponse> {
  const { at, params, resource, dpop } = request;
  const { fetchToken } = await import("@modelcontextprotocol/client");
  const observed = observeFetch(request.fetch);
  const provider: Partial<OAuthClientProvider> = {
    clientMetadata: { redirect_uris: [] },
    clientInformation: () => undefined,
    prepareTokenRequest: () => new URLSearchParams(params),
    addClientAuthentication: await clientAuthenticator(request.client),
    ...(dpop !== undefined && { dpop: () => dpop }),
  };
  const metadata = { issuer: at.issuer, token_endpoint: at.tokenEndpoint } as AuthorizationServerMetadata;
  try {
    const tokens = await fetchToken(provider as OAuthClientProvider, at.issuer, {
      metadata,
      resource,
      fetchFn: dropUnknownLifetimes(observed.fetch),
    });
    return { tokens: checkTokens(tokens, dpop !== undefined) };
  } catch (error) {
    return { refused: refusalOf(error, observed.status()) };
  }
}

/** The OAuth error code, if the response is a definite rejection; otherwise throws. */
function refusalOf(error: unknown, status: number | undefined): string {
  const code = readField(error, "code");
  const isAnswer = hasBrand(error, "mcp.OAuthError") && typeof code === "string" && !isBusy(status);
  // `server_error` is also the SDK's code for a response that is not OAuth. Both codes mean: try again later.
  if (isAnswer && code !== "server_error" && code !== "temporarily_unavailable") return code;
  if (hasBrand(error, "mcp.InsecureTokenEndpointError")) {
    throw authFailed(
      "The token endpoint is not protected by TLS",
      "Ask the server's operator for an https: endpoint",
    );
  }
  throw authUnavailable("The authorization server did not respond to a token request", error);
}

/** Characters allowed in a header value. */
const TOKEN = /^[\x21-\x7e]+$/;

function checkTokens(tokens: OAuthTokens, isBound: boolean): OAuthTokens {
  const type = tokens.token_type.toLowerCase();
  if (type !== "bearer" && type !== "dpop") {
    throw authFailed("The authorization server issued a token of an unsupported type");
  }
  if (isBound !== (type === "dpop")) {
    throw isBound
      ? authFailed(
          "The authorization server did not bind the token to the DPoP key",
          "Leave out `oauth.dpop` if unbound tokens will do",
        )
      : authFailed("The authorization server bound the token to a DPoP key", "Set `oauth.dpop`");
  }
  if (!TOKEN.test(tokens.access_token)) {
    throw authFailed("The authorization server issued a token with characters that a header cannot contain");
  }
  return tokens;
}

interface GrantParts extends Omit<TokenRequest, "params"> {
  readonly context: OAuthContext;
  readonly scope: string | undefined;
}

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

export async function requestTokensByGrant(parts: GrantParts): Promise<TokenResponse> {
  const { scope } = parts;
  const params = { ...(await grantOf(parts)), ...(scope !== undefined && { scope }) };
  return requestTokens({ ...parts, params });
}

async function grantOf(parts: GrantParts): Promise<Record<string, string>> {
  const { options } = parts.context;
  switch (options.grant) {
    case "jwt-bearer":
      return { grant_type: JWT_BEARER, assertion: await ask(options.assertion, "assertion") };
    case "enterprise":
      return { grant_type: JWT_BEARER, assertion: await requestIdentityAssertion(options.enterprise, parts) };
    default:
      return { grant_type: "client_credentials" };
  }
}

/** Reads a configured text. A function is called each time. */
async function ask(source: OAuthOptions["assertion"], name: string): Promise<string> {
  let text: unknown;
  try {
    text = typeof source === "function" ? await source() : source;
  } catch {
    throw authFailed(`The function in \`oauth.${name}\` failed`, undefined, { retryable: true });
  }
  if (typeof text === "string" && text !== "") return text;
  throw authFailed(`\`oauth.${name}\` is missing`, "Configure it");
}

/** Requests an assertion (ID-JAG) for this authorization server and resource from the user's identity provider. */
async function requestIdentityAssertion(
  enterprise: EnterpriseAuthorization | undefined,
  { context, at, resource, scope }: GrantParts,
): Promise<string> {
  if (enterprise === undefined) throw authFailed("`oauth.enterprise` is missing", "Configure it");
  const { clientId, clientSecret, idToken } = enterprise;
  const home = enterprise.tokenEndpoint ?? enterprise.issuer ?? "";
  // The user configured the identity provider, so its own host may be private.
  const fetch = createGuardedFetch(await context.http(), {
    serverUrl: home,
    allowedHosts: context.options.allowedHosts,
    observe: context.observe,
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
      throw authUnavailable("The identity provider did not respond to the request for an assertion", error);
    throw authFailed(
      "The identity provider refused to issue an assertion for the user",
      "Log in there again, or check its client",
    );
  }
}

/** Identity providers publish less metadata than the SDK's reader requires; two fields are enough here. */
async function findTokenEndpoint(issuer: string, fetch: typeof globalThis.fetch): Promise<string> {
  const { buildDiscoveryUrls } = await import("@modelcontextprotocol/client");
  for (const { url } of buildDiscoveryUrls(issuer)) {
    const described = await readJson(url, fetch);
    if (typeof described?.["token_endpoint"] !== "string") continue;
    if (described["issuer"] === issuer) return described["token_endpoint"];
    throw issuerMismatch(
      "The identity provider's metadata names another issuer than `oauth.enterprise.issuer`",
    );
  }
  throw authFailed("The identity provider publishes no metadata", "Set `oauth.enterprise.tokenEndpoint`");
}

async function readJson(
  url: URL,
  fetch: typeof globalThis.fetch,
): Promise<Record<string, unknown> | undefined> {
  try {
    const response = await fetch(url, { headers: { accept: "application/json" } });
    return response.ok ? ((await response.json()) as Record<string, unknown>) : undefined;
  } catch (error) {
    throw authUnavailable("The identity provider's metadata could not be read", error);
  }
}
