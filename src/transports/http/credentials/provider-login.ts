/** Logins of a caller's `authProvider`: begun here by a refused request, ended by `finishAuth`. */
import type { AuthOptions, OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/client";
import { AuthError } from "../../../errors/auth-error.js";
import { processWide } from "../../../util/process-wide.js";
import { checkedProvider } from "./checked-provider.js";

/** What the server's refusal asked for. */
export type LoginChallenge = Pick<AuthOptions, "scope" | "resourceMetadataUrl" | "forceReauthorization">;

/** What the second half of a login needs to know of the first. The provider itself may keep none of it. */
export interface ProviderLogin extends LoginChallenge {
  readonly authUrl: URL;
  readonly discovery: OAuthDiscoveryState | undefined;
}

/** Of one provider and server URL, in this process. */
interface KnownLogin {
  /** Waits for its callback. */
  waiting?: ProviderLogin | undefined;
  /** Of the last callback: sent twice, an authorization server takes it for stolen and revokes the tokens. */
  usedCode?: string;
  /** What finished logins asked for. */
  finished?: readonly FinishedLogin[];
}

interface FinishedLogin {
  readonly scope: string;
  readonly at: number;
}

/** Logins for more rights within {@link WINDOW_MS}: each one looks like progress, so time counts. */
const MAX_LOGINS = 3;
const WINDOW_MS = 600_000;

const logins = processWide(
  "provider-logins",
  () => new WeakMap<OAuthClientProvider, Map<string, KnownLogin>>(),
);

interface LoginParts {
  readonly provider: OAuthClientProvider;
  readonly serverUrl: URL;
  /** For the authorization server. */
  readonly fetch: typeof globalThis.fetch;
}

/**
 * Refreshes the provider's tokens, or sends its user to a login page.
 *
 * @throws AuthError with `authUrl` when the user has to log in
 */
export async function logInByProvider(
  { provider, serverUrl, fetch }: LoginParts,
  challenge: LoginChallenge,
): Promise<void> {
  const { auth } = await import("@modelcontextprotocol/client");
  const known = knownLogin(provider, serverUrl);
  const checked = checkedProvider(provider, serverUrl, {
    onRedirect: (authUrl, discovery) => {
      known.waiting = { ...challenge, authUrl, discovery };
    },
  });
  const result = await auth(checked, { serverUrl, fetchFn: fetch, ...challenge });
  if (result === "AUTHORIZED") return;
  throw new AuthError({
    code: "AUTH_REQUIRED",
    what: "The server wants authorization",
    next: "Log in at `authUrl`, then call finishAuth() with the parameters of the callback",
    status: 401,
    outcome: "unsent",
    authUrl: known.waiting?.authUrl.href,
  });
}

/**
 * The login that waits for its callback. Taken once; undefined also if another process began it. `check` throws for a callback of
 * another login: this one goes on waiting.
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

/** A login succeeded: asking for the same rights once more would not change anything. */
export function noteFinished(
  provider: OAuthClientProvider,
  serverUrl: URL,
  { scope }: Pick<LoginChallenge, "scope">,
): void {
  if (scope === undefined) return;
  const known = knownLogin(provider, serverUrl);
  known.finished = [...(known.finished ?? []), { scope, at: Date.now() }].slice(-MAX_LOGINS);
}

/** What finished logins of the last minutes asked for; undefined if there were too many for another one. */
export function finishedScopes(provider: OAuthClientProvider, serverUrl: URL): readonly string[] | undefined {
  const since = Date.now() - WINDOW_MS;
  const recent = (knownLogin(provider, serverUrl).finished ?? []).filter(({ at }) => at > since);
  return recent.length < MAX_LOGINS ? recent.map(({ scope }) => scope) : undefined;
}

/** Returns false if this code was the last one that was taken. */
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
