/** Obtains a new authorization when a refresh is not enough: by a user's login, or with the client's own credentials. */
import type { AccessTokens } from "./access-tokens.js";
import { authFailed, authRequired, tokenRefused } from "./auth-errors.js";
import {
  type AuthorizationInfo,
  discoverAuthorization,
  toAuthorizationServer,
} from "./discover-authorization.js";
import { chooseScope, exceedsScope, uniteScopes, useConfiguredClient } from "./oauth-client.js";
import { guardedFetchOf, isInteractive, type OAuthContext, redirectUrlOf } from "./oauth-context.js";
import { startAuthorization } from "./start-authorization.js";
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
  readonly #now: () => number;
  readonly #reasons = new Set<string>();
  #stepUps: { readonly scope: string; readonly at: number }[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  /** False if the limit is reached. @param refused the token whose rejection made this login necessary */
  allowsLogin(refused: string | undefined): boolean {
    const reason = refused ?? "";
    if (!this.#reasons.has(reason) && this.#reasons.size >= MAX_LOGINS) return false;
    this.#reasons.add(reason);
    return true;
  }

  allowsStepUp(scope: string): boolean {
    const since = this.#now() - WINDOW_MS;
    this.#stepUps = this.#stepUps.filter(({ at }) => at > since);
    if (this.#stepUps.some((stepUp) => stepUp.scope === scope)) return true;
    if (this.#stepUps.length >= MAX_STEP_UPS) return false;
    this.#stepUps.push({ scope, at: this.#now() });
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
