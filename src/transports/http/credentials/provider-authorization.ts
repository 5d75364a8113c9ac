/** Credentials from the provider of a server's entry: a token on every request, better ones where the server refuses. */
import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import { toHeaderRecord } from "../network/fetch-response.js";
import type { AuthorizedSend, RequestInQuestion, SendWithFields } from "./authorized-send.js";
import { finishedScopes, logInByProvider } from "./provider-login.js";
import {
  type AuthorizationParts,
  isOAuth,
  type Provider,
  renewAuthorization,
  tokenOf,
} from "./shared-authorization.js";
import { dropUnknownLifetimes } from "./token-lifetime.js";

type Parts = AuthorizationParts & { readonly provider: Provider };

export function authorizeByProvider(given: Parts): AuthorizedSend {
  const parts = { ...given, fetch: dropUnknownLifetimes(given.fetch) };
  const { provider } = parts;
  const renew = renewAuthorization(parts);
  const oauth = isOAuth(provider) ? provider : undefined;
  const stepUp = oauth && scopeKeeper(oauth, parts);
  return async (request, given) => {
    const send = oauth?.dpop === undefined ? given : await withProofs(oauth, request, given);
    for (let again = false; ; again = true) {
      const token = await tokenOf(provider);
      // A token of the provider's takes the place of one in the headers.
      const authorization = token === undefined ? request.authorization : `Bearer ${token}`;
      const own = authorization === undefined ? undefined : { authorization };
      const response = await renew({ ...request, authorization }, (fields) => send({ ...own, ...fields }));
      if (response.status !== 403 || again || !(await stepUp?.(response))) return response;
    }
  };
}

/** Asks for the scopes that a request wants, together with those that were asked for before. */
function scopeKeeper(
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
    // A login for all of this is over, and it did not help.
    const answered = finished.length > 0 ? computeScopeUnion(...finished, granted) : undefined;
    if (answered !== undefined && !isStrictScopeSuperset(asked, answered)) return false;
    await logInByProvider(
      { provider, serverUrl, fetch },
      {
        // A refresh cannot widen what was granted.
        forceReauthorization: isStrictScopeSuperset(asked, granted),
        ...(asked !== undefined && { scope: asked }),
        ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
      },
    );
    return true;
  };
}

/** A proof that the key of a bound token is ours, for each request anew. */
async function withProofs(
  provider: OAuthClientProvider,
  { url, method }: RequestInQuestion,
  send: SendWithFields,
): Promise<SendWithFields> {
  const { withDpopFromProvider } = await import("@modelcontextprotocol/client");
  const signed = withDpopFromProvider(provider)((_, init) => send(toHeaderRecord(init?.headers)));
  return (fields) => signed(url, { method, headers: fields });
}
