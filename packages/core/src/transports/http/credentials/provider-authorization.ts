/** Authorizes requests with the `authProvider` of a server's entry: adds its token, and renews it if the server rejects it. */
import type {
  AuthOptions,
  AuthProvider,
  OAuthClientProvider,
  OAuthDiscoveryState,
} from "@modelcontextprotocol/client";
import { AuthError, getOrMake, processWide, singleFlight, toToolportError } from "@toolport/base";
import { toHeaderRecord } from "@toolport/http/wire-client";
import type { AuthorizedSend, RequestToAuthorize, SendWithFields } from "../../server-transport.js";
import { checkedProvider, dropUnknownLifetimes } from "./checked-provider.js";

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

type Provider = AuthProvider | OAuthClientProvider;

interface Parts {
  readonly provider: Provider;
  readonly serverUrl: URL;
  /** For requests to the authorization server. */
  readonly fetch: typeof globalThis.fetch;
}

/** Authorizations in progress, by provider and server URL: several connections may share a provider. */
const underWay = processWide("authorizations", () => new WeakMap<Provider, Map<string, Promise<void>>>());

const isOAuth = (provider: Provider): provider is OAuthClientProvider =>
  "tokens" in provider && typeof provider.tokens === "function";

/** Sends again with a new token for as long as the provider has one. */
export function renewAuthorization(parts: Parts): AuthorizedSend {
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

async function tokenOf(provider: Provider): Promise<string | undefined> {
  return isOAuth(provider) ? (await provider.tokens())?.access_token : provider.token();
}

function authorizeOnce(provider: Provider, response: Response, parts: Parts): Promise<void> {
  const running = getOrMake(underWay, provider, () => new Map<string, Promise<void>>());
  return singleFlight(running, parts.serverUrl.href, () =>
    authorize(provider, response, parts).catch((error: unknown) => {
      throw toToolportError(error);
    }),
  );
}

async function authorize(provider: Provider, response: Response, { serverUrl, fetch }: Parts): Promise<void> {
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

/** From the challenge of the rejected request. */
type LoginChallenge = Pick<AuthOptions, "scope" | "resourceMetadataUrl" | "forceReauthorization">;

/** What is needed to finish a login. The provider may not save any of it. */
export interface ProviderLogin extends LoginChallenge {
  readonly authUrl: URL;
  readonly discovery: OAuthDiscoveryState | undefined;
}

/** State of one provider and server URL in this process. */
interface KnownLogin {
  /** The login that waits for its callback. */
  waiting?: ProviderLogin | undefined;
  /** Code of the last callback. If it is sent twice, authorization servers treat it as stolen and revoke the tokens. */
  usedCode?: string;
  /** Scopes of finished logins. */
  finished?: readonly { readonly scope: string; readonly at: number }[];
}

/** Maximum number of logins for more scopes within {@link WINDOW_MS}. Successful requests in between do not reset it. */
const MAX_LOGINS = 3;
const WINDOW_MS = 600_000;

const logins = processWide(
  "provider-logins",
  () => new WeakMap<OAuthClientProvider, Map<string, KnownLogin>>(),
);

/**
 * Refreshes the provider's tokens, or redirects its user to a login page.
 *
 * @param fetch for requests to the authorization server
 * @throws AuthError with `authUrl` if the user has to log in
 */
async function logInByProvider(
  provider: OAuthClientProvider,
  serverUrl: URL,
  fetch: typeof globalThis.fetch,
  challenge: LoginChallenge,
): Promise<void> {
  const { auth } = await import("@modelcontextprotocol/client");
  const known = knownLogin(provider, serverUrl);
  const checked = checkedProvider(provider, {
    serverUrl,
    fetch,
    resourceMetadataUrl: challenge.resourceMetadataUrl,
    onRedirect: (authUrl, discovery) => {
      known.waiting = { ...challenge, authUrl, discovery };
    },
  });
  const result = await auth(checked, { serverUrl, fetchFn: fetch, ...challenge });
  if (result === "AUTHORIZED") return;
  throw new AuthError({
    code: "AUTH_REQUIRED",
    what: "The server requires authorization",
    next: "Log in at `authUrl`, then call finishAuth() with the parameters of the callback",
    status: 401,
    outcome: "unsent",
    authUrl: known.waiting?.authUrl.href,
  });
}

/**
 * Removes and returns the login that waits for its callback; undefined if another process started it. If `check` throws,
 * because the callback belongs to another login, the login keeps waiting.
 */
export function takeLogin(
  provider: OAuthClientProvider,
  serverUrl: URL,
  check: (login: ProviderLogin | undefined) => void,
): ProviderLogin | undefined {
  const known = knownLogin(provider, serverUrl);
  const { waiting } = known;
  check(waiting);
  known.waiting = undefined;
  return waiting;
}

/** Records a successful login: logging in for the same scopes again would not help. */
export function noteFinished(
  provider: OAuthClientProvider,
  serverUrl: URL,
  { scope }: Pick<LoginChallenge, "scope">,
): void {
  if (scope === undefined) return;
  const known = knownLogin(provider, serverUrl);
  known.finished = [...(known.finished ?? []), { scope, at: Date.now() }].slice(-MAX_LOGINS);
}

/** Scopes of recently finished logins; undefined if there were too many for another one. */
function finishedScopes(provider: OAuthClientProvider, serverUrl: URL): readonly string[] | undefined {
  const since = Date.now() - WINDOW_MS;
  const recent = (knownLogin(provider, serverUrl).finished ?? []).filter(({ at }) => at > since);
  return recent.length < MAX_LOGINS ? recent.map(({ scope }) => scope) : undefined;
}

/** Records the code of a callback. Returns false if it was already used. */
export function takeCode(provider: OAuthClientProvider, serverUrl: URL, code: string): boolean {
  const known = knownLogin(provider, serverUrl);
  const isNew = known.usedCode !== code;
  known.usedCode = code;
  return isNew;
}

function knownLogin(provider: OAuthClientProvider, { href }: URL): KnownLogin {
  const byUrl = getOrMake(logins, provider, () => new Map<string, KnownLogin>());
  return getOrMake(byUrl, href, () => ({}));
}
