/** A login at a terminal: the user's browser goes to the login page and comes back to this machine. */

import { AuthError } from "../errors/auth-error.js";
import { checkLoginPage } from "../transports/http/credentials/login-page.js";
import { type CallbackListener, type CallbackVisit, openCallbackListener } from "./callback-listener.js";
import { openInBrowser } from "./open-in-browser.js";

export interface AuthorizeInBrowserOptions {
  /** The login page, or what makes it for the URL that the user comes back to. */
  readonly authUrl: string | ((redirectUrl: string) => string | Promise<string>);
  /** Where the user comes back to; port 0 for any that is free, if `authUrl` is a function. */
  readonly redirectUrl?: string | URL | undefined;
  /** Opens the page. false: only `onUrl` is told. @default the system's browser */
  readonly openBrowser?: boolean | ((url: URL) => unknown) | undefined;
  /** Told of the page, so that it can be shown too. */
  readonly onUrl?: ((url: string) => void) | undefined;
  /** Ends the login; the browser is told how that went. */
  readonly finish?: ((params: URLSearchParams) => Promise<void>) | undefined;
  /** How long the user may take. @default 300000 */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Sends the user to log in, and returns what came back.
 *
 * @throws AuthError when nobody comes back in time, or the page is not one to open
 */
export async function authorizeInBrowser(options: AuthorizeInBrowserOptions): Promise<URLSearchParams> {
  const { authUrl, redirectUrl, signal } = options;
  signal?.throwIfAborted();
  const listener = await openCallbackListener({ redirectUrl });
  try {
    const page = typeof authUrl === "function" ? await authUrl(listener.redirectUrl) : authUrl;
    const url = await checkLoginPage(page, { serverUrl: page });
    const visit = await waitForVisit(listener, url, options);
    return await end(visit, options);
  } finally {
    await listener.close();
  }
}

/** The visit that belongs to this login. */
function waitForVisit(
  listener: CallbackListener,
  url: URL,
  options: AuthorizeInBrowserOptions,
): Promise<CallbackVisit> {
  const { signal, timeoutMs = 300_000 } = options;
  return new Promise<CallbackVisit>((resolve, reject) => {
    const settle = (finish: () => void) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      listener.onvisit = undefined;
      finish();
    };
    const onAbort = () => settle(() => reject(signal?.reason));
    const timer = setTimeout(() => settle(() => reject(tooLate(timeoutMs))), timeoutMs);
    signal?.addEventListener("abort", onAbort);
    listener.onvisit = (visit) => {
      // Another tab, or a page that guesses: the login goes on waiting for its own.
      if (visit.params.get("state") === url.searchParams.get("state")) settle(() => resolve(visit));
      else void visit.answer(false);
    };
    show(url, options);
  });
}

/** A browser that cannot be opened is not the end: the user has the URL. */
function show(url: URL, { openBrowser = true, onUrl }: AuthorizeInBrowserOptions): void {
  onUrl?.(url.href);
  if (openBrowser === false) return;
  const open = openBrowser === true ? openInBrowser : openBrowser;
  Promise.resolve()
    .then(() => open(url))
    .catch(() => {});
}

async function end(
  { params, answer }: CallbackVisit,
  { finish }: AuthorizeInBrowserOptions,
): Promise<URLSearchParams> {
  let success = false;
  try {
    await finish?.(params);
    success = params.has("code");
    return params;
  } finally {
    await answer(success);
  }
}

const tooLate = (timeoutMs: number) =>
  new AuthError({
    code: "AUTH_FAILED",
    what: `Nobody came back from the login within ${Math.round(timeoutMs / 1000)} s`,
    next: "Start it anew",
    outcome: "unsent",
  });
