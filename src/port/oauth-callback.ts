/** The end of a login in a web application: the browser comes back, whichever process it reaches. */
import type { ServerConnection } from "../connection/server-connection.js";
import { AuthError } from "../errors/auth-error.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import type { Store } from "../state/store.js";
import type { HttpClient } from "../transports/server-transport.js";

/** How a login ended. */
export interface OAuthCallbackResult {
  /** The server; undefined when the request belongs to no login that is known here. */
  readonly server: string | undefined;
  /** The same under the name that Cloudflare's agents use. */
  readonly serverId: string | undefined;
  /** Whose login it is; undefined outside `as(principal)`. */
  readonly principal: string | undefined;
  readonly authSuccess: boolean;
  /** Why it failed, in words of ours: nothing that came with the request. */
  readonly authError?: string | undefined;
}

/** What the browser gets to see at the end of a login. */
export interface OAuthCallbackOptions {
  /** Where it goes after a login that worked. @default a page that says so */
  successRedirect?: string;
  /** Where it goes after one that did not. @default a page that says so */
  errorRedirect?: string;
  /** Answers the request itself. */
  customHandler?: (result: OAuthCallbackResult) => Response | Promise<Response>;
}

export interface CallbackParts {
  readonly store: Store;
  readonly http: (login: { server: string; principal?: string | undefined }) => Promise<HttpClient>;
  readonly options: OAuthCallbackOptions;
  /** A login has ended: the connection may go on. */
  readonly onFinished: (finished: { server: string; principal: string | undefined }) => void;
  /** A login failed and cannot be tried again: resolves when the connection has another one to offer. Never rejects. */
  readonly onFailed: (login: { server: string; principal: string | undefined }) => Promise<void>;
  readonly warn: (server: string | undefined, message: string) => void;
}

/** Finishes the login that a callback request belongs to, and answers the browser. */
export async function answerOAuthCallback(request: Request, parts: CallbackParts): Promise<Response> {
  const { failurePage, successPage } = await import("../auth/login-callback.js");
  const { errorRedirect, successRedirect, customHandler } = parts.options;
  const result = await finish(request, parts);
  if (customHandler !== undefined) return customHandler(result);
  if (result.authSuccess)
    return successRedirect === undefined ? successPage() : redirect(request, successRedirect);
  return errorRedirect === undefined ? failurePage() : redirect(request, errorRedirect);
}

async function finish(request: Request, parts: CallbackParts): Promise<OAuthCallbackResult> {
  const { finishAuthorization } = await import("../auth/finish-authorization.js");
  let spent: Parameters<CallbackParts["onFailed"]>[0] | undefined;
  try {
    if (request.method !== "GET") throw wrongMethod();
    const url = new URL(request.url);
    const finished = await finishAuthorization(url.searchParams, {
      store: parts.store,
      http: parts.http,
      pathname: url.pathname,
      onSpent: (login) => {
        spent = login;
      },
    });
    const { server, principal } = finished;
    parts.onFinished(finished);
    return { server, serverId: server, principal, authSuccess: true };
  } catch (error) {
    const failure = toToolportError(error);
    parts.warn(failure.server, `A login did not succeed: ${failure.what}`);
    const { server } = failure;
    // Before the browser is answered: the page that it is sent to may offer the new login.
    if (spent !== undefined) await parts.onFailed(spent);
    return {
      server,
      serverId: server,
      principal: undefined,
      authSuccess: false,
      authError: failure.message,
    };
  }
}

/** How long the user waits for it. */
const RENEWAL_MS = 10_000;

/** Gets a new URL for a login that failed: the old one was of use once. Never rejects. */
export async function renewLogin(connection: ServerConnection | undefined): Promise<void> {
  const connect = () => connection?.connect({ timeoutMs: RENEWAL_MS }).catch(() => {});
  // An attempt that is under way may have found the old login still open.
  if (connection?.state.status === "connecting") await connect();
  if (connection?.state.status === "authenticating") await connect();
}

/** Where the options say, seen from the request; nothing of the request's query goes along. */
function redirect(request: Request, target: string): Response {
  const location = new URL(target, request.url).href;
  return new Response(null, {
    status: 302,
    headers: { location, "cache-control": "no-store", "referrer-policy": "no-referrer" },
  });
}

const wrongMethod = () =>
  new AuthError({ code: "AUTH_FAILED", what: "A login ends with a GET request", outcome: "unsent" });
