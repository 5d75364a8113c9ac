/** Obtains a new authorization when a refresh is not enough: by a user's login, or with the client's own credentials. */

import type { AuthorizationServerMetadata } from "@modelcontextprotocol/client";
import type { AddressRuleOptions } from "@toolport/http/address-rule";
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
  chooseScope,
  exceedsScope,
  type InteractiveParts,
  type OAuthClient,
  resolveClient,
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

export interface AuthorizeParts {
  readonly context: OAuthContext;
  readonly tokens: AccessTokens;
  readonly limit: AuthorizationLimit;
}

/** Discovers the current authorization server. */
export async function discoverFor(
  { context }: AuthorizeParts,
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
  parts: AuthorizeParts,
  info: AuthorizationInfo,
  challenge: Challenge,
  held: HeldTokens | undefined,
): Promise<HeldTokens> {
  const { context, tokens, limit } = parts;
  // Request the scopes that the same authorization server granted before.
  const previous = held?.record.at.issuer === info.issuer ? scopeSoFar(held) : undefined;
  const scope = scopeFor(parts, info, challenge, previous);
  if (!limit.allowsLogin(tokens.lastRefused)) throw tooOften();
  if (isInteractive(context)) return logIn(parts, info, scope, 401);
  if (held !== undefined && tokens.isRefused(held) && !tokens.canRenew(held)) throw tooOften();
  return requestWithoutUser(parts, info, scope, held);
}

/** Handles a 403 that asks for more scopes. */
export async function stepUp(
  parts: AuthorizeParts,
  challenge: Challenge,
  held: HeldTokens | undefined,
): Promise<HeldTokens> {
  const { context, tokens, limit } = parts;
  tokens.markInsufficient(held);
  if (isInteractive(context) && redirectUrlOf(context) === undefined) throw insufficientScope();
  const info = await discoverFor(parts, challenge, held);
  const before = scopeSoFar(held);
  const scope = scopeFor(parts, info, challenge, before);
  if (!exceedsScope(scope, before) || scope === undefined) throw insufficientScope();
  if (!limit.allowsStepUp(scope)) throw insufficientScope();
  return isInteractive(context)
    ? logIn(parts, info, scope, 403)
    : requestWithoutUser(parts, info, scope, held);
}

const scopeSoFar = (held: HeldTokens | undefined): string | undefined =>
  uniteScopes(held?.record.scope, held?.record.requestedScope);

function scopeFor(
  { context }: AuthorizeParts,
  info: AuthorizationInfo,
  challenge: Challenge,
  previous: string | undefined,
): string | undefined {
  return chooseScope({
    challenge: challenge.scope,
    configured: context.options.scopes,
    supported: info.scopesSupported,
    previous,
    listed: info.metadata?.scopes_supported,
    wantsRefresh: isInteractive(context),
  });
}

async function logIn(
  { context }: AuthorizeParts,
  info: AuthorizationInfo,
  scope: string | undefined,
  status: number,
): Promise<never> {
  const redirectUrl = redirectUrlOf(context);
  if (redirectUrl === undefined) throw authRequired(undefined, { status });
  const fetch = await guardedFetchOf(context);
  throw authRequired(await startAuthorization({ context, info, fetch, redirectUrl, scope }), { status });
}

/** Requests tokens with the client's own credentials, without a user. */
async function requestWithoutUser(
  { context, tokens }: AuthorizeParts,
  info: AuthorizationInfo,
  scope: string | undefined,
  used: HeldTokens | undefined,
): Promise<HeldTokens> {
  const held = await tokens.obtain(used, `grant ${scope ?? ""}`, async (lease) => {
    const fetch = await guardedFetchOf(context);
    const client = await useConfiguredClient({ context, info, fetch });
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

/** Maximum number of consecutive logins whose tokens the server rejected. */
const MAX_LOGINS = 3;
/** Maximum number of logins for more scopes within {@link WINDOW_MS}. Successful requests in between do not reset it. */
const MAX_STEP_UPS = 3;
const WINDOW_MS = 600_000;

/** Limits how often a user is asked to log in, over all calls of one user to one server. Unfinished logins do not count. */
export class AuthorizationLimit {
  readonly #reasons = new Set<string>();
  #stepUps: { readonly scope: string; readonly at: number }[] = [];

  constructor(private readonly now: () => number) {}

  /** False if the limit is reached. @param refused the token whose rejection made this login necessary */
  allowsLogin(refused: string | undefined): boolean {
    const reason = refused ?? "";
    if (!this.#reasons.has(reason) && this.#reasons.size >= MAX_LOGINS) return false;
    this.#reasons.add(reason);
    return true;
  }

  allowsStepUp(scope: string): boolean {
    const since = this.now() - WINDOW_MS;
    this.#stepUps = this.#stepUps.filter(({ at }) => at > since);
    if (this.#stepUps.some((stepUp) => stepUp.scope === scope)) return true;
    if (this.#stepUps.length >= MAX_STEP_UPS) return false;
    this.#stepUps.push({ scope, at: this.now() });
    return true;
  }

  /** The server accepted a token. */
  succeeded(): void {
    if (this.#reasons.size > 0) this.#reasons.clear();
  }

  /** Called after a logout. */
  reset(): void {
    this.#reasons.clear();
    this.#stepUps = [];
  }
}

/** A login that the user has not finished yet. */
interface StartedLogin {
  readonly authUrl: string;
  readonly stateHash: string;
  readonly issuer: string;
  readonly redirectUrl: string;
  readonly resource: string;
  readonly scope?: string | undefined;
  readonly clientId?: string | undefined;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

/** How long a user may take to log in. */
const PENDING_MS = 600_000;

/** A URL is reused for this long, so that the user has enough time left. */
const REUSE_MS = PENDING_MS * 0.8;

/** The URL of the login page. A started login is reused, also if another process started it. */
async function startAuthorization(parts: InteractiveParts): Promise<string> {
  const { context, info } = parts;
  await checkAuthorizationServer(
    info.metadata,
    { ...context.options, serverUrl: context.serverUrl },
    info.issuer,
  );
  const key = loginKey(context);
  const login = await obtainOnce<StartedLogin>({
    store: context.store,
    lease: loginLease(context),
    watch: key,
    find: () => findStartedLogin(parts),
    obtain: () => prepareLogin(parts, key),
    waitMs: 15_000,
  });
  // The process that prepares the login takes too long: prepare another login.
  return (login === "late" || login === undefined ? await prepareLogin(parts, key) : login).authUrl;
}

/** Checks the authorization server before anything is sent to it. */
async function checkAuthorizationServer(
  metadata: AuthorizationServerMetadata | undefined,
  guard: AddressRuleOptions,
  issuer: string,
): Promise<void> {
  await checkLoginPage(metadata?.authorization_endpoint ?? new URL("/authorize", issuer).href, guard);
  if (metadata === undefined) return;
  if (!metadata.response_types_supported.includes("code")) {
    throw authFailed(
      "The authorization server does not support the response type `code`, which a login needs",
    );
  }
  checkPkce(metadata);
}

async function findStartedLogin(parts: InteractiveParts): Promise<StartedLogin | undefined> {
  const { context, info, redirectUrl, scope } = parts;
  const { clientId } = context.options;
  const login = await findOpenLogin(context);
  const isSame =
    login !== undefined &&
    login.issuer === info.issuer &&
    login.redirectUrl === redirectUrl &&
    login.resource === info.resource &&
    login.scope === scope &&
    (clientId === undefined || clientId === login.clientId);
  return isSame ? login : undefined;
}

/** A login that the user has started and can still finish, in any process. */
export async function findOpenLogin(context: OAuthContext): Promise<StartedLogin | undefined> {
  const { store } = context;
  const login = readStartedLogin(await store.get(loginKey(context)));
  if (login === undefined || nowOf(context) - login.startedAt > REUSE_MS) return undefined;
  // The pending record is deleted when the user returns.
  return (await store.get(pendingKey(login.stateHash))) === undefined ? undefined : login;
}

export function readStartedLogin(found: StoredRecord | undefined): StartedLogin | undefined {
  if (found === undefined || !found.sealed) return undefined;
  const login = found.value as StartedLogin;
  return typeof login?.authUrl === "string" && typeof login.stateHash === "string" ? login : undefined;
}

async function prepareLogin(parts: InteractiveParts, key: string): Promise<StartedLogin> {
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
  const login: StartedLogin = {
    authUrl: authorizationUrl.href,
    stateHash,
    issuer,
    redirectUrl,
    resource,
    ...(scope !== undefined && { scope }),
    ...(client.id !== undefined && { clientId: client.id }),
    startedAt: nowOf(context),
  };
  await context.store.put(key, login, { secret: true, ttlMs: PENDING_MS });
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
  if (found === undefined || !found.sealed) return undefined;
  const pending = found.value as PendingAuthorization;
  if (readAuthorizationServer(pending.at) === undefined || typeof pending.verifier !== "string")
    return undefined;
  return { pending, take: () => store.delete(key, { ifVersion: found.version }) };
}
