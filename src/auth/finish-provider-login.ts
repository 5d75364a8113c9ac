/** Ends a login that a caller's own `OAuthClientProvider` began. */
import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import { toToolportError } from "../errors/to-toolport-error.js";
import { checkedProvider } from "../transports/http/credentials/checked-provider.js";
import {
  noteFinished,
  type ProviderLogin,
  takeCode,
  takeLogin,
} from "../transports/http/credentials/provider-login.js";
import { dropUnknownLifetimes } from "../transports/http/credentials/token-lifetime.js";
import { createGuardedFetch } from "../transports/http/network/guarded-fetch.js";
import type { HttpClient } from "../transports/server-transport.js";
import { issuerMismatch } from "./auth-errors.js";
import { readCode, singleParameter, unknownLogin } from "./login-callback.js";

interface ProviderLoginParts {
  readonly server: string;
  readonly provider: OAuthClientProvider;
  readonly serverUrl: URL;
  readonly http: () => Promise<HttpClient>;
  /** Called once the login is spent, whatever becomes of it. */
  readonly onSpent?: (() => void) | undefined;
}

/**
 * Exchanges the code for tokens, which the provider saves. The `state` is compared if the login began in this process; otherwise
 * the provider, which made it, has to compare it.
 *
 * @throws AuthError; nothing of what the callback said is in it
 */
export async function finishProviderLogin(
  { server, provider, serverUrl, http, onSpent }: ProviderLoginParts,
  params: URLSearchParams,
): Promise<void> {
  try {
    const login = takeLogin(provider, serverUrl, (waiting) => checkState(waiting, params));
    onSpent?.();
    const code = readCode(params);
    if (!takeCode(provider, serverUrl, code) && login === undefined) throw unknownLogin();
    const issuers = params.getAll("iss");
    if (issuers.length > 1) throw issuerMismatch("The login came back from several authorization servers");
    const { auth } = await import("@modelcontextprotocol/client");
    await auth(providerFor(provider, serverUrl, login), {
      serverUrl,
      authorizationCode: code,
      fetchFn: dropUnknownLifetimes(createGuardedFetch(await http(), { serverUrl })),
      ...(issuers[0] !== undefined && { iss: issuers[0] }),
      ...(login?.scope !== undefined && { scope: login.scope }),
      ...(login?.resourceMetadataUrl !== undefined && { resourceMetadataUrl: login.resourceMetadataUrl }),
    });
    if (login !== undefined) noteFinished(provider, serverUrl, login);
  } catch (error) {
    throw toToolportError(error, { server }).withContext({ server });
  }
}

function checkState(login: ProviderLogin | undefined, params: URLSearchParams): void {
  const state = login?.authUrl.searchParams.get("state") ?? undefined;
  if (state !== undefined && singleParameter(params, "state") !== state) throw unknownLogin();
}

function providerFor(
  provider: OAuthClientProvider,
  serverUrl: URL,
  login: ProviderLogin | undefined,
): OAuthClientProvider {
  // Nothing of the first half is known, here or there: the SDK discovers again, as long as it is not promised more.
  if (login === undefined && provider.discoveryState === undefined) return provider;
  return checkedProvider(provider, serverUrl, { discovery: login?.discovery });
}
