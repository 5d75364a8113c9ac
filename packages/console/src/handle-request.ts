/** Handles one HTTP request to the console. The sender is checked before the request is read: its host, origin and token. */

import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { hideCredentials, readField, ToolportError } from "@toolport/base";
import type { Action } from "./actions.js";
import { ConsentNeeded, type StartCommand } from "./consent.js";
import { APP_PATH, type ConsoleApps } from "./console-apps.js";
import type { Observer } from "./observer.js";
import type { PageFile } from "./page-files.js";
import { BadRequest, readBody } from "./read-body.js";
import { messageOf } from "./redact-json.js";

export interface ConsoleParts {
  readonly guard: GuardOptions;
  readonly files: ReadonlyMap<string, PageFile>;
  readonly observer: Observer;
  readonly apps: ConsoleApps;
  readonly actions: ReadonlyMap<string, Action>;
  readonly callbackPath: string;
  /** Completes a login with the redirect of the browser. */
  readonly finishLogin: (request: IncomingMessage) => Promise<Response>;
}

const API = "/api/";

/** Never rejects. */
export async function handleRequest(
  parts: ConsoleParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await route(parts, request, response);
  } catch (error) {
    if (response.headersSent) response.destroy();
    else if (error instanceof BadRequest) reject(response, error.status, error.message);
    else reject(response, 500, "The console failed");
  }
}

async function route(parts: ConsoleParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { guard, files, callbackPath } = parts;
  const [path = "/"] = (request.url ?? "/").split("?");
  if (path === callbackPath) {
    const rejected = checkCallback(request, guard);
    if (rejected !== undefined) return reject(response, rejected);
    // The page that the browser shows after a login.
    const page = await parts.finishLogin(request);
    response.writeHead(page.status, Object.fromEntries(page.headers));
    response.end(await page.text());
    return;
  }
  const rejected = checkOrigin(request, guard);
  if (rejected !== undefined) return reject(response, rejected);
  if (path.startsWith(API)) return handleAction(parts, path.slice(API.length), { request, response });
  if (path.startsWith(APP_PATH)) {
    const isFrame = request.method === "GET" && (request.headers["sec-fetch-dest"] ?? "iframe") === "iframe";
    if (!isFrame || !parts.apps.serve(path.slice(APP_PATH.length), response)) reject(response, 404);
    return;
  }
  const file = files.get(path);
  if (file === undefined) return reject(response, 404);
  if (request.method !== "GET") return reject(response, 405);
  const isPacked = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
  const body = isPacked ? file.packed : file.body;
  response.writeHead(200, {
    "content-type": file.type,
    "content-length": body.length,
    ...(isPacked && { "content-encoding": "gzip" }),
  });
  response.end(body);
}

async function handleAction(
  { guard, observer, actions }: ConsoleParts,
  name: string,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  const rejected = checkToken(request, guard);
  if (rejected !== undefined) return reject(response, rejected);
  if (request.method !== "POST") return reject(response, 405);
  const body = await readBody(request);
  if (name === "events") {
    if (!observer.feed.add(response, observer.hello())) reject(response, 503, "Too many pages are open");
    return;
  }
  const action = actions.get(name);
  if (action === undefined) return reject(response, 404);
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  sendJson(response, await run(() => action(body, gone.signal)));
}

/** The response to a failed action. */
export interface ConsoleFailure {
  readonly error: {
    readonly code: string;
    readonly message: string;
    /** With `CONSENT_NEEDED`: the programs that would be started. */
    readonly commands?: readonly StartCommand[];
    /** With `INVALID_ARGUMENTS`: the invalid fields. */
    readonly issues?: readonly { readonly path: string; readonly message: string }[];
  };
}

/** Failures of servers and tools are part of a successful response. Only invalid requests get an error status. */
async function run(action: () => Promise<unknown>): Promise<{ value: unknown } | ConsoleFailure> {
  try {
    return { value: (await action()) ?? null };
  } catch (error) {
    if (error instanceof BadRequest) throw error;
    return { error: toFailure(error) };
  }
}

function toFailure(error: unknown): ConsoleFailure["error"] {
  const isConsent = error instanceof ConsentNeeded;
  const code = isConsent || ToolportError.isInstance(error) ? error.code : "FAILED";
  const message = messageOf(error);
  const issues = readField(error, "issues");
  if (!Array.isArray(issues)) return { code, message, ...(isConsent && { commands: error.commands }) };
  return {
    code,
    message,
    issues: issues.slice(0, 20).map((issue) => ({
      path: String(readField(issue, "path") ?? ""),
      message: hideCredentials(String(readField(issue, "message") ?? "")),
    })),
  };
}

/** Closes the connection, because the body may not have been read. */
function reject(response: ServerResponse, status: number, message?: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" });
  response.end(message === undefined ? "" : `${message}\n`);
}

function sendJson(response: ServerResponse, value: unknown): void {
  if (response.destroyed) return;
  response.writeHead(200, { "content-type": "application/json; charset=utf-8" });
  response.end(JSON.stringify(value));
}

export interface GuardOptions {
  /** E.g. `127.0.0.1:4321`. */
  readonly host: string;
  readonly token: string;
}

/** Headers of every response, including rejections. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
    // Applies to every navigation of a frame, so that an app cannot leave its document.
    "frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

/** Rejects DNS rebinding and requests from pages of other sites. */
function checkOrigin(request: IncomingMessage, { host }: GuardOptions): number | undefined {
  const { headers } = request;
  if (headers.host !== host) return 403;
  if (headers.origin !== undefined && headers.origin !== `http://${host}`) return 403;
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return undefined;
  // Allow links to the page: without a token it shows nothing.
  return isLink(request) ? undefined : 403;
}

const isLink = ({ method, url, headers }: IncomingMessage): boolean =>
  method === "GET" &&
  url === "/" &&
  headers["sec-fetch-mode"] === "navigate" &&
  headers["sec-fetch-dest"] === "document";

/** Checks a login redirect, which comes from another site as a plain navigation. */
function checkCallback(request: IncomingMessage, { host }: GuardOptions): number | undefined {
  const { headers, method } = request;
  if (headers.host !== host || method !== "GET" || headers.origin !== undefined) return 403;
  const { "sec-fetch-mode": mode, "sec-fetch-dest": target } = headers;
  // Not in a frame: an app can lead its own frame here.
  const isPage = (mode ?? "navigate") === "navigate" && (target ?? "document") === "document";
  return isPage ? undefined : 403;
}

function checkToken(request: IncomingMessage, { token }: GuardOptions): number | undefined {
  const bearer = /^Bearer (\S{1,256})$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
  // Compare hashes, which have equal length, in constant time.
  return timingSafeEqual(digest(bearer), digest(token)) ? undefined : 401;
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
