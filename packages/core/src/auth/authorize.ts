/** Obtains a new authorization when a refresh is not enough: by a user's login, or with the client's own credentials. */

import type { Store, StoredRecord } from "@toolport/stores";
import { checkLoginPage, checkPkce } from "../transports/http/credentials/checked-provider.js";
import { type AccessTokens, base64Url, sha256 } from "./access-tokens.js";
import { loginKey, loginLease, pendingKey } from "./credential-records.js";
import {
  type AuthorizationInfo,
  type AuthorizationServer,
  discoverAuthorization,
  readAuthorizationServer,
  toAuthorizationServer,
} from "./discover-authorization.js";
import {
  exceedsScope,
  type LoginParts,
  type OAuthClient,
  resolveClient,
  scopeWords,
  uniteScopes,
  useConfiguredClient,
} from "./oauth-client.js";
import {
  authFailed,
  authRequired,
  guardedFetchOf,
  isInteractive,
  nowOf,
  type OAuthContext,
  redirectUrlOf,
  tokenRefused,
} from "./oauth-context.js";
import { obtainOnce } from "./obtain-once.js";
import type { HeldTokens } from "./token-records.js";
import { requestTokensByGrant } from "./token-requests.js";

/** What a 401 or 403 of the MCP server asks for. */
export interface Challenge {
  readonly kind: "unauthorized" | "insufficient_scope";
  readonly scope: string | undefined;
  readonly resourceMetadataUrl: URL | undefined;
}

/** Discovers the current authorization server. */
export async function discoverFor(
  { context }: AccessTokens,
  { resourceMetadataUrl }: Challenge,
  held: HeldTokens | undefined,
): Promise<AuthorizationInfo> {
  const { serverUrl, options } = context;
  return discoverAuthorization({
    serverUrl,
    fetch: await guardedFetchOf(context),
    resourceMetadataUrl,
    expectedIssuer: options.issuer,
    knownIssuer: held?.record.at.issuer,
  });
}

/**
 * Handles a 401 after every renewal has failed.
 *
 * @throws AuthError `AUTH_REQUIRED` with the URL of the login page, if a user has to log in
 */
export async function authorize(
  tokens: AccessTokens,
  info: AuthorizationInfo,
  challenge: Challenge,
  held: HeldTokens | undefined,
): Promise<HeldTokens> {
  const { context } = tokens;
  // Request the scopes that the same authorization server granted before.
  const previous = held?.record.at.issuer === info.issuer ? scopeSoFar(held) : undefined;
  const scope = chooseScope(context, info, challenge, previous);
  if (!tokens.allowsLogin()) throw tooOften();
  if (isInteractive(context)) return logIn(context, info, scope, 401);
  if (held !== undefined && tokens.isRefused(held) && !tokens.canRenew(held)) throw tooOften();
  return requestWithoutUser(tokens, info, scope, held);
}

/** Handles a 403 that asks for more scopes. */
export async function stepUp(
  tokens: AccessTokens,
  challenge: Challenge,
  held: HeldTokens | undefined,
): Promise<HeldTokens> {
  const { context } = tokens;
  tokens.markInsufficient(held);
  if (isInteractive(context) && redirectUrlOf(context) === undefined) throw insufficientScope();
  const info = await discoverFor(tokens, challenge, held);
  const before = scopeSoFar(held);
  const scope = chooseScope(context, info, challenge, before);
  if (!exceedsScope(scope, before) || scope === undefined) throw insufficientScope();
  if (!tokens.allowsStepUp(scope)) throw insufficientScope();
  return isInteractive(context)
    ? logIn(context, info, scope, 403)
    : requestWithoutUser(tokens, info, scope, held);
}

const scopeSoFar = (held: HeldTokens | undefined): string | undefined =>
  uniteScopes(held?.record.scope, held?.record.requestedScope);

const OFFLINE = "offline_access";

/** The `scope` parameter of a request; undefined for none. @param previous requested or granted before, and requested again */
function chooseScope(
  context: OAuthContext,
  { metadata, scopesSupported }: AuthorizationInfo,
  challenge: Challenge,
  previous: string | undefined,
): string | undefined {
  const { scopes } = context.options;
  const asked = [...scopeWords(challenge.scope), ...scopeWords(scopes)];
  const chosen = new Set([
    ...scopeWords(previous),
    ...(asked.length > 0 ? asked : scopeWords(scopesSupported)),
  ]);
  // For a refresh token. Requested only if the authorization server lists it, or if it lists no scopes and the user configured it.
  const mayBeOffline = metadata?.scopes_supported?.includes(OFFLINE) ?? scopeWords(scopes).includes(OFFLINE);
  if (!mayBeOffline) chosen.delete(OFFLINE);
  else if (isInteractive(context) && chosen.size > 0) chosen.add(OFFLINE);
  return chosen.size === 0 ? undefined : [...chosen].join(" ");
}

async function logIn(
  context: OAuthContext,
  info: AuthorizationInfo,
  scope: string | undefined,
  status: number,
): Promise<never> {
  const redirectUrl = redirectUrlOf(context);
  if (redirectUrl === undefined) throw authRequired(undefined, { status });
  throw authRequired(await startLogin({ context, info, redirectUrl, scope }), { status });
}

/** Requests tokens with the client's own credentials, without a user. */
async function requestWithoutUser(
  tokens: AccessTokens,
  info: AuthorizationInfo,
  scope: string | undefined,
  used: HeldTokens | undefined,
): Promise<HeldTokens> {
  const held = await tokens.obtain(used, `grant ${scope ?? ""}`, async (lease) => {
    const { context } = tokens;
    const fetch = await guardedFetchOf(context);
    const client = await useConfiguredClient(context, info);
    const over = await tokens.cache.version();
    const { resource } = info;
    const at = toAuthorizationServer(info);
    const dpop = await tokens.dpop();
    const answer = await requestTokensByGrant({ context, at, client, resource, scope, fetch, dpop });
    if ("refused" in answer) throw tokenRefused(answer.refused);
    return tokens.keep(answer, { at, client, resource, requestedScope: scope }, { over, lease });
  });
  if (held === undefined) throw authFailed("The token was deleted while it was being saved", "Try again");
  return held;
}

const tooOften = () =>
  authFailed(
    "The server rejects every token that its authorization server issues",
    "Ask the server's operator; `logOut` resets the attempts",
  );

const insufficientScope = () =>
  authFailed(
    "The authorization does not cover this request, and another login would not change that",
    "Ask the server's operator for the missing scopes, or log out and log in again",
    { code: "INSUFFICIENT_SCOPE", status: 403 },
  );

/** A login that the user has not finished yet. The pending record of its `state` has the rest. */
interface StartedLogin {
  readonly authUrl: string;
  readonly stateHash: string;
  readonly issuer: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

/** How long a user may take to log in. */
const PENDING_MS = 600_000;

/** A URL is reused for this long, so that the user has enough time left. */
const REUSE_MS = PENDING_MS * 0.8;

/** The URL of the login page. A started login is reused, also if another process started it. */
async function startLogin(parts: LoginParts): Promise<string> {
  const { context, info } = parts;
  await checkAuthorizationServer(info, context);
  const login = await obtainOnce<Pick<StartedLogin, "authUrl">>({
    store: context.store,
    lease: loginLease(context),
    watch: loginKey(context),
    find: () => findStartedLogin(parts),
    obtain: () => prepareLogin(parts),
    waitMs: 15_000,
  });
  // The process that prepares the login takes too long: prepare another login.
  return (login === "late" || login === undefined ? await prepareLogin(parts) : login).authUrl;
}

/** Checks the authorization server before anything is sent to it. */
async function checkAuthorizationServer(
  { metadata, issuer }: AuthorizationInfo,
  { options: { allowedHosts }, serverUrl }: OAuthContext,
): Promise<void> {
  const page = metadata?.authorization_endpoint ?? new URL("/authorize", issuer).href;
  await checkLoginPage(page, { allowedHosts, serverUrl });
  if (metadata === undefined) return;
  if (!metadata.response_types_supported.includes("code")) {
    throw authFailed(
      "The authorization server does not support the response type `code`, which a login needs",
    );
  }
  checkPkce(metadata);
}

async function findStartedLogin({ context, info, redirectUrl, scope }: LoginParts) {
  const { clientId } = context.options;
  const login = await findOpenLogin(context);
  const isSame =
    login !== undefined &&
    login.pending.at.issuer === info.issuer &&
    login.pending.redirectUrl === redirectUrl &&
    login.pending.resource === info.resource &&
    login.pending.scope === scope &&
    (clientId === undefined || clientId === login.pending.client.id);
  return isSame ? login : undefined;
}

/** A login that the user has started and can still finish, in any process. */
export async function findOpenLogin(context: OAuthContext) {
  const { store } = context;
  const login = readStartedLogin(await store.get(loginKey(context)));
  if (login === undefined || nowOf(context) - login.startedAt > REUSE_MS) return undefined;
  // The pending record is deleted when the user returns.
  const pending = readPending(await store.get(pendingKey(login.stateHash)));
  return pending && { authUrl: login.authUrl, pending };
}

export function readStartedLogin(found: StoredRecord | undefined): StartedLogin | undefined {
  if (found === undefined || !found.sealed) return undefined;
  const login = found.value as StartedLogin;
  return typeof login?.authUrl === "string" && typeof login.stateHash === "string" ? login : undefined;
}

async function prepareLogin(parts: LoginParts): Promise<StartedLogin> {
  const { context, info, redirectUrl, scope } = parts;
  const { metadata, resource, issuer } = info;
  const client = await resolveClient(parts);
  const sdk = await import("@modelcontextprotocol/client");
  const state = createState();
  const { authorizationUrl, codeVerifier } = await sdk.startAuthorization(issuer, {
    ...(metadata !== undefined && { metadata }),
    clientInformation: { client_id: client.id ?? "" },
    redirectUrl,
    state,
    resource,
    ...(scope !== undefined && { scope }),
  });
  const stateHash = await hashState(state);
  const { server, identity, principal, options } = context;
  const pending: PendingAuthorization = {
    server,
    identity,
    serverUrl: context.serverUrl.href,
    ...(principal !== undefined && { principal }),
    at: toAuthorizationServer(info),
    isDescribed: metadata !== undefined,
    sendsIssuer: metadata?.authorization_response_iss_parameter_supported === true,
    client,
    verifier: codeVerifier,
    redirectUrl,
    resource,
    ...(scope !== undefined && { scope }),
    isBound: options.dpop === true,
    ...(options.allowedHosts !== undefined && { allowedHosts: options.allowedHosts }),
  };
  await context.store.put(pendingKey(stateHash), pending, { secret: true, ttlMs: PENDING_MS });
  const authUrl = authorizationUrl.href;
  const login: StartedLogin = { authUrl, stateHash, issuer, startedAt: nowOf(context) };
  await context.store.put(loginKey(context), login, { secret: true, ttlMs: PENDING_MS });
  return login;
}

/** What any process needs to finish a login, saved under the hash of its `state`. */
export interface PendingAuthorization {
  readonly server: string;
  /** Part of the keys of the credentials. */
  readonly identity: string;
  readonly serverUrl: string;
  readonly principal?: string | undefined;
  /** The authorization server at which the user logs in. */
  readonly at: AuthorizationServer;
  /** The server publishes metadata, so the `iss` of the callback can be compared with its issuer. */
  readonly isDescribed: boolean;
  /** The metadata says that every callback contains `iss`. */
  readonly sendsIssuer: boolean;
  readonly client: OAuthClient;
  readonly verifier: string;
  readonly redirectUrl: string;
  readonly resource: string;
  readonly scope?: string | undefined;
  readonly isBound: boolean;
  readonly allowedHosts?: readonly string[] | undefined;
}

/** 256 random bits. */
const createState = (): string => base64Url(crypto.getRandomValues(new Uint8Array(32)));

/** The store contains only the hash, so that reading its keys is not enough to finish another user's login. */
export const hashState = async (state: string): Promise<string> => base64Url(await sha256(state));

/** `take()` deletes the record; it returns true for one caller only. */
export async function findPending(store: Store, state: string) {
  const key = pendingKey(await hashState(state));
  const found = await store.get(key);
  const pending = readPending(found);
  if (found === undefined || pending === undefined) return undefined;
  return { pending, take: () => store.delete(key, { ifVersion: found.version }) };
}

function readPending(found: StoredRecord | undefined): PendingAuthorization | undefined {
  if (found === undefined || !found.sealed) return undefined;
  const pending = found.value as PendingAuthorization;
  const isWhole = readAuthorizationServer(pending.at) !== undefined && typeof pending.verifier === "string";
  return isWhole ? pending : undefined;
}
