/** Gets an authorization where refreshing is not enough: by sending a user to log in, or by the program's own word. */
import type { AccessTokens } from "./access-tokens.js";
import { authFailed, authRequired, tokenRefused } from "./auth-errors.js";
import { chooseScope, exceedsScope, uniteScopes } from "./choose-scope.js";
import {
  type AuthorizationInfo,
  discoverAuthorization,
  toAuthorizationServer,
} from "./discover-authorization.js";
import { useConfiguredClient } from "./oauth-client.js";
import { guardedFetchOf, isInteractive, type OAuthContext, redirectUrlOf } from "./oauth-context.js";
import type { Challenge } from "./send-with-tokens.js";
import { startAuthorization } from "./start-authorization.js";
import type { HeldTokens } from "./token-cache.js";
import { requestTokensByGrant } from "./token-requests.js";

export interface AuthorizeParts {
  readonly context: OAuthContext;
  readonly tokens: AccessTokens;
  readonly limit: AuthorizationLimit;
}

/** Asks who authorizes, at this moment. */
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
 * After a 401 that nothing else could cure.
 *
 * @throws AuthError `AUTH_REQUIRED` with the URL of the login page, where a user has to log in
 */
export async function authorize(
  parts: AuthorizeParts,
  info: AuthorizationInfo,
  challenge: Challenge,
  held: HeldTokens | undefined,
): Promise<HeldTokens> {
  const { context, tokens, limit } = parts;
  // Rights that were granted by the same authorization server are asked for again.
  const previous = held?.record.at.issuer === info.issuer ? scopeSoFar(held) : undefined;
  const scope = scopeFor(parts, info, challenge, previous);
  if (!limit.allowsLogin(tokens.lastRefused)) throw tooOften();
  if (isInteractive(context)) return logIn(parts, info, scope, 401);
  if (held !== undefined && tokens.isRefused(held) && !tokens.canRenew(held)) throw tooOften();
  return requestWithoutUser(parts, info, scope, held);
}

/** After a 403 that asks for more rights. */
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

/** New tokens on the program's own word. */
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
  if (held === undefined) throw authFailed("The token was taken back while it was saved", "Try again");
  return held;
}

const tooOften = () =>
  authFailed(
    "The server refuses every token that its authorization server issues",
    "Ask the server's operator; `logOut` forgets what was tried",
  );

const insufficientScope = () =>
  authFailed(
    "The authorization does not cover this request, and asking again would not change that",
    "Ask the server's operator for the rights, or log out and in again",
    { code: "INSUFFICIENT_SCOPE", status: 403 },
  );

/** Logins in a row whose tokens the server refused. */
const MAX_LOGINS = 3;
/** Logins for more rights, within {@link WINDOW_MS}: each success in between looks like progress, so time counts here. */
const MAX_STEP_UPS = 3;
const WINDOW_MS = 600_000;

/** Counts over all calls to one server by one user. A login that nobody came back from costs nothing. */
export class AuthorizationLimit {
  readonly #now: () => number;
  readonly #reasons = new Set<string>();
  #stepUps: { readonly scope: string; readonly at: number }[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  /** False if there were too many. @param refused the token that made this login necessary */
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

  /** The server has taken a token. */
  succeeded(): void {
    if (this.#reasons.size > 0) this.#reasons.clear();
  }

  /** The user starts over. */
  reset(): void {
    this.#reasons.clear();
    this.#stepUps = [];
  }
}
