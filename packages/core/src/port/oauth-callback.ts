/** Handles the callback request of a login in a web application, in any process that shares the store. */

import { AuthError, toToolportError } from "@toolport/base";
import type { ServerConnection } from "../connection/server-connection.js";
import type { Port } from "./port.js";
import { authEvents } from "./wire-events.js";

/** The outcome of a login. */
export interface OAuthCallbackResult {
  /** The server; undefined if the request belongs to no known login. */
  readonly server: string | undefined;
  /** The same, under the name that Cloudflare's agents use. */
  readonly serverId: string | undefined;
  /** The principal that logged in; undefined outside `as(principal)`. */
  readonly principal: string | undefined;
  readonly authSuccess: boolean;
  /** Why the login failed. Contains nothing from the request. */
  readonly authError?: string | undefined;
}

/** What the browser shows after a login. */
export interface OAuthCallbackOptions {
  /** Redirect after a successful login. @default a page that says so */
  successRedirect?: string;
  /** Redirect after a failed login. @default a page that says so */
  errorRedirect?: string;
  /** Creates the response. */
  customHandler?: (result: OAuthCallbackResult) => Response | Promise<Response>;
}

interface Login {
  readonly server: string;
  readonly principal?: string | undefined;
}

/** The port of a user, if this process has one. */
type PortOf = (principal: string | undefined) => Port | undefined;

/** Finishes the login that a callback request belongs to, and answers the browser. */
export async function answerOAuthCallback(
  request: Request,
  port: Port,
  { options, portOf }: { options: OAuthCallbackOptions; portOf: PortOf },
): Promise<Response> {
  const { callbackPage } = await import("../auth/login-callback.js");
  const { errorRedirect, successRedirect, customHandler } = options;
  const result = await finish(request, port, portOf);
  if (customHandler !== undefined) return customHandler(result);
  const to = result.authSuccess ? successRedirect : errorRedirect;
  return to === undefined ? callbackPage(result.authSuccess) : redirect(request, to);
}

async function finish(request: Request, port: Port, portOf: PortOf): Promise<OAuthCallbackResult> {
  const { parts } = port;
  // The login may belong to another user, or to a server that only another process has.
  const connectionOf = ({ server, principal }: Login) => portOf(principal)?.pool.get(server);
  const { finishAuthorization } = await import("../auth/finish-authorization.js");
  let spent: Login | undefined;
  try {
    if (request.method !== "GET") {
      const what = "A login ends with a GET request";
      throw new AuthError({ code: "AUTH_FAILED", what, outcome: "unsent" });
    }
    const url = new URL(request.url);
    const finished = await finishAuthorization(url.searchParams, {
      store: parts.settings.store,
      // With the network options of the server, if this process has it.
      http: (login) => port.http(connectionOf(login)?.config ?? {}),
      observe: authEvents(parts.emitter),
      pathname: url.pathname,
      onSpent: (login) => {
        spent = login;
      },
    });
    const { server, principal } = finished;
    const waiting = connectionOf(finished);
    // An attempt that began before the login still ends in "authenticating"; `acquire` then tries the new tokens.
    waiting
      ?.connect({ isRequested: true })
      .catch(() => waiting.acquire())
      .catch(() => {});
    return { server, serverId: server, principal, authSuccess: true };
  } catch (error) {
    const failure = toToolportError(error);
    parts.warn(failure.server, `A login failed: ${failure.what}`);
    const { server } = failure;
    // Before the response, because the page of the redirect may offer the new login.
    if (spent !== undefined) await renewLogin(connectionOf(spent));
    const { message: authError } = failure;
    return { server, serverId: server, principal: undefined, authSuccess: false, authError };
  }
}

/** How long the user waits at most. */
const RENEWAL_MS = 10_000;

/** Gets a new URL after a failed login, because a URL can be used only once. Never rejects. */
export async function renewLogin(connection: ServerConnection | undefined): Promise<void> {
  const connect = () => connection?.connect({ timeoutMs: RENEWAL_MS }).catch(() => {});
  // An attempt under way may have read the old login while it was still open.
  if (connection?.state.status === "connecting") await connect();
  if (connection?.state.status === "authenticating") await connect();
}

/** Resolves the redirect of the options against the URL of the request. The query of the request is not passed on. */
function redirect(request: Request, target: string): Response {
  const location = new URL(target, request.url).href;
  return new Response(null, {
    status: 302,
    headers: { location, "cache-control": "no-store", "referrer-policy": "no-referrer" },
  });
}
