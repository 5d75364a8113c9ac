/** Runs an OAuth login in the user's browser, with a redirect to this machine. */

import { AuthError } from "../errors/auth-error.js";
import { checkLoginPage } from "../transports/http/credentials/login-page.js";
import { type CallbackListener, type CallbackVisit, openCallbackListener } from "./callback-listener.js";
import { openInBrowser } from "./open-in-browser.js";

export interface AuthorizeInBrowserOptions {
  /** The login page, or a function that returns it for the redirect URL. */
  readonly authUrl: string | ((redirectUrl: string) => string | Promise<string>);
  /** The redirect URL. Port 0 chooses any free port, if `authUrl` is a function. */
  readonly redirectUrl?: string | URL | undefined;
  /** Opens the page. `false`: only `onUrl` is called. @default the system's browser */
  readonly openBrowser?: boolean | ((url: URL) => unknown) | undefined;
  /** Called with the URL of the page, to show it to the user. */
  readonly onUrl?: ((url: string) => void) | undefined;
  /** Completes the login. The browser then shows a success or failure page. */
  readonly finish?: ((params: URLSearchParams) => Promise<void>) | undefined;
  /** How long the user may take. @default 300000 */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens the login page and resolves with the parameters of the redirect.
 *
 * @throws AuthError when the login is not completed in time, or the URL of the page is not allowed
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

/** Waits for the redirect of this login. */
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
      // Ignore redirects of other tabs and forged requests: their `state` differs.
      if (visit.params.get("state") === url.searchParams.get("state")) settle(() => resolve(visit));
      else void visit.answer(false);
    };
    show(url, options);
  });
}

/** Ignores a failure to open the browser, because the user also gets the URL. */
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
    what: `The login was not completed within ${Math.round(timeoutMs / 1000)} s`,
    next: "Start the login again",
    outcome: "unsent",
  });
