/** Serves the console: a page on 127.0.0.1 that shows a port and lets the user try its tools. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { ConfigError, readField } from "@toolport/base";
import { openInBrowser } from "@toolport/config/internal";
import type { Toolport } from "@toolport/core";
import { checkStore, type Store } from "@toolport/stores";
import { type Action, createActions } from "./actions.js";
import { ConsoleApps } from "./console-apps.js";
import { type ConsoleParts, handleRequest, SECURITY_HEADERS } from "./handle-request.js";
import { LoginCallbacks } from "./login-callbacks.js";
import { Observer } from "./observer.js";
import { readPageFiles } from "./page-files.js";
import { Programs } from "./programs.js";
import { type ConsoleAnswers, ServerQuestions } from "./server-questions.js";
import { WaitingCalls } from "./waiting-calls.js";

/** Options of {@link startConsole}. */
export interface ConsoleOptions {
  /** The port to show. The console neither creates nor closes it. */
  readonly toolport: Toolport;
  /** The store of the port, to list its records. Only keys, versions and sizes are shown. @default none */
  readonly store?: Store | undefined;
  /** Where each server is configured, by name; shown beside the server. @default none */
  readonly sources?: Readonly<Record<string, string>> | undefined;
  /**
   * Who answers and approves suspended calls in the page, for events and audit logs.
   *
   * @default "console"
   * @example
   * ```ts
   * await startConsole({ toolport: toolport.as("ada"), answeredBy: "ada@example.com" });
   * ```
   */
  readonly answeredBy?: string | undefined;
  /**
   * Answers of the user to servers: the page shows their questions and edits the roots.
   *
   * @default none
   * @example
   * ```ts
   * const answers = createConsoleAnswers();
   * const toolport = createToolport({ mcpServers, ...answers.options });
   * await startConsole({ toolport, answers });
   * ```
   */
  readonly answers?: ConsoleAnswers | undefined;
  /** 0 for any free port. @default 0 */
  readonly port?: number | undefined;
  /** The console always listens on this machine only. @default "127.0.0.1" */
  readonly host?: "127.0.0.1" | undefined;
  /** Opens the page in the user's browser, or calls a function with its URL. @default false */
  readonly open?: boolean | ((url: string) => unknown) | undefined;
  /** Receives messages for the user. @default none */
  readonly log?: ((message: string) => void) | undefined;
  /** Directory of the built page. @internal */
  readonly pageFolder?: URL | undefined;
}

/** A running console. */
export interface RunningConsole extends AsyncDisposable {
  /** Includes the token after `#t=`. Anyone with this URL can use the console. */
  readonly url: string;
  /** Redirect URL for logins. Use it as `callbackUrl` of the port if `port` is fixed. */
  readonly callbackUrl: string;
  /** Closes the page and cancels its pending logins. The port stays open. */
  close(): Promise<void>;
}

const HOST = "127.0.0.1";
export const CALLBACK_PATH = "/oauth/callback";

/**
 * Starts the console.
 *
 * @example
 * ```ts
 * const console = await startConsole({ toolport, open: true });
 * process.stderr.write(`${console.url}\n`);
 * ```
 */
export async function startConsole(options: ConsoleOptions): Promise<RunningConsole> {
  const { toolport, sources = {}, port = 0, open = false, log = () => {}, pageFolder } = options;
  const store = options.store === undefined ? undefined : checkStore(options.store, "store");
  const { answeredBy = "console" } = options;
  if (options.host !== undefined && options.host !== HOST)
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: "The console listens on 127.0.0.1 only",
      next: "Forward its port, with the same number, to reach it from another machine",
    });
  const files = await readPageFiles(pageFolder);
  const token = randomBytes(32).toString("base64url");
  let parts: ConsoleParts | undefined;
  const server = createServer({ maxHeaderSize: 16_384 }, (request, response) => {
    response.setHeaders(new Headers(SECURITY_HEADERS));
    if (parts !== undefined) void handleRequest(parts, request, response);
    else response.writeHead(503).end();
  });
  await listen(server, port);
  const host = `${HOST}:${(server.address() as AddressInfo).port}`;
  const questions = options.answers instanceof ServerQuestions ? options.answers : undefined;
  const observer = new Observer({ toolport, hasStore: store !== undefined, sources, questions });
  const apps = new ConsoleApps(observer);
  const programs = new Programs(observer);
  const waiting = new WaitingCalls(observer, answeredBy);
  const logins = new LoginCallbacks({ toolport, ownHost: host, log });
  parts = {
    guard: { host, token },
    files,
    observer,
    apps,
    actions: new Map<string, Action>([
      ...Object.entries(createActions({ observer, store, waiting, logins, apps })),
      ...Object.entries(programs.actions),
    ]),
    callbackPath: CALLBACK_PATH,
    finishLogin: (request: IncomingMessage) =>
      toolport.handleOAuthCallback(new Request(new URL(request.url ?? "/", `http://${host}`))),
  };
  const url = `http://${host}/#t=${token}`;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= (async () => {
      waiting.close();
      await Promise.all([observer.close(), programs.close(), logins.close(), end(server)]);
    })();
    return closing;
  };
  await show(url, open, log);
  return { url, callbackUrl: `http://${host}${CALLBACK_PATH}`, close, [Symbol.asyncDispose]: close };
}

/** If no browser can be opened, the user can open the URL. */
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
  log("Could not open a browser. Open the URL yourself.");
}

async function listen(server: Server, port: number): Promise<void> {
  try {
    await once(server.listen(port, HOST), "listening");
  } catch (cause) {
    const isTaken = readField(cause, "code") === "EADDRINUSE";
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: isTaken ? `Port ${port} is in use by another program` : `Cannot listen on port ${port}`,
      next: "Choose another port, or 0 for any free port",
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
