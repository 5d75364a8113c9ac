/** The console: a page on 127.0.0.1 that shows a port at work and lets its owner try things. */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ConfigError } from "../errors/config-error.js";
import { readField } from "../errors/foreign-error.js";
import { openInBrowser } from "../node/open-in-browser.js";
import type { Store } from "../state/store.js";
import type { Toolport } from "../toolport.js";
import { createActions } from "./actions.js";
import { answerRequest, type ConsoleParts } from "./answer-request.js";
import { SECURITY_HEADERS } from "./guard-request.js";
import { LoginDesk } from "./login-desk.js";
import { Observer } from "./observer.js";
import { readPageFiles } from "./page-files.js";

/** Options of {@link startConsole}. */
export interface ConsoleOptions {
  /** The port to look at. The console neither makes nor closes it. */
  readonly toolport: Toolport;
  /** The store behind it, to list what is saved. Only keys, versions and sizes are shown. @default none */
  readonly store?: Store | undefined;
  /** Where each server was configured, by name: shown beside it. @default none */
  readonly sources?: Readonly<Record<string, string>> | undefined;
  /** 0 for any that is free. @default 0 */
  readonly port?: number | undefined;
  /** This machine only, whatever is said. @default "127.0.0.1" */
  readonly host?: "127.0.0.1" | undefined;
  /** Opens the page in the user's browser, or hands its URL to whoever can. @default false */
  readonly open?: boolean | ((url: string) => unknown) | undefined;
  /** Told what a person at a terminal should know. @default nobody */
  readonly log?: ((message: string) => void) | undefined;
  /** Where the built page is. @internal */
  readonly pageFolder?: URL | undefined;
}

/** A console that runs. */
export interface RunningConsole extends AsyncDisposable {
  /** With the token behind `#t=`: whoever has it can do what the page can. */
  readonly url: string;
  /** Where a login may come back to; good as `callbackUrl` of the port, if `port` is fixed. */
  readonly callbackUrl: string;
  /** Ends the page, and every login that was begun in it. The port goes on. */
  close(): Promise<void>;
}

const HOST = "127.0.0.1";
export const CALLBACK_PATH = "/oauth/callback";

/**
 * Serves the console.
 *
 * @example
 * ```ts
 * const console = await startConsole({ toolport, open: true });
 * process.stderr.write(`${console.url}\n`);
 * ```
 */
export async function startConsole(options: ConsoleOptions): Promise<RunningConsole> {
  const { toolport, store, sources = {}, port = 0, open = false, log = () => {}, pageFolder } = options;
  if (options.host !== undefined && options.host !== HOST) throw wrongHost();
  const files = await readPageFiles(pageFolder);
  const token = randomBytes(32).toString("base64url");
  let parts: ConsoleParts | undefined;
  const server = createServer({ maxHeaderSize: 16_384 }, (request, response) => {
    setHeaders(response);
    if (parts !== undefined) void answerRequest(parts, request, response);
    else response.writeHead(503).end();
  });
  await listen(server, port);
  const host = `${HOST}:${(server.address() as AddressInfo).port}`;
  const observer = new Observer({ toolport, hasStore: store !== undefined, sources });
  const logins = new LoginDesk({ toolport, ownHost: host, log });
  parts = {
    guard: { host, token },
    files,
    observer,
    actions: createActions({ toolport, store, observer, logins }),
    callbackPath: CALLBACK_PATH,
    finishLogin: (request: IncomingMessage) =>
      toolport.handleOAuthCallback(new Request(new URL(request.url ?? "/", `http://${host}`))),
  };
  const url = `http://${host}/#t=${token}`;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= (async () => {
      observer.close();
      await Promise.all([logins.close(), end(server)]);
    })();
    return closing;
  };
  await show(url, open, log);
  return { url, callbackUrl: `http://${host}${CALLBACK_PATH}`, close, [Symbol.asyncDispose]: close };
}

function setHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
}

/** A browser that cannot be opened is not the end: the user has the URL. */
async function show(
  url: string,
  open: NonNullable<ConsoleOptions["open"]>,
  log: (message: string) => void,
): Promise<void> {
  if (open === false) return;
  try {
    if (open === true ? await openInBrowser(new URL(url)) : await open(url)) return;
    if (open !== true) return;
  } catch {}
  log("No browser could be opened. Open the URL by hand.");
}

async function listen(server: Server, port: number): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, HOST, resolve);
    });
  } catch (cause) {
    const isTaken = readField(cause, "code") === "EADDRINUSE";
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: isTaken
        ? `Port ${port} of this machine is taken by another program`
        : `Port ${port} of this machine cannot be listened on`,
      next: "Choose another port, or 0 for any that is free",
      cause,
    });
  }
}

function end(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

const wrongHost = () =>
  new ConfigError({
    code: "INVALID_CONFIG",
    what: "The console listens on 127.0.0.1 only",
    next: "Forward its port, under the same number, to reach it from elsewhere",
  });
