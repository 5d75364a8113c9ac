/** Ends a user's login on any process that shares the store: the record that was left behind holds all it takes. */
import { ToolportError } from "../errors/toolport-error.js";
import type { Store } from "../state/store.js";
import { createGuardedFetch } from "../transports/http/network/guarded-fetch.js";
import type { HttpClient } from "../transports/server-transport.js";
import { authFailed, issuerMismatch } from "./auth-errors.js";
import { loginKey, proofKeyKey, tokensKey } from "./credential-records.js";
import { openDpopSession } from "./dpop-session.js";
import { readCode, singleParameter, unknownLogin } from "./login-callback.js";
import { forgetRegistration } from "./oauth-client.js";
import {
  findPending,
  hashState,
  type PendingAuthorization,
  readStartedLogin,
} from "./start-authorization.js";
import { type TokenRecord, toTokenRecord } from "./token-record.js";
import { requestTokens } from "./token-requests.js";

/** Whose login has ended. */
export interface FinishedAuthorization {
  readonly server: string;
  readonly identity: string;
  readonly principal: string | undefined;
}

export interface FinishParts {
  readonly store: Store;
  readonly http: (login: Pick<PendingAuthorization, "server" | "principal">) => Promise<HttpClient>;
  /** Path that the callback came to; it has to be the one the user was sent back to. */
  readonly pathname?: string | undefined;
  /** Called once the login is spent, whatever becomes of it: its URL is of no use any more. */
  readonly onSpent?: ((login: FinishedAuthorization) => void) | undefined;
  /** Whether this login may end here. @default any */
  readonly accepts?: ((login: FinishedAuthorization) => boolean) | undefined;
  readonly now?: (() => number) | undefined;
}

/**
 * Ends the login that these parameters of a callback belong to: checks them, exchanges the code, saves the tokens.
 *
 * @throws AuthError; nothing of what the callback said is in it
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
    const code = checkedCode(params, found.pending);
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

/** The code, if the callback is what the authorization server promised. */
function checkedCode(params: URLSearchParams, pending: PendingAuthorization): string {
  checkIssuer(params, pending);
  return readCode(params);
}

/**
 * Compared before anything else of the callback is looked at, letter by letter (RFC 9207).
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 */
function checkIssuer(params: URLSearchParams, { at, isDescribed, sendsIssuer }: PendingAuthorization): void {
  if (!isDescribed) return;
  const said = params.getAll("iss");
  if (said.length === 0 && !sendsIssuer) return;
  if (said.length === 1 && said[0] === at.issuer) return;
  throw issuerMismatch("The login came back from another authorization server than the one it was meant for");
}

async function exchange(
  code: string,
  pending: PendingAuthorization,
  { store, http, now = Date.now }: FinishParts,
): Promise<TokenRecord> {
  const { at, client, resource, redirectUrl, serverUrl, allowedHosts, verifier } = pending;
  const answer = await requestTokens({
    at,
    client,
    resource,
    params: {
      grant_type: "authorization_code",
      code,
      code_verifier: verifier,
      redirect_uri: redirectUrl,
    },
    fetch: createGuardedFetch(await http(pending), { serverUrl, allowedHosts }),
    dpop: pending.isBound ? await openDpopSession(store, proofKeyKey(ownerOf(pending))) : undefined,
  });
  if ("tokens" in answer) {
    const origin = { serverUrl, at, client, resource, requestedScope: pending.scope, now: now() };
    return toTokenRecord(answer.tokens, origin);
  }
  if (answer.refused === "invalid_client" || answer.refused === "unauthorized_client") {
    const context = { store, serverUrl: new URL(serverUrl) };
    await forgetRegistration(context, { issuer: at.issuer, redirectUrl, clientId: client.id });
  }
  throw authFailed("The authorization server did not take the code of the login", "Log in anew");
}

/** Over what was there: a login is the user's newest word. */
async function save(record: TokenRecord, pending: PendingAuthorization, store: Store): Promise<void> {
  const key = tokensKey(ownerOf(pending));
  for (let attempt = 0; attempt < 10; attempt++) {
    const ifVersion = (await store.get(key))?.version ?? 0;
    if ((await store.put(key, record, { ifVersion, secret: true })) !== undefined) return;
  }
  throw authFailed("The tokens could not be saved: others kept changing them", "Log in anew", {
    retryable: true,
  });
}

/** The URL of this login leads nowhere now. Another login may have been started since. */
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
