/** Runs an OAuth login in the user's browser, with a redirect to this machine. */

import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { AuthError, readField, withDeadline } from "@toolport/base";
import { callbackPage, checkLoginPage } from "@toolport/core/internal";

/** Options of `authorizeInBrowser()`. */
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
    return await finishVisit(visit, options);
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
  const visited = new Promise<CallbackVisit>((resolve) => {
    listener.onvisit = (visit) => {
      // Ignore redirects of other tabs and forged requests: their `state` differs.
      if (visit.params.get("state") !== url.searchParams.get("state")) return void visit.answer(false);
      listener.onvisit = undefined;
      resolve(visit);
    };
  });
  openPage(url, options);
  return withDeadline(visited, { signal, timeoutMs, onTimeout: () => tooLate(timeoutMs) });
}

/** Ignores a failure to open the browser, because the user also gets the URL. */
function openPage(url: URL, { openBrowser = true, onUrl }: AuthorizeInBrowserOptions): void {
  onUrl?.(url.href);
  if (openBrowser === false) return;
  const open = openBrowser === true ? openInBrowser : openBrowser;
  Promise.resolve()
    .then(() => open(url))
    .catch(() => {});
}

async function finishVisit(
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

/** A request of the browser. */
export interface CallbackVisit {
  readonly params: URLSearchParams;
  /** Sends the browser a success or failure page. Resolves when the page is sent. */
  answer(success: boolean): Promise<void>;
}

export interface CallbackListener {
  /** The redirect URL for the authorization server. */
  readonly redirectUrl: string;
  /** Called for requests to the redirect URL. */
  onvisit: ((visit: CallbackVisit) => void) | undefined;
  /** Stops listening and closes all connections. */
  close(): Promise<void>;
}

const ADDRESS = "127.0.0.1";
/** Maximum size of the request line and headers. */
const MAX_URL_LENGTH = 16_384;

/**
 * Opens the listener, on 127.0.0.1 only.
 *
 * @param options `redirectUrl`: `http://127.0.0.1:<port>/<path>` or the same with `localhost`
 * @throws AuthError when the port is taken or the URL is not on this machine
 */
export async function openCallbackListener({
  redirectUrl = `http://${ADDRESS}:0/callback`,
}: {
  redirectUrl?: string | URL | undefined;
} = {}): Promise<CallbackListener> {
  const wanted = new URL(redirectUrl);
  if (wanted.protocol !== "http:" || ![ADDRESS, "localhost"].includes(wanted.hostname)) {
    throw listenFailure(
      "The redirect URL of a login must be on http://127.0.0.1 or http://localhost",
      "Change `redirectUrl`",
    );
  }
  const server = createServer({ maxHeaderSize: MAX_URL_LENGTH }, (request, response) => {
    const params = readVisit(request, url);
    if (typeof params === "number") return void send(response, callbackPage(false), params);
    if (listener.onvisit === undefined) return void send(response, callbackPage(false));
    listener.onvisit({ params, answer: (success) => send(response, callbackPage(success)) });
  });
  await listen(server, wanted.port === "" ? 80 : Number(wanted.port));
  const url = new URL(wanted);
  url.port = String((server.address() as AddressInfo).port);
  // Keep the spelling of a URL with a port: authorization servers compare redirect URLs as strings.
  const isGiven = wanted.port === url.port;
  const listener: CallbackListener = {
    redirectUrl: isGiven ? String(redirectUrl) : url.href,
    onvisit: undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return listener;
}

/** The query parameters, or the HTTP status for any other request. */
function readVisit(request: IncomingMessage, url: URL): URLSearchParams | number {
  const { method, headers } = request;
  // Reject other host names, to prevent DNS rebinding.
  if (headers.host !== url.host) return 403;
  const [path, ...query] = (request.url ?? "/").split("?");
  if (path !== url.pathname) return 404;
  return method === "GET" ? new URLSearchParams(query.join("?")) : 405;
}

/** Never rejects, even if the browser has closed the connection. */
async function send(response: ServerResponse, page: Response, status = page.status): Promise<void> {
  const text = await page.text();
  await new Promise<void>((resolve) => {
    response.once("close", resolve).once("error", resolve);
    response.writeHead(status, { ...Object.fromEntries(page.headers), connection: "close" });
    response.end(text, () => resolve());
  });
}

async function listen(server: Server, port: number): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, ADDRESS, resolve);
    });
  } catch (cause) {
    throw listenFailure(
      readField(cause, "code") === "EADDRINUSE"
        ? `Port ${port} is in use by another program`
        : `Cannot listen on port ${port}`,
      "Choose another port for the redirect URL, or 0 for any free port",
      cause,
    );
  }
}

const listenFailure = (what: string, next: string, cause?: unknown) =>
  new AuthError({ code: "AUTH_FAILED", what, next, outcome: "unsent", cause });

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Returns false if no browser can be started. Callers validate the URL first. */
export async function openInBrowser(url: URL): Promise<boolean> {
  const [command, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  return new Promise((resolve) => {
    const opener = spawn(command, [...args, url.href], { shell: false, detached: true, stdio: "ignore" });
    opener.once("error", () => resolve(false));
    opener.once("spawn", () => resolve(true));
    opener.unref();
  });
}
