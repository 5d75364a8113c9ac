/** One request to the console: who sends it is looked at before what it wants. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { readField } from "../errors/foreign-error.js";
import { ToolportError } from "../errors/toolport-error.js";
import { hideCredentials } from "../util/redact-text.js";
import type { Action } from "./actions.js";
import { ConsentNeeded } from "./consent.js";
import type { ConsoleFailure } from "./console-api.js";
import { type GuardOptions, refuseForeign, refuseStranger, refuseVisitor } from "./guard-request.js";
import type { Observer } from "./observer.js";
import type { PageFile } from "./page-files.js";
import { BadRequest, readBody } from "./read-body.js";

export interface ConsoleParts {
  readonly guard: GuardOptions;
  readonly files: ReadonlyMap<string, PageFile>;
  readonly observer: Observer;
  readonly actions: ReadonlyMap<string, Action>;
  readonly callbackPath: string;
  /** Ends the login that a browser comes back from. */
  readonly finishLogin: (request: IncomingMessage) => Promise<Response>;
}

const API = "/api/";

/** Never rejects. */
export async function answerRequest(
  parts: ConsoleParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await answer(parts, request, response);
  } catch (error) {
    if (response.headersSent) response.destroy();
    else if (error instanceof BadRequest) refuse(response, error.status, error.message);
    else refuse(response, 500, "The console failed");
  }
}

async function answer(
  parts: ConsoleParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { guard, files, callbackPath } = parts;
  const [path = "/"] = (request.url ?? "/").split("?");
  if (path === callbackPath) {
    const refusal = refuseVisitor(request, guard);
    if (refusal !== undefined) return refuse(response, refusal);
    return pass(await parts.finishLogin(request), response);
  }
  const foreign = refuseForeign(request, guard);
  if (foreign !== undefined) return refuse(response, foreign);
  if (path.startsWith(API)) return answerAction(parts, path.slice(API.length), { request, response });
  const file = files.get(path);
  if (file === undefined) return refuse(response, 404);
  if (request.method !== "GET") return refuse(response, 405);
  response.writeHead(200, { "content-type": file.type }).end(file.body);
}

async function answerAction(
  { guard, observer, actions }: ConsoleParts,
  name: string,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  const stranger = refuseStranger(request, guard);
  if (stranger !== undefined) return refuse(response, stranger);
  if (request.method !== "POST") return refuse(response, 405);
  const body = await readBody(request);
  if (name === "events") {
    if (!observer.feed.add(response, observer.hello())) refuse(response, 503, "Too many pages are open");
    return;
  }
  const action = actions.get(name);
  if (action === undefined) return refuse(response, 404);
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  sendJson(response, await run(() => action(body, gone.signal)));
}

/** Failures of servers and tools are answers like any other; only what is wrong with the request has a status. */
async function run(action: () => Promise<unknown>): Promise<{ value: unknown } | ConsoleFailure> {
  try {
    return { value: (await action()) ?? null };
  } catch (error) {
    if (error instanceof BadRequest) throw error;
    if (error instanceof ConsentNeeded)
      return { error: { code: "CONSENT_NEEDED", message: error.message, commands: error.commands } };
    return { error: toFailure(error) };
  }
}

function toFailure(error: unknown): ConsoleFailure["error"] {
  const code = ToolportError.isInstance(error) ? error.code : "FAILED";
  const message = hideCredentials(error instanceof Error ? error.message : String(error));
  const issues = readField(error, "issues");
  if (!Array.isArray(issues)) return { code, message };
  return {
    code,
    message,
    issues: issues.slice(0, 20).map((issue) => ({
      path: String(readField(issue, "path") ?? ""),
      message: hideCredentials(String(readField(issue, "message") ?? "")),
    })),
  };
}

/** Before the whole body was read, so the connection cannot be used again. */
function refuse(response: ServerResponse, status: number, message?: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" });
  response.end(message === undefined ? "" : `${message}\n`);
}

function sendJson(response: ServerResponse, value: unknown): void {
  if (response.destroyed) return;
  response.writeHead(200, { "content-type": "application/json; charset=utf-8" });
  response.end(JSON.stringify(value));
}

/** The page that a browser sees after a login. */
async function pass(page: Response, response: ServerResponse): Promise<void> {
  response.writeHead(page.status, Object.fromEntries(page.headers));
  response.end(await page.text());
}
