/** Asks an authorization server for tokens. */
import type {
  AuthorizationServerMetadata,
  DpopSession,
  OAuthClientProvider,
  OAuthTokens,
} from "@modelcontextprotocol/client";
import { hasBrand, readField } from "../errors/foreign-error.js";
import { dropUnknownLifetimes } from "../transports/http/credentials/token-lifetime.js";
import { authFailed, authUnavailable } from "./auth-failures.js";
import type { AuthorizationServer } from "./authorization-server.js";
import { authenticateAs, type OAuthClient } from "./client-authentication.js";
import { observeFetch } from "./observed-fetch.js";

export interface TokenRequest {
  readonly at: AuthorizationServer;
  readonly client: OAuthClient;
  /** The grant, without the client and the resource. */
  readonly params: Readonly<Record<string, string>>;
  readonly resource: string;
  readonly fetch: typeof globalThis.fetch;
  /** Binds the tokens to a key. */
  readonly dpop?: DpopSession | undefined;
}

/** Tokens, or the authorization server's reason (a code of RFC 6749) why there are none. */
export type TokenAnswer = { readonly tokens: OAuthTokens } | { readonly refused: string };

/** Answers that say "later", whatever else they say. */
const isBusy = (status: number | undefined): boolean =>
  status === undefined || status >= 500 || status === 429;

/** @throws AuthError when the authorization server could not be asked or is not to be trusted */
export async function requestTokens(request: TokenRequest): Promise<TokenAnswer> {
  const { at, params, resource, dpop } = request;
  const { fetchToken } = await import("@modelcontextprotocol/client");
  const observed = observeFetch(request.fetch);
  const provider: Partial<OAuthClientProvider> = {
    clientMetadata: { redirect_uris: [] },
    clientInformation: () => undefined,
    prepareTokenRequest: () => new URLSearchParams(params),
    addClientAuthentication: await authenticateAs(request.client),
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

/** The reason, where there is one to trust; otherwise throws. */
function refusalOf(error: unknown, status: number | undefined): string {
  const code = readField(error, "code");
  const isAnswer = hasBrand(error, "mcp.OAuthError") && typeof code === "string" && !isBusy(status);
  // The SDK's word for an answer that is not OAuth's, and OAuth's own for "later".
  if (isAnswer && code !== "server_error" && code !== "temporarily_unavailable") return code;
  if (hasBrand(error, "mcp.InsecureTokenEndpointError")) {
    throw authFailed(
      "The token endpoint is not protected by TLS",
      "Ask the server's operator for an https: endpoint",
    );
  }
  throw authUnavailable("The authorization server did not answer a request for tokens", error);
}

/** What may stand in a header field. */
const TOKEN = /^[\x21-\x7e]+$/;

function checkTokens(tokens: OAuthTokens, isBound: boolean): OAuthTokens {
  const type = tokens.token_type.toLowerCase();
  if (type !== "bearer" && type !== "dpop") {
    throw authFailed("The authorization server issued a kind of token that is not known here");
  }
  if (isBound !== (type === "dpop")) {
    throw isBound
      ? authFailed(
          "The authorization server did not bind the token to our key",
          "Leave out `oauth.dpop` if unbound tokens will do",
        )
      : authFailed("The authorization server bound the token to a key", "Set `oauth.dpop`");
  }
  if (!TOKEN.test(tokens.access_token)) {
    throw authFailed("The authorization server issued a token that cannot be sent");
  }
  return tokens;
}
