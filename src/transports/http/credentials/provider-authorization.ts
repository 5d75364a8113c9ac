/** Authorizes requests with the `authProvider` of a server's entry: adds its token, and renews it if the server rejects it. */
import type { AuthProvider, OAuthClientProvider } from "@modelcontextprotocol/client";
import { toToolportError } from "../../../errors/to-toolport-error.js";
import { AuthError } from "../../../errors/toolport-error.js";
import { processWide } from "../../../util/version.js";
import type { AuthorizedSend, RequestToAuthorize, SendWithFields } from "../../server-transport.js";
import { toHeaderRecord } from "../network/fetch-response.js";
import { finishedScopes, logInByProvider } from "./provider-login.js";
import { dropUnknownLifetimes } from "./token-lifetime.js";

type Parts = AuthorizationParts & { readonly provider: Provider };

export function authorizeByProvider(given: Parts): AuthorizedSend {
  const parts = { ...given, fetch: dropUnknownLifetimes(given.fetch) };
  const { provider } = parts;
  const renew = renewAuthorization(parts);
  const oauth = isOAuth(provider) ? provider : undefined;
  const stepUp = oauth && createStepUp(oauth, parts);
  return async (request, given) => {
    const send = oauth?.dpop === undefined ? given : await withProofs(oauth, request, given);
    for (let again = false; ; again = true) {
      const token = await tokenOf(provider);
      // The provider's token replaces an `authorization` header of the user.
      const authorization = token === undefined ? request.authorization : `Bearer ${token}`;
      const own = authorization === undefined ? undefined : { authorization };
      const response = await renew({ ...request, authorization }, (fields) => send({ ...own, ...fields }));
      if (response.status !== 403 || again || !(await stepUp?.(response))) return response;
    }
  };
}

/** Logs in for the scopes that a request needs, together with those requested before. */
function createStepUp(
  provider: OAuthClientProvider,
  { serverUrl, fetch }: Parts,
): (response: Response) => Promise<boolean> {
  let asked: string | undefined;
  return async (response) => {
    const { computeScopeUnion, extractWWWAuthenticateParams, isStrictScopeSuperset } = await import(
      "@modelcontextprotocol/client"
    );
    const { error, scope, resourceMetadataUrl } = extractWWWAuthenticateParams(response);
    if (error !== "insufficient_scope") return false;
    const granted = (await provider.tokens())?.scope;
    const finished = finishedScopes(provider, serverUrl);
    if (finished === undefined) return false;
    asked = computeScopeUnion(asked, granted, scope);
    // A login for all of these scopes was already finished and did not help.
    const answered = finished.length > 0 ? computeScopeUnion(...finished, granted) : undefined;
    if (answered !== undefined && !isStrictScopeSuperset(asked, answered)) return false;
    await logInByProvider(provider, serverUrl, fetch, {
      // A refresh cannot add scopes.
      forceReauthorization: isStrictScopeSuperset(asked, granted),
      ...(asked !== undefined && { scope: asked }),
      ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
    });
    return true;
  };
}

/** Adds a DPoP proof to each request. */
async function withProofs(
  provider: OAuthClientProvider,
  { url, method }: RequestToAuthorize,
  send: SendWithFields,
): Promise<SendWithFields> {
  const { withDpopFromProvider } = await import("@modelcontextprotocol/client");
  const signed = withDpopFromProvider(provider)((_, init) => send(toHeaderRecord(init?.headers)));
  return (fields) => signed(url, { method, headers: fields });
}

export type Provider = AuthProvider | OAuthClientProvider;

export interface AuthorizationParts {
  readonly provider: Provider | undefined;
  readonly serverUrl: URL;
  /** For requests to the authorization server. */
  readonly fetch: typeof globalThis.fetch;
}

/** Authorizations in progress, by provider and server URL: several connections may share a provider. */
const underWay = processWide("authorizations", () => new WeakMap<Provider, Map<string, Promise<void>>>());

export const isOAuth = (provider: Provider): provider is OAuthClientProvider =>
  "tokens" in provider && typeof provider.tokens === "function";

/** Without a provider, or with one that uses DPoP, the SDK handles authorization. */
export function shareAuthorization(parts: AuthorizationParts): AuthorizedSend {
  const { provider } = parts;
  if (provider === undefined || !canShare(provider)) return (_, send) => send({});
  return renewAuthorization({ ...parts, provider });
}

/** Sends again with a new token for as long as the provider has one. */
export function renewAuthorization(
  parts: AuthorizationParts & { readonly provider: Provider },
): AuthorizedSend {
  const { provider } = parts;
  return async ({ authorization }, send) => {
    let response = await send({});
    let used = authorization?.replace(/^Bearer /i, "");
    let asked = false;
    while (response.status === 401) {
      let token = await tokenOf(provider);
      // A different token was saved by another request; otherwise authorize now.
      if (token === used) {
        if (asked) throw refused();
        asked = true;
        await authorizeOnce(provider, response, parts);
        token = await tokenOf(provider);
        if (token === undefined) throw refused();
      }
      used = token;
      response = await send({ authorization: `Bearer ${token}` });
    }
    return response;
  };
}

const canShare = (provider: Provider): boolean =>
  isOAuth(provider) ? provider.dpop === undefined : provider.onUnauthorized !== undefined;

export async function tokenOf(provider: Provider): Promise<string | undefined> {
  return isOAuth(provider) ? (await provider.tokens())?.access_token : provider.token();
}

function authorizeOnce(provider: Provider, response: Response, parts: AuthorizationParts): Promise<void> {
  const running = underWay.get(provider) ?? new Map<string, Promise<void>>();
  underWay.set(provider, running);
  const key = parts.serverUrl.href;
  const known = running.get(key);
  if (known !== undefined) return known;
  const started = authorize(provider, response, parts)
    .catch((error: unknown) => {
      throw toToolportError(error);
    })
    .finally(() => running.delete(key));
  running.set(key, started);
  return started;
}

async function authorize(
  provider: Provider,
  response: Response,
  { serverUrl, fetch }: AuthorizationParts,
): Promise<void> {
  if (!isOAuth(provider)) {
    await provider.onUnauthorized?.({ response, serverUrl, fetchFn: fetch });
    return;
  }
  const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/client");
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response);
  await logInByProvider(provider, serverUrl, fetch, {
    ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
    ...(scope !== undefined && { scope }),
  });
}

function refused(): AuthError {
  return new AuthError({
    code: "AUTH_REQUIRED",
    what: "The server rejects the provider's token",
    next: "Authorize again",
    status: 401,
    outcome: "unsent",
  });
}
