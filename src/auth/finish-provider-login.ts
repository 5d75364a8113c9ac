/** Finishes a login that was started by the caller's own `OAuthClientProvider`. */
import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import { toToolportError } from "../errors/to-toolport-error.js";
import { checkedProvider, dropUnknownLifetimes } from "../transports/http/credentials/checked-provider.js";
import {
  noteFinished,
  type ProviderLogin,
  takeCode,
  takeLogin,
} from "../transports/http/credentials/provider-authorization.js";
import { createGuardedFetch } from "../transports/http/network/guarded-fetch.js";
import type { HttpClient } from "../transports/server-transport.js";
import { issuerMismatch } from "./auth-errors.js";
import { readCode, singleParameter, unknownLogin } from "./login-callback.js";

interface ProviderLoginParts {
  readonly server: string;
  readonly provider: OAuthClientProvider;
  readonly serverUrl: URL;
  readonly http: () => Promise<HttpClient>;
  /** Called once the login can no longer be used, also if it then fails. */
  readonly onSpent?: (() => void) | undefined;
}

/**
 * Exchanges the code for tokens, which the provider saves. Compares the `state` if the login was started in this process;
 * otherwise the provider, which created the `state`, has to compare it.
 *
 * @throws AuthError, which contains nothing from the callback
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
    if (issuers.length > 1) throw issuerMismatch("The login callback names several authorization servers");
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
  // Neither this process nor the provider has the discovery state: let the SDK discover again.
  if (login === undefined && provider.discoveryState === undefined) return provider;
  return checkedProvider(provider, { serverUrl, discovery: login?.discovery });
}
