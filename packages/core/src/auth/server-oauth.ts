/** OAuth for one server and one user: adds tokens to requests, renews them, starts and finishes logins, logs out. */
import { singleFlight, ToolportError, withDeadline } from "@toolport/base";
import type { AuthorizedSend, RequestToAuthorize, SendWithFields } from "../transports/server-transport.js";
import { AccessTokens } from "./access-tokens.js";
import {
  authorize,
  type Challenge,
  discoverFor,
  findOpenLogin,
  readStartedLogin,
  stepUp,
} from "./authorize.js";
import { bindingKey, loginKey, pendingKey, proofKeyKey, tokensKey } from "./credential-records.js";
import { type FinishedAuthorization, finishAuthorization } from "./finish-authorization.js";
import { clientAuthenticator, forgetRegistration, type OAuthClient, restoreClient } from "./oauth-client.js";
import {
  authFailed,
  authRequired,
  guardedFetchOf,
  isInteractive,
  nowOf,
  type OAuthContext,
  redirectUrlOf,
} from "./oauth-context.js";
import { type HeldTokens, isExpired, type TokenRecord } from "./token-records.js";

export type { OAuthContext } from "./oauth-context.js";

/** Whether a user is authorized at a server. */
export interface OAuthStatus {
  /** There are tokens that are valid as far as is known. */
  readonly authorized: boolean;
  readonly issuer?: string | undefined;
  readonly scopes?: string | undefined;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
}

export type ServerOAuth = ReturnType<typeof createServerOAuth>;

/** Give up after this many challenges to one request. */
const MAX_SENDS = 5;

export function createServerOAuth(context: OAuthContext) {
  const tokens = new AccessTokens(context);
  const recoveries = new Map<string, Promise<HeldTokens>>();
  /** Errors name the server. */
  const inContext = <T>(run: Promise<T>): Promise<T> =>
    run.catch((error) => Promise.reject(withServer(error, context)));

  const recover = (used: HeldTokens | undefined, challenge: Challenge): Promise<HeldTokens> =>
    singleFlight(recoveries, used?.record.accessToken ?? "", () => recoverTokens(tokens, used, challenge));

  const send = async (request: RequestToAuthorize, sendWith: SendWithFields): Promise<Response> => {
    if (!isServerOrigin(context.serverUrl, request.url)) return sendWith({});
    const within = <T>(run: Promise<T>) =>
      withDeadline(inContext(run), {
        signal: request.signal ?? undefined,
        onTimeout: () => new Error("unreachable"),
      });
    let storeError: unknown;
    const usable = () =>
      within(tokens.usable()).catch((error: unknown) => {
        // Without the store it is unknown whether there are tokens. The server may not require any: send without.
        if (!(error instanceof Error && error.name === "StateError")) throw error;
        storeError = error;
        return undefined;
      });
    let held = await usable();
    let stepUps = 0;
    for (let sends = 1; ; sends++) {
      const startedAt = performance.now();
      const response: Response = await sendWithTokens(tokens, held, { request, send: sendWith });
      if (response.ok && held !== undefined) tokens.accept(held);
      // The response to DELETE does not matter, so it starts no login.
      const challenge = request.method === "DELETE" ? undefined : await readChallenge(response);
      if (challenge === undefined) return response;
      observeChallenge(context, request, { response, held, startedAt });
      cancelBody(response);
      if (storeError !== undefined) throw storeError;
      const isStepUp = challenge.kind === "insufficient_scope";
      if (sends >= MAX_SENDS || (isStepUp && stepUps++ > 0))
        throw withServer(tokensRejected(response.status), context);
      held = await within(isStepUp ? stepUp(tokens, challenge, held) : recover(held, challenge));
    }
  };

  return {
    /** Sends a request to the MCP endpoint with the current credentials. */
    send: send satisfies AuthorizedSend,
    status: () => inContext(statusOf(tokens)),
    /** The URL of a login that was started, in any process, and not finished yet. */
    loginUrl: () => inContext(findOpenLogin(context).then((login) => login?.authUrl)),
    /** Finishes a login with the parameters of its callback: checks them, exchanges the code, saves the tokens. */
    async finish(params: URLSearchParams, onSpent?: () => void): Promise<void> {
      const { store, http, identity, principal, now, observe } = context;
      const accepts = (login: FinishedAuthorization) =>
        login.identity === identity && login.principal === principal;
      await inContext(finishAuthorization(params, { store, http, accepts, onSpent, now, observe }));
      // Cache the tokens now, in case the store fails before the next request.
      await tokens.cache.read().catch(() => {});
    },
    /** Revokes the tokens if the authorization server supports it, and deletes everything stored for this server and user. */
    logOut: () => inContext(logOut(tokens)),
    hasNewCredentials: () => tokens.hasNew(),
  };
}

/** The rejection of the MCP server that begins a login or a refresh. */
function observeChallenge(
  { observe }: OAuthContext,
  { method, url }: RequestToAuthorize,
  { response, held, startedAt }: { response: Response; held: HeldTokens | undefined; startedAt: number },
): void {
  if (observe === undefined) return;
  const plain = new URL(url);
  plain.search = "";
  const challenge = response.headers.get("www-authenticate") ?? "";
  observe({
    request: { url: plain, method, headers: {}, body: undefined },
    status: response.status,
    // The server knows the token that it rejects, and may repeat it.
    challenge: held === undefined ? challenge : challenge.replaceAll(held.record.accessToken, "[redacted]"),
    durationMs: performance.now() - startedAt,
  });
}

/** After a 401: uses tokens that another caller obtained meanwhile, a refresh, or a new authorization. */
async function recoverTokens(
  tokens: AccessTokens,
  used: HeldTokens | undefined,
  challenge: Challenge,
): Promise<HeldTokens> {
  const { context } = tokens;
  const newer = await tokens.newer(used);
  if (newer !== undefined) return newer;
  if (used !== undefined) tokens.refuse(used);
  // A rejected token that could not be renewed is not sent again, but it still names its issuer.
  const held = used ?? (await tokens.cache.read());
  const canRenew = used !== undefined && tokens.canRenew(used);
  if (!canRenew && isInteractive(context) && redirectUrlOf(context) === undefined)
    throw authRequired(undefined);
  const info = await discoverFor(tokens, challenge, held);
  if (canRenew && info.issuer === used.record.at.issuer) {
    const renewed = await tokens.renew(used);
    if (renewed !== undefined) return renewed;
  }
  return authorize(tokens, info, challenge, held);
}

async function statusOf(tokens: AccessTokens): Promise<OAuthStatus> {
  // Another process may have logged in since.
  const held = (await tokens.cache.current()) ?? (await tokens.cache.read());
  if (held === undefined) return { authorized: false };
  const { at, scope, expiresAt } = held.record;
  const isSpent = tokens.isRefused(held) || isExpired(held.record, nowOf(tokens.context));
  return {
    authorized: !isSpent || (!tokens.isRefused(held) && tokens.canRenew(held)),
    issuer: at.issuer,
    ...(scope !== undefined && { scopes: scope }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

/** Whether `url` has the server's origin, or its https form. Tokens are sent nowhere else. */
function isServerOrigin(home: URL, url: URL): boolean {
  if (home.origin === url.origin) return true;
  const isUpgrade = home.protocol === "http:" && url.protocol === "https:" && home.hostname === url.hostname;
  return isUpgrade && home.port === "" && url.port === "";
}

function withServer(error: unknown, { server }: OAuthContext): unknown {
  return ToolportError.isInstance(error) ? error.withContext({ server }) : error;
}

const tokensRejected = (status: number) =>
  authFailed("The server rejects every token", "Ask the server's operator", {
    code: status === 403 ? "INSUFFICIENT_SCOPE" : "AUTH_FAILED",
    status,
  });

async function sendWithTokens(
  tokens: AccessTokens,
  held: HeldTokens | undefined,
  { request: { method, url }, send }: { request: RequestToAuthorize; send: SendWithFields },
): Promise<Response> {
  if (held === undefined) return send({});
  const { accessToken, isBound } = held.record;
  if (!isBound) return send(bearer(held));
  const session = await tokens.dpop();
  if (session === undefined)
    throw authFailed("The saved token is bound to a DPoP key", "Set `oauth.dpop`, or log out");
  const { isDpopNonceChallenge } = await import("@modelcontextprotocol/client");
  // A proof is valid for one request only.
  const prove = async () =>
    send({
      authorization: `DPoP ${accessToken}`,
      dpop: await session.buildProof({ htm: method, htu: url, accessToken }),
    });
  let response = await prove();
  if (isDpopNonceChallenge(response) && response.headers.has("dpop-nonce")) {
    session.observeNonce(response, url);
    cancelBody(response);
    response = await prove();
  }
  session.observeNonce(response, url);
  return response;
}

/** The header for tokens that are not bound to a key. */
const bearer = ({ record }: HeldTokens): { readonly authorization: string } => ({
  authorization: `Bearer ${record.accessToken}`,
});

/** The server may want other credentials. */
const isChallenge = ({ status }: Response): boolean => status === 401 || status === 403;

/** Undefined if other credentials would not help. */
export async function readChallenge(response: Response): Promise<Challenge | undefined> {
  const { status } = response;
  if (!isChallenge(response)) return undefined;
  const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/client");
  const { scope, resourceMetadataUrl, error } = extractWWWAuthenticateParams(response);
  if (status === 401) return { kind: "unauthorized", scope, resourceMetadataUrl };
  if (error !== "insufficient_scope") return undefined;
  return { kind: "insufficient_scope", scope, resourceMetadataUrl };
}

/** Cancels a response body that is not read. */
function cancelBody(response: Response): void {
  // A locked body is being read and cannot be cancelled.
  if (response.body !== null && !response.body.locked) response.body.cancel().catch(() => {});
}

/** Another process may refresh the tokens during the logout; its tokens have to be deleted too. */
const MAX_ROUNDS = 5;

async function logOut(tokens: AccessTokens): Promise<void> {
  const { context } = tokens;
  const { store, options, serverUrl } = context;
  const issuers = new Set<string>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    tokens.cache.clear();
    const held = await tokens.cache.read();
    if (held !== undefined) {
      issuers.add(held.record.at.issuer);
      await revoke(context, held.record);
    }
    const version = held?.version ?? (await tokens.cache.version());
    if (version === 0 || (await store.delete(tokensKey(context), { ifVersion: version }))) break;
  }
  const waiting = readStartedLogin(await store.get(loginKey(context)));
  if (waiting !== undefined) {
    issuers.add(waiting.issuer);
    await store.delete(pendingKey(waiting.stateHash));
  }
  await store.delete(loginKey(context));
  await store.delete(proofKeyKey(context));
  const redirectUrl = redirectUrlOf(context);
  for (const issuer of redirectUrl === undefined ? [] : issuers)
    await forgetRegistration(context, { issuer, redirectUrl: redirectUrl!, clientId: undefined });
  if (options.clientId !== undefined) await store.delete(bindingKey(options.clientId, serverUrl));
  tokens.clear();
}

async function revoke(context: OAuthContext, record: TokenRecord): Promise<void> {
  const client = restoreClient(record.client, context.options);
  const isDone = client !== undefined && (await revokeTokens(record, client, await guardedFetchOf(context)));
  if (!isDone)
    context.warn("The authorization server did not confirm the logout; the tokens are deleted here");
}

/** Revokes the tokens (RFC 7009). True if the server confirmed it, or has no revocation endpoint. Never rejects. */
async function revokeTokens(
  record: TokenRecord,
  client: OAuthClient,
  fetch: typeof globalThis.fetch,
): Promise<boolean> {
  const endpoint = record.at.revocationEndpoint;
  if (endpoint === undefined) return true;
  const { accessToken, refreshToken } = record;
  // The refresh token first: most servers revoke its access tokens with it.
  const wanted = [
    [refreshToken, "refresh_token"],
    [accessToken, "access_token"],
  ] as const;
  try {
    const authenticate = await clientAuthenticator(client);
    for (const [token, hint] of wanted) {
      if (token === undefined) continue;
      const headers = new Headers({ accept: "application/json" });
      const body = new URLSearchParams({ token, token_type_hint: hint });
      await authenticate(headers, body, endpoint);
      headers.set("content-type", "application/x-www-form-urlencoded");
      const response = await fetch(endpoint, { method: "POST", headers, body, redirect: "manual" });
      if (!response.ok) return false;
    }
    return true;
  } catch {
    return false;
  }
}
