/** Finishes a user's login in any process that shares the store. The pending record contains everything needed. */

import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import { singleParameter, ToolportError, toToolportError } from "@toolport/base";
import { createGuardedFetch, type ObservedExchange } from "@toolport/http/guarded-fetch";
import type { HttpClient } from "@toolport/http/wire-client";
import type { Store } from "@toolport/stores";
import { checkedProvider, dropUnknownLifetimes } from "../transports/http/credentials/checked-provider.js";
import {
  noteFinished,
  type ProviderLogin,
  takeCode,
  takeLogin,
} from "../transports/http/credentials/provider-authorization.js";
import { openDpopSession } from "./access-tokens.js";
import { findPending, hashState, type PendingAuthorization, readStartedLogin } from "./authorize.js";
import { loginKey, proofKeyKey, tokensKey } from "./credential-records.js";
import { readCode, unknownLogin } from "./login-callback.js";
import { forgetRegistration } from "./oauth-client.js";
import { authFailed, isClientError, issuerMismatch } from "./oauth-context.js";
import { type TokenRecord, toTokenRecord } from "./token-records.js";
import { requestTokens } from "./token-requests.js";

/** The server and the user of a finished login. */
export interface FinishedAuthorization {
  readonly server: string;
  readonly identity: string;
  readonly principal: string | undefined;
}

interface FinishParts {
  readonly store: Store;
  readonly http: (login: Pick<PendingAuthorization, "server" | "principal">) => Promise<HttpClient>;
  /** Path of the callback request; it has to match the redirect URL of the login. */
  readonly pathname?: string | undefined;
  /** Called once the pending record is deleted, also if the login then fails: its URL can no longer be used. */
  readonly onSpent?: ((login: FinishedAuthorization) => void) | undefined;
  /** Whether this caller may finish the login. @default any */
  readonly accepts?: ((login: FinishedAuthorization) => boolean) | undefined;
  readonly now?: (() => number) | undefined;
  /** Receives the requests to the authorization server. @default none */
  readonly observe?: ((exchange: ObservedExchange, login: FinishedAuthorization) => void) | undefined;
}

/**
 * Finishes the login that these callback parameters belong to: checks them, exchanges the code, saves the tokens.
 *
 * @throws AuthError, which contains nothing from the callback
 */
export async function finishAuthorization(
  params: URLSearchParams,
  parts: FinishParts,
): Promise<FinishedAuthorization> {
  const state = singleParameter(params, "state");
  const found = state === undefined ? undefined : await findPending(parts.store, state);
  if (state === undefined || found === undefined || !belongsHere(found.pending, parts)) throw unknownLogin();
  const { server } = found.pending;
  try {
    if (!(await found.take())) throw unknownLogin();
    parts.onSpent?.(ownerOf(found.pending));
    checkIssuer(params, found.pending);
    const code = readCode(params);
    const record = await exchange(code, found.pending, parts);
    await save(record, found.pending, parts.store);
    await deleteStartedLogin(found.pending, await hashState(state), parts.store);
    return ownerOf(found.pending);
  } catch (error) {
    throw ToolportError.isInstance(error) ? error.withContext({ server }) : error;
  }
}

const ownerOf = ({ server, identity, principal }: PendingAuthorization): FinishedAuthorization => ({
  server,
  identity,
  principal,
});

function belongsHere(pending: PendingAuthorization, { pathname, accepts }: FinishParts): boolean {
  if (pathname !== undefined && new URL(pending.redirectUrl).pathname !== pathname) return false;
  return accepts?.(ownerOf(pending)) ?? true;
}

/**
 * Compares `iss` exactly, before any other parameter is read (RFC 9207).
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 */
function checkIssuer(params: URLSearchParams, { at, isDescribed, sendsIssuer }: PendingAuthorization): void {
  if (!isDescribed) return;
  const said = params.getAll("iss");
  if (said.length === 0 && !sendsIssuer) return;
  if (said.length === 1 && said[0] === at.issuer) return;
  throw issuerMismatch(
    "The login callback came from another authorization server than the one the login was started at",
  );
}

async function exchange(
  code: string,
  pending: PendingAuthorization,
  { store, http, observe, now = Date.now }: FinishParts,
): Promise<TokenRecord> {
  const { at, client, resource, redirectUrl, serverUrl, allowedHosts, verifier } = pending;
  const codeGrant = { grant_type: "authorization_code", code };
  const answer = await requestTokens({
    at,
    client,
    resource,
    params: { ...codeGrant, code_verifier: verifier, redirect_uri: redirectUrl },
    fetch: createGuardedFetch(await http(pending), {
      serverUrl,
      allowedHosts,
      observe: observe && ((exchange) => observe(exchange, ownerOf(pending))),
    }),
    dpop: pending.isBound ? await openDpopSession(store, proofKeyKey(ownerOf(pending))) : undefined,
  });
  if ("tokens" in answer) {
    const origin = { serverUrl, at, client, resource, requestedScope: pending.scope, now: now() };
    return toTokenRecord(answer.tokens, origin);
  }
  if (isClientError(answer.refused)) {
    const context = { store, serverUrl: new URL(serverUrl) };
    await forgetRegistration(context, { issuer: at.issuer, redirectUrl, clientId: client.id });
  }
  throw authFailed("The authorization server rejected the code of the login", "Log in again");
}

/** Replaces any stored tokens: those of the latest login win. */
async function save(record: TokenRecord, pending: PendingAuthorization, store: Store): Promise<void> {
  const key = tokensKey(ownerOf(pending));
  for (let attempt = 0; attempt < 10; attempt++) {
    const ifVersion = (await store.get(key))?.version ?? 0;
    if ((await store.put(key, record, { ifVersion, secret: true })) !== undefined) return;
  }
  throw authFailed(
    "The tokens could not be saved because other processes kept changing the record",
    "Log in again",
    { retryable: true },
  );
}

/** The URL of this login can no longer be used. Keep the record if another login was started since. */
async function deleteStartedLogin(
  pending: PendingAuthorization,
  stateHash: string,
  store: Store,
): Promise<void> {
  const key = loginKey(ownerOf(pending));
  const found = await store.get(key);
  if (found !== undefined && readStartedLogin(found)?.stateHash === stateHash)
    await store.delete(key, { ifVersion: found.version });
}

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
