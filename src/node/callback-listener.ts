/** Listens on this machine for the one request that ends a login. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { failurePage, successPage } from "../auth/login-callback.js";
import { AuthError } from "../errors/auth-error.js";
import { readField } from "../errors/foreign-error.js";

export interface CallbackListenerOptions {
  /** `http://127.0.0.1:<port>/<path>` or the same with `localhost`. @default any free port, `/callback` */
  redirectUrl?: string | URL | undefined;
}

/** What came with the user. */
export interface CallbackVisit {
  readonly params: URLSearchParams;
  /** Answers the browser with a page that says how it ended. Resolves when that is on its way. */
  answer(success: boolean): Promise<void>;
}

export interface CallbackListener {
  /** Where the authorization server is to send the user. */
  readonly redirectUrl: string;
  /** Called for requests that look like the end of a login. */
  onvisit: ((visit: CallbackVisit) => void) | undefined;
  /** Stops listening and cuts what is connected. */
  close(): Promise<void>;
}

const ADDRESS = "127.0.0.1";
/** Query strings that are longer are nobody's callback. */
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
      "A login can come back only to http://127.0.0.1 or http://localhost",
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
  // As the user wrote it, if a port was given: authorization servers compare letter by letter.
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

/** The parameters, or the status for a request that is something else. */
function readVisit(request: IncomingMessage, url: URL): URLSearchParams | number {
  const { method, headers } = request;
  // A page elsewhere may have had its host name point here.
  if (headers.host !== url.host) return 403;
  const [path, query = ""] = splitOnce(request.url ?? "/", "?");
  if (path !== url.pathname) return 404;
  return method === "GET" ? new URLSearchParams(query) : 405;
}

function splitOnce(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** Never rejects: a browser that has left needs no answer. */
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
        ? `Port ${port} of this machine is taken by another program`
        : `Port ${port} of this machine cannot be listened on`,
      "Choose another port for the login, or 0 for any that is free",
      cause,
    );
  }
}

const listenFailure = (what: string, next: string, cause?: unknown) =>
  new AuthError({ code: "AUTH_FAILED", what, next, outcome: "unsent", cause });
