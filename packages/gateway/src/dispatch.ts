/** Finds the handler of a request, and turns its end into a response. Requests about the gateway itself are answered here. */
import { CLIENT_INFO, type Fields, isLogLevel, isRecord, unrefTimer } from "@toolport/base";
import { type Port, versionsOf } from "@toolport/core/internal";
import type { AuditEntry } from "./audit/open-audit.js";
import { callTool } from "./calls/call-tool.js";
import { complete, getPrompt, listTasks, readResource, taskRequest } from "./calls/read-handlers.js";
import { answersParked } from "./calls/request-state.js";
import { type Era, type Fault, invalidParams, toFault, URL_REQUIRED, unknownMethod } from "./faults.js";
import { listPage } from "./lists/list-page.js";
import { type ClientRequest, type Exchange, type GatewayClient, negotiateLegacy } from "./message.js";
import {
  failureOf,
  type GatewayParts,
  type Handled,
  type RequestContext,
  type RequestFacts,
} from "./request-context.js";
import { errorText, type Json, NOT_CACHED, responseJson, resultText } from "./results.js";
import { listen, subscribe } from "./streams/listen.js";
import type { Arrival } from "./users.js";

type Handler = (context: RequestContext) => Handled | Promise<Handled>;

const BOTH: Readonly<Record<string, Handler>> = {
  "tools/list": async (context) => ({ json: await listPage(context, "tools") }),
  "prompts/list": async (context) => ({ json: await listPage(context, "prompts") }),
  "resources/list": async (context) => ({ json: await listPage(context, "resources") }),
  "resources/templates/list": async (context) => ({ json: await listPage(context, "resourceTemplates") }),
  "tools/call": callTool,
  "resources/read": readResource,
  "prompts/get": getPrompt,
  "completion/complete": complete,
  "tasks/get": taskRequest,
  "tasks/cancel": taskRequest,
};

const HANDLERS: Readonly<Record<Era, Readonly<Record<string, Handler>>>> = {
  legacy: {
    ...BOTH,
    initialize,
    ping: ({ client }) => ({ json: resultText(client, {}) }),
    "tasks/result": taskRequest,
    "tasks/list": listTasks,
    "logging/setLevel": setLevel,
    "resources/subscribe": (context) => subscribe(context, true),
    "resources/unsubscribe": (context) => subscribe(context, false),
  },
  modern: {
    ...BOTH,
    "server/discover": discover,
    "subscriptions/listen": listen,
    "tasks/update": taskRequest,
  },
};

/** A response to one request. */
export interface Served {
  readonly json: Json;
  /** HTTP status. */
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly isError: boolean;
}

/**
 * Serves one request. Never rejects. While the audit log has no space for its line, the request waits; if its client is gone then, it has
 * neither an effect nor a line.
 *
 * @param arrived the request, if it is counted for its user already
 */
export async function serveRequest(
  parts: GatewayParts,
  client: GatewayClient,
  exchange: Exchange,
  request: ClientRequest,
  arrived?: Arrival,
): Promise<Served> {
  const { users, audit } = parts;
  const startedAt = performance.now();
  try {
    exchange.signal.throwIfAborted();
    const space = audit?.space(exchange.signal);
    if (space !== undefined) await space;
  } catch (error) {
    return failed(request, toFault(error, client.era));
  }
  let served: Served;
  let facts: RequestFacts & Pick<AuditEntry, "outcome">;
  let arrival = arrived;
  try {
    arrival ??= users.arrive(client.principal, "if parked");
    const handlers = HANDLERS[client.era];
    if (!Object.hasOwn(handlers, request.method)) throw unknownMethod(request.method, client.era);
    if (arrival.excess !== undefined) {
      if (!(await answersParked(parts, client, request))) throw arrival.excess;
      arrival.takeParkedPlace();
    }
    const { user, bodyBytes } = arrival;
    const opening = user.port.opened();
    if (opening !== undefined) await opening;
    const context = { parts, user, client, exchange, request, bodyBytes };
    const handled = await handlers[request.method]!(context);
    facts = { outcome: "ok", ...handled.facts };
    served = { json: responseJson(request.id, handled.json), status: 200, isError: false };
  } catch (error) {
    const failure = failureOf(error);
    const fault = toFault(failure.reason, client.era);
    facts = { outcome: "error", code: fault.code, ...failure.facts };
    if (fault.code === URL_REQUIRED) notePages(parts, client, fault.data);
    served = failed(request, fault);
  } finally {
    if (arrived === undefined) arrival?.end();
  }
  const durationMs = performance.now() - startedAt;
  audit?.record({ principal: client.principal, method: request.method, ...facts, durationMs });
  return served;
}

/** The error of 2025-11-25 that sends the user to web pages of a server. */
function notePages({ users, feeds }: GatewayParts, { principal }: GatewayClient, data: unknown): void {
  const user = users.peek(principal);
  const pages = isRecord(data) ? data["elicitations"] : undefined;
  if (user === undefined || !Array.isArray(pages)) return;
  for (const page of pages) feeds.showsPage(user, page);
}

/**
 * Requests of a user that are refused before they can be served, e.g. for an unknown session, are in the audit log too. The signal
 * aborts when the client is gone: a request whose client does not wait until the log has space has no line.
 */
export async function recordUnserved(
  { audit }: Pick<GatewayParts, "audit">,
  { principal }: Pick<GatewayClient, "principal">,
  requests: readonly ClientRequest[],
  { error, signal }: { readonly error: unknown; readonly signal: AbortSignal },
): Promise<void> {
  try {
    signal.throwIfAborted();
    await audit?.space(signal);
  } catch {
    return;
  }
  const { code } = toFault(error, "legacy");
  for (const { method } of requests)
    audit?.record({ principal, method, outcome: "error", code, durationMs: 0 });
}

const failed = ({ id }: ClientRequest, fault: Fault): Served => ({
  json: errorText(id, fault),
  status: fault.status,
  headers: fault.headers,
  isError: true,
});

async function setLevel({ request, client, parts }: RequestContext): Promise<Handled> {
  const { level } = request.params;
  if (!isLogLevel(level)) throw invalidParams("The level is not valid");
  if (client.session !== undefined) await parts.sessions.update(client.session, { logLevel: level });
  return { json: resultText(client, {}) };
}

/** Counts the open requests, for the shutdown. */
export class RequestCount {
  #count = 0;
  #onIdle: (() => void) | undefined;

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onIdle?.();
  }

  /** Resolves when no request is open, or after `limitMs`. */
  async drained(limitMs: number): Promise<void> {
    if (this.#count === 0) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      timer = unrefTimer(setTimeout(resolve, limitMs));
    });
    clearTimeout(timer);
  }
}

const MAX_INSTRUCTIONS = 8_192;

/** The same for every client and every moment, so that clients see no features come and go. */
const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
} as const;

function initialize(context: RequestContext): Handled {
  const { request, user, client } = context;
  const result = {
    protocolVersion: negotiateLegacy(request.params["protocolVersion"]),
    capabilities: { ...CAPABILITIES, logging: {}, ...offered(user.port, "tasks") },
    serverInfo: CLIENT_INFO,
    ...instructionsOf(context),
  };
  return { json: resultText(client, result) };
}

function discover(context: RequestContext): Handled {
  const { user, client } = context;
  const result = {
    supportedVersions: versionsOf("modern"),
    capabilities: { ...CAPABILITIES, ...offered(user.port, "extensions") },
    ...instructionsOf(context),
  };
  return { json: resultText(client, result, { cache: NOT_CACHED }) };
}

/** What any connected server offers. */
function offered(port: Port, capability: "tasks" | "extensions"): Fields {
  const found: Record<string, unknown> = {};
  for (const { session } of port.pool.all()) {
    const given = (session?.capabilities as Fields | undefined)?.[capability];
    if (isRecord(given)) Object.assign(found, given);
  }
  return Object.keys(found).length === 0 ? {} : { [capability]: found };
}

/** The instructions of connected servers that the user may see, headed by their names. */
function instructionsOf({ parts, user, client }: RequestContext): Fields {
  const sections = user.port.pool.all().flatMap(({ name, session }) => {
    const text = session?.instructions?.trim();
    return text && parts.showsServer(client, name) ? [`## ${name}\n\n${text}`] : [];
  });
  return sections.length === 0 ? {} : { instructions: sections.join("\n\n").slice(0, MAX_INSTRUCTIONS) };
}
