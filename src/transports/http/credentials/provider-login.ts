/** Logins with a caller's `authProvider`: started after a rejected request, finished by `finishAuth`. */
import type { AuthOptions, OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/client";
import { AuthError } from "../../../errors/toolport-error.js";
import { processWide } from "../../../util/version.js";
import { checkedProvider } from "./checked-provider.js";

/** From the challenge of the rejected request. */
export type LoginChallenge = Pick<AuthOptions, "scope" | "resourceMetadataUrl" | "forceReauthorization">;

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
export async function logInByProvider(
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
export function finishedScopes(provider: OAuthClientProvider, serverUrl: URL): readonly string[] | undefined {
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
  const byUrl = logins.get(provider) ?? new Map<string, KnownLogin>();
  logins.set(provider, byUrl);
  const known = byUrl.get(href) ?? {};
  byUrl.set(href, known);
  return known;
}
