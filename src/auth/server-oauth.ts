/** The credentials of one server for one user: put on every request, renewed, asked for, and forgotten. */
import { ToolportError } from "../errors/toolport-error.js";
import type {
  AuthorizedSend,
  RequestToAuthorize,
  SendWithFields,
} from "../transports/http/credentials/authorized-send.js";
import { withDeadline } from "../util/with-deadline.js";
import { AccessTokens } from "./access-tokens.js";
import { authFailed, authRequired } from "./auth-errors.js";
import { AuthorizationLimit, type AuthorizeParts, authorize, discoverFor, stepUp } from "./authorize.js";
import { type FinishedAuthorization, finishAuthorization } from "./finish-authorization.js";
import { logOut } from "./log-out.js";
import { isInteractive, nowOf, type OAuthContext, redirectUrlOf } from "./oauth-context.js";
import { singleFlight } from "./obtain-once.js";
import { type Challenge, cancelBody, readChallenge, sendWithTokens } from "./send-with-tokens.js";
import type { HeldTokens } from "./token-cache.js";
import { isExpired } from "./token-record.js";

export type { OAuthContext } from "./oauth-context.js";

/** How a server and a user stand. */
export interface OAuthStatus {
  /** There are tokens that are good as far as is known. */
  readonly authorized: boolean;
  readonly issuer?: string | undefined;
  readonly scopes?: string | undefined;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
}

export interface ServerOAuth {
  /** Sends a request to the MCP endpoint with the credentials of this moment. */
  readonly send: AuthorizedSend;
  status(): Promise<OAuthStatus>;
  /** Ends a login with the parameters that came with the user: checks them, exchanges the code, saves the tokens. */
  finish(params: URLSearchParams, onSpent?: () => void): Promise<void>;
  /** Revokes the tokens where that is possible, and forgets everything about this server and user. */
  logOut(): Promise<void>;
  /** The store has tokens other than those that were last refused: worth another attempt. */
  hasNewCredentials(): Promise<boolean>;
}

/** More answers than this to one request are a server's game. */
const MAX_SENDS = 5;

export function createServerOAuth(context: OAuthContext): ServerOAuth {
  const tokens = new AccessTokens(context);
  const limit = new AuthorizationLimit(() => nowOf(context));
  const parts: AuthorizeParts = { context, tokens, limit };
  const recoveries = new Map<string, Promise<HeldTokens>>();
  const named = <T>(run: Promise<T>): Promise<T> =>
    run.catch((error) => Promise.reject(withServer(error, context)));

  const recover = (used: HeldTokens | undefined, challenge: Challenge): Promise<HeldTokens> =>
    singleFlight(recoveries, used?.record.accessToken ?? "", () => recoverTokens(parts, used, challenge));

  const send = async (request: RequestToAuthorize, sendWith: SendWithFields): Promise<Response> => {
    if (!isServerOrigin(context.serverUrl, request.url)) return sendWith({});
    const within = <T>(run: Promise<T>) => waitFor(named(run), request.signal);
    const present = (held: HeldTokens | undefined) =>
      sendWithTokens({ held, request, dpop: () => tokens.dpop() }, sendWith);
    let trouble: unknown;
    let held = await within(tokens.usable()).catch((error: unknown) => {
      // Without the store nobody knows whether there are tokens; the server may want none.
      if (!isStoreTrouble(error)) throw error;
      trouble = error;
      return undefined;
    });
    let stepUps = 0;
    for (let sends = 1; ; sends++) {
      const response = await present(held);
      if (response.ok && held !== undefined) {
        tokens.accept(held);
        limit.succeeded();
      }
      // Nothing follows from how the server takes the end of a session.
      const challenge = request.method === "DELETE" ? undefined : await readChallenge(response);
      if (challenge === undefined) return response;
      cancelBody(response);
      if (trouble !== undefined) throw trouble;
      const isStepUp = challenge.kind === "insufficient_scope";
      if (sends >= MAX_SENDS || (isStepUp && stepUps++ > 0))
        throw withServer(tokensRejected(response.status), context);
      held = await within(isStepUp ? stepUp(parts, challenge, held) : recover(held, challenge));
    }
  };

  return {
    send,
    status: () => named(statusOf(context, tokens)),
    async finish(params, onSpent) {
      const { store, http, identity, principal, now } = context;
      const accepts = (login: FinishedAuthorization) =>
        login.identity === identity && login.principal === principal;
      await named(finishAuthorization(params, { store, http, accepts, onSpent, now }));
      // Known from now on, even if the store goes away before the next request.
      await tokens.cache.read().catch(() => {});
    },
    async logOut() {
      await named(logOut(context, tokens));
      limit.reset();
    },
    async hasNewCredentials() {
      const held = await tokens.cache.read();
      return held !== undefined && !tokens.isRefused(held) && held.record.accessToken !== tokens.lastRefused;
    },
  };
}

/** After a 401: what somebody else has got meanwhile, a refresh, or a new authorization. */
async function recoverTokens(
  parts: AuthorizeParts,
  used: HeldTokens | undefined,
  challenge: Challenge,
): Promise<HeldTokens> {
  const { context, tokens } = parts;
  const newer = await tokens.newer(used);
  if (newer !== undefined) return newer;
  if (used !== undefined) tokens.refuse(used);
  // A token that was refused before and could not be renewed is not sent any more, but still says who issued it.
  const held = used ?? (await tokens.cache.read());
  const canRenew = used !== undefined && tokens.canRenew(used);
  if (!canRenew && isInteractive(context) && redirectUrlOf(context) === undefined)
    throw authRequired(undefined);
  const info = await discoverFor(parts, challenge, held);
  if (canRenew && info.issuer === used.record.at.issuer) {
    const renewed = await tokens.renew(used);
    if (renewed !== undefined) return renewed;
  }
  return authorize(parts, info, challenge, held);
}

async function statusOf(context: OAuthContext, tokens: AccessTokens): Promise<OAuthStatus> {
  const held = await tokens.cache.current();
  if (held === undefined) return { authorized: false };
  const { at, scope, expiresAt } = held.record;
  const isSpent = tokens.isRefused(held) || isExpired(held.record, nowOf(context));
  return {
    authorized: !isSpent || (!tokens.isRefused(held) && tokens.canRenew(held)),
    issuer: at.issuer,
    ...(scope !== undefined && { scopes: scope }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

/** The same origin, or its https form: the only places that see tokens. */
function isServerOrigin(home: URL, url: URL): boolean {
  if (home.origin === url.origin) return true;
  const isUpgrade = home.protocol === "http:" && url.protocol === "https:" && home.hostname === url.hostname;
  return isUpgrade && home.port === "" && url.port === "";
}

function waitFor<T>(run: Promise<T>, signal: AbortSignal | null | undefined): Promise<T> {
  return withDeadline(run, { signal: signal ?? undefined, onTimeout: () => new Error("unreachable") });
}

const isStoreTrouble = (error: unknown): boolean => error instanceof Error && error.name === "StateError";

function withServer(error: unknown, { server }: OAuthContext): unknown {
  return ToolportError.isInstance(error) ? error.withContext({ server }) : error;
}

const tokensRejected = (status: number) =>
  authFailed("The server refuses every token it is given", "Ask the server's operator", {
    code: status === 403 ? "INSUFFICIENT_SCOPE" : "AUTH_FAILED",
    status,
  });
