/** Listens on this machine for the redirect that completes a login. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { failurePage, successPage } from "../auth/login-callback.js";
import { AuthError } from "../errors/auth-error.js";
import { readField } from "../errors/foreign-error.js";

export interface CallbackListenerOptions {
  /** `http://127.0.0.1:<port>/<path>` or the same with `localhost`. @default any free port, `/callback` */
  redirectUrl?: string | URL | undefined;
}

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
 * @throws AuthError when the port is taken or the URL is not on this machine
 */
export async function openCallbackListener({
  redirectUrl = `http://${ADDRESS}:0/callback`,
}: CallbackListenerOptions = {}): Promise<CallbackListener> {
  const wanted = new URL(redirectUrl);
  if (wanted.protocol !== "http:" || ![ADDRESS, "localhost"].includes(wanted.hostname)) {
    throw listenFailure(
      "The redirect URL of a login must be on http://127.0.0.1 or http://localhost",
      "Change `redirectUrl`",
    );
  }
  const server = createServer({ maxHeaderSize: MAX_URL_LENGTH }, (request, response) => {
    const params = readVisit(request, url);
    if (typeof params === "number") return void send(response, failurePage(), params);
    if (listener.onvisit === undefined) return void send(response, failurePage());
    listener.onvisit({
      params,
      answer: (success) => send(response, success ? successPage() : failurePage()),
    });
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
  const [path, query = ""] = splitOnce(request.url ?? "/", "?");
  if (path !== url.pathname) return 404;
  return method === "GET" ? new URLSearchParams(query) : 405;
}

function splitOnce(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
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
