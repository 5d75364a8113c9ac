/** Serves the MCP endpoint over HTTP: guards, credentials, eras, sessions, and streams. */
import { decodeHeaderText, pause, SlotList, type Slotted, StateError } from "@toolport/base";
import { DeadlineClock } from "@toolport/core/internal";
import type { Authenticator } from "../auth/authenticator.js";
import { RequestCount, recordUnserved, type Served, serveRequest } from "../dispatch.js";
import { Fault, INTERNAL_ERROR, INVALID_REQUEST, internalFault, SOON } from "../faults.js";
import {
  type ClientMessage,
  type ClientRequest,
  type ClientUser,
  checkBatch,
  type GatewayClient,
  isLegacyVersion,
  legacyClient,
  mismatch,
  type RequestId,
  readHandshake,
  readMessages,
  readModernClient,
  UNNAMED_LEGACY_VERSION,
  unsupportedVersion,
  weigh,
} from "../message.js";
import type { GatewayParts } from "../request-context.js";
import { toText } from "../results.js";
import type { OpenedSession } from "../sessions.js";
import { openLegacyFeed } from "../streams/listen.js";
import type { Arrival } from "../users.js";
import { ClientNotices, openKey } from "./client-notices.js";
import { EventStream, STALLED_MS } from "./event-stream.js";
import { acceptsStream, HttpExchange, lostResponse, type SharedByExchanges } from "./http-exchange.js";
import {
  type BodyLimits,
  corsHeaders,
  type GuardRules,
  type Headers,
  type HttpReply,
  type HttpRequest,
  PREFLIGHT_HEADERS,
  refusalOf,
  refuse,
  sendFault,
} from "./http-request.js";

export interface HttpSettings {
  readonly rules: GuardRules;
  readonly body: Omit<BodyLimits, "takeBytes">;
  /** Also serve revisions up to 2025-11-25. */
  readonly legacy: boolean;
  readonly authenticate: Authenticator["authenticate"];
}

/** A request that is counted for its user. */
interface Arrived {
  readonly user: ClientUser;
  readonly arrival: Arrival;
  readonly cors: Headers;
}

/** In the audit log, for a request that was refused before its body was read. */
const UNREAD = "unread";

export class HttpEndpoint {
  /** Streams without an end of their own. */
  readonly #streams = new Set<EventStream>();
  readonly #shared: SharedByExchanges;
  /** Open requests of legacy sessions, for cancellation. */
  readonly #open = new SlotList<OpenRequest>();
  readonly #notices: ClientNotices;
  readonly #requests = new RequestCount();
  readonly #clock = new DeadlineClock();
  #isClosing = false;

  constructor(
    private readonly parts: GatewayParts,
    private readonly settings: HttpSettings,
  ) {
    this.#shared = { parts, streams: this.#streams, clock: this.#clock };
    this.#notices = new ClientNotices(parts, (key) => this.#cancel(key));
  }

  /** Serves one request. Never rejects. */
  async handle(request: HttpRequest, reply: HttpReply): Promise<void> {
    const isOfPage = request.header("origin") !== undefined;
    const cors = isOfPage ? corsHeaders(request, this.settings.rules) : {};
    try {
      const refusal = refusalOf(request, this.settings.rules);
      if (refusal !== undefined) return refuse(reply, 403, refusal);
      if (request.method === "OPTIONS") {
        const wanted = request.header("access-control-request-headers");
        const allowed = wanted !== undefined && { "access-control-allow-headers": wanted };
        return reply.send(204, { ...cors, ...PREFLIGHT_HEADERS, ...allowed });
      }
      const credentials = { get: (name: string) => request.header(name) };
      const user = await this.settings.authenticate(credentials, () => request.toRequest());
      if ("status" in user) return reply.send(user.status, { ...cors, ...user.headers }, user.body);
      if (this.#isClosing) return refuseClosing(reply);
      return await this.#serveUser(request, reply, { user, cors });
    } catch (error) {
      if (!(error instanceof Fault)) this.parts.report(error);
      sendFault(reply, httpFault(error), { id: null, headers: cors });
    }
  }

  /** Takes no new requests, ends the streams, and waits for open requests. */
  async close(drainMs: number): Promise<void> {
    this.#isClosing = true;
    this.#notices.close();
    for (const stream of this.#streams) stream.finish();
    await this.#requests.drained(drainMs);
    this.#clock.close();
  }

  /** Every request counts before its body is read. A legacy session may answer a question, cancel a request, or end. */
  async #serveUser(
    request: HttpRequest,
    reply: HttpReply,
    { user, cors }: Omit<Arrived, "arrival">,
  ): Promise<void> {
    const { users, sessions } = this.parts;
    const { method } = request;
    const session = request.header("mcp-session-id");
    const isOfSession = this.settings.legacy && session !== undefined;
    let arrival: Arrival;
    try {
      arrival = users.arrive(
        user.principal,
        (isOfSession && method !== "GET") || (method === "POST" && "if parked"),
      );
    } catch (error) {
      const unread = { id: "", method: request.header("mcp-method")?.slice(0, 100) ?? UNREAD, params: {} };
      if (method === "POST") await this.#recordUnserved(reply, user, [unread], error);
      throw error;
    }
    try {
      if (session !== undefined) await sessions.prepare(session);
      if (this.#isClosing) return refuseClosing(reply);
      const arrived = { user, arrival, cors };
      if (method === "POST") return await this.#post(request, reply, arrived);
      if (method === "GET") return this.#get(request, reply, arrived);
      if (method === "DELETE") return await this.#delete(request, reply, arrived);
      refuse(reply, 405, "Method not allowed", { allow: "POST, GET, DELETE" });
    } finally {
      arrival.end();
    }
  }

  #recordUnserved(
    reply: HttpReply,
    user: ClientUser,
    requests: readonly ClientRequest[],
    error: unknown,
  ): Promise<void> {
    const gone = new AbortController();
    reply.onGone(() => gone.abort());
    return recordUnserved(this.parts, user, requests, { error, signal: gone.signal });
  }

  async #post(request: HttpRequest, reply: HttpReply, arrived: Arrived): Promise<void> {
    const { user, arrival, cors } = arrived;
    const type = request.header("content-type") ?? "";
    if (type !== "application/json" && !/^application\/json(;|$)/i.test(type.trim()))
      return refuse(reply, 415, "The content type must be application/json", cors);
    const { takeBytes } = arrival;
    const text = await request.body({ ...this.settings.body, takeBytes });
    await this.parts.users.turn(arrival.user, weigh(text));
    const { messages, isBatch } = readMessages(text);
    const [first] = messages;
    if (!isBatch && first?.kind === "request")
      return await this.#request(request, reply, { message: first.request, ...arrived });
    if (isBatch && messages.some(({ kind }) => kind === "request"))
      return await this.#batch(request, reply, { messages, ...arrived });
    this.parts.users.charge(arrival, messages.length - 1);
    const session = this.#sessionOf(request, user);
    for (const message of messages) await this.#take(message, session, user);
    reply.send(202, cors);
  }

  async #request(
    request: HttpRequest,
    reply: HttpReply,
    { message, user, arrival, cors }: Arrived & { message: ClientRequest },
  ): Promise<void> {
    let client: GatewayClient;
    try {
      client = this.#clientOf(request, message, user);
    } catch (error) {
      await this.#recordUnserved(reply, user, [message], error);
      if (!(error instanceof Fault)) throw error;
      return sendFault(reply, error, { id: message.id, headers: cors });
    }
    const { id } = message;
    const exchange = new HttpExchange(this.#shared, { request, reply, client, id, headers: cors });
    this.#requests.begin();
    try {
      const served = await this.#serve(client, exchange, message, arrival);
      const isSession = message.method === "initialize" && client.era === "legacy" && !served.isError;
      const session = isSession && {
        "mcp-session-id": this.parts.sessions.create(client.principal, client),
      };
      exchange.finish(served.json, served.status, { ...served.headers, ...session });
    } finally {
      this.#end(reply, client);
    }
  }

  /** A response that its client does not read counts as an open request, so that a user cannot collect them. */
  #end(reply: HttpReply, { principal }: GatewayClient): void {
    const sending = reply.untilSent(STALLED_MS);
    if (sending === undefined) return this.#requests.end();
    const letGo = this.parts.users.occupy(principal);
    void sending.then(() => {
      letGo();
      this.#requests.end();
    });
  }

  async #batch(
    request: HttpRequest,
    reply: HttpReply,
    { messages, user, arrival, cors }: Arrived & { messages: readonly ClientMessage[] },
  ): Promise<void> {
    const requests = messages.flatMap((message) => (message.kind === "request" ? [message.request] : []));
    const { users } = this.parts;
    let client: GatewayClient;
    // Whatever is wrong with a batch is found before its requests run.
    try {
      if (arrival.excess !== undefined) throw arrival.excess;
      const session = this.#sessionOf(request, user);
      client = this.#legacyClient(request, user, session);
      checkBatch(requests, user);
      for (const message of messages) await this.#take(message, session, user);
    } catch (error) {
      users.charge(arrival, messages.length - 1);
      await this.#recordUnserved(reply, user, requests, error);
      throw error;
    }
    // The first request has arrived; the others count when they are served.
    users.charge(arrival, messages.length - requests.length);
    const exchange = new HttpExchange(this.#shared, { request, reply, client, headers: cors });
    this.#requests.begin();
    try {
      const answers = await Promise.all(
        requests.map(async (each, index) => {
          const arrived = index === 0 ? arrival : undefined;
          return toText((await this.#serve(client, exchange, each, arrived)).json);
        }),
      );
      exchange.finish(`[${answers.join(",")}]`, 200);
    } finally {
      this.#end(reply, client);
    }
  }

  /** Serves one request. Cancellations find it until it has ended. */
  async #serve(
    client: GatewayClient,
    exchange: HttpExchange,
    message: ClientRequest,
    arrived: Arrival | undefined,
  ): Promise<Served> {
    const { session } = client;
    const open: OpenRequest = { session, id: message.id, exchange, slot: -1 };
    if (session !== undefined) this.#open.add(open);
    try {
      return await serveRequest(this.parts, client, exchange, message, arrived);
    } finally {
      if (session !== undefined) this.#open.delete(open);
    }
  }

  #clientOf(request: HttpRequest, message: ClientRequest, user: ClientUser): GatewayClient {
    const header = request.header("mcp-protocol-version")?.trim();
    const client = readModernClient(message, user, { header, isHttp: true });
    if (client !== undefined) {
      checkStandardHeaders(request, message);
      return client;
    }
    if (!this.settings.legacy) throw unsupportedVersion(message.params["protocolVersion"] ?? header);
    if (message.method === "initialize") {
      return legacyClient(user, readHandshake(message.params));
    }
    return this.#legacyClient(request, user, this.#sessionOf(request, user));
  }

  #legacyClient(request: HttpRequest, user: ClientUser, session: OpenedSession | undefined): GatewayClient {
    const header = request.header("mcp-protocol-version")?.trim();
    if (header !== undefined && !isLegacyVersion(header))
      throw new Fault(INVALID_REQUEST, `Unsupported protocol version: ${header.slice(0, 50)}`, {
        status: 400,
      });
    if (session !== undefined) return this.#clientOfSession(user, session);
    const version = header ?? UNNAMED_LEGACY_VERSION;
    return legacyClient(user, { version, capabilities: {}, capabilityKey: "" });
  }

  /** As the session is now. */
  #clientOfSession(user: ClientUser, session: OpenedSession): GatewayClient {
    const { logLevel } = this.parts.sessions.stateOf(session.key);
    const { key, version, capabilities, capabilityKey } = session;
    return legacyClient(user, { version, capabilities, capabilityKey, session: key, logLevel });
  }

  /** Throws 404 for an id that is not valid here, so that the client begins a new session. */
  #sessionOf(request: HttpRequest, { principal }: ClientUser): OpenedSession | undefined {
    const id = request.header("mcp-session-id");
    if (id === undefined) return undefined;
    const session = this.parts.sessions.open(id, principal);
    if (session !== undefined) return session;
    throw new Fault(-32001, "Session not found", { status: 404 });
  }

  /** A notification or a response of a client. Ignores a request. */
  async #take(message: ClientMessage, session: OpenedSession | undefined, user: ClientUser): Promise<void> {
    if (message.kind === "response") return this.parts.questions.answer(message.response, user.principal);
    if (message.kind !== "notification" || session === undefined) return;
    await this.#notices.take(message.notification, session, user);
  }

  #cancel(key: string): boolean {
    const open = this.#open.find(({ session, id }) => session !== undefined && openKey(session, id) === key);
    open?.exchange.abort(new Error("The client cancelled the request"));
    return open !== undefined;
  }

  /** The stream of a legacy client for news. Ends with the session, with the credential of the user, and with the client. */
  #get(request: HttpRequest, reply: HttpReply, { user, arrival, cors }: Arrived): void {
    const session = this.settings.legacy ? this.#sessionOf(request, user) : undefined;
    if (session === undefined || !acceptsStream(request))
      return refuse(reply, 405, "Method not allowed", { ...cors, allow: "POST" });
    const { users, sessions } = this.parts;
    const { key } = session;
    const lost = lostResponse(this.parts, key, request.header("last-event-id"));
    const letGo = users.openStream(arrival.user);
    const stream = new EventStream(reply, cors, ": open\n\n");
    if (lost === undefined) stream.flush();
    else stream.send(lost);
    const stopFeed = openLegacyFeed(this.parts, arrival.user, {
      client: () => this.#clientOfSession(user, session),
      send: (text) => stream.send(text),
      usesReplicas: true,
    });
    const stopEnding = sessions.onChange((changed) => {
      if (changed === key && sessions.stateOf(key).isEnded) stream.finish();
    });
    stream.endWithCredential(user.expiresAt);
    this.#streams.add(stream);
    void stream.closed.then(() => {
      this.#streams.delete(stream);
      stopEnding();
      stopFeed();
      letGo();
      stream.end();
    });
    this.#notices.streamOpened(session, stream);
  }

  async #delete(request: HttpRequest, reply: HttpReply, { user, cors }: Arrived): Promise<void> {
    const session = this.settings.legacy ? this.#sessionOf(request, user) : undefined;
    if (session === undefined) return refuse(reply, 405, "Method not allowed", { ...cors, allow: "POST" });
    await this.parts.sessions.end(session);
    // Replicas learn of it through the store. The client may send its next request to any of them.
    await pause(SPREAD_MS);
    reply.send(200, cors);
  }
}

const refuseClosing = (reply: HttpReply): void => refuse(reply, 503, "The gateway is shutting down", SOON);

function httpFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  if (!StateError.isInstance(error)) return new Fault(INTERNAL_ERROR, "Internal error", { status: 500 });
  return internalFault(
    "The store of the gateway cannot be reached. Send the request again",
    { code: error.code, retryable: true, outcome: "unknown" },
    { status: 503, headers: SOON },
  );
}

/** A request of a legacy session that can be cancelled. */
interface OpenRequest extends Slotted {
  readonly session: string | undefined;
  readonly id: RequestId;
  readonly exchange: HttpExchange;
}

const SPREAD_MS = 250;

/** The parameter that `Mcp-Name` repeats. */
const NAMED: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** Throws `-32020` if a header is missing or disagrees with the body. */
function checkStandardHeaders(request: HttpRequest, { method, params }: ClientRequest): void {
  const named = request.header("mcp-method")?.trim();
  if (named === undefined) throw mismatch("the Mcp-Method header is missing");
  if (named !== method) throw mismatch("the Mcp-Method header names another method");
  const field = Object.hasOwn(NAMED, method) ? NAMED[method]! : undefined;
  const value = field === undefined ? undefined : params[field];
  if (typeof value !== "string") return;
  const header = request.header("mcp-name")?.trim();
  if (header === undefined) throw mismatch("the Mcp-Name header is missing");
  const decoded = decodeHeaderText(header);
  if (decoded === undefined) throw mismatch("the Mcp-Name header is not encoded correctly");
  if (decoded !== value) throw mismatch(`the Mcp-Name header differs from params.${field}`);
}
