/** One live MCP session with one server: requests of both eras. */
import type { Client, Implementation, ServerCapabilities } from "@modelcontextprotocol/client";
import { isRecord, SuspensionError, ToolCallError, type ToolportError } from "@toolport/base";
import type { TransportKind } from "../config/server-config.js";
import type { MessageOrigin } from "../transports/server-transport.js";
import type { CallsInFlight } from "./calls-in-flight.js";
import { type ChangeWatch, type ListFollower, type ListKey, notOffered } from "./change-watch.js";
import { type Era, envelopeFor, type ResumableSession, withElicitation } from "./era.js";
import type { Handshake, LazyClient } from "./handshake.js";
import {
  type InputRoundsParts,
  inputPauseOf,
  needsInput,
  readInput,
  runInputRounds,
  type SuspendableRequest,
  throwUnsentIfRefused,
} from "./input-rounds.js";
import { type ChannelRequestOptions, closedDuringInput, type RequestChannel } from "./request-channel.js";
import type { RequestResponder, ServerRequest } from "./server-requests/request-responder.js";
import type { UrlElicitations } from "./server-requests/url-elicitations.js";
import { askAll, assertDeclared, type InputRound, type SessionHooks } from "./session-hooks.js";

interface SessionParts {
  server: string;
  transport: TransportKind;
  handshake: Handshake;
  client: LazyClient;
  channel: RequestChannel;
  watch: ChangeWatch;
  /** Responds to requests of the server. */
  responder: RequestResponder;
  /** Whether the server may send requests during a call, so that calls must be tracked. */
  tracksCalls: boolean;
  /** Whether a handler answers the questions of the server to the user. */
  asksUser: boolean;
  /** Handles legacy servers that demand a web page before they respond. */
  urlElicitations: UrlElicitations;
  /** Set if the connection was opened with the capabilities of its callers. */
  calls?: CallsInFlight | undefined;
  unproven: boolean;
  /** Legacy servers: opens the stream for notifications, unless it is open. Returns a function that closes it. */
  openStream: () => () => void;
  endSession: () => Promise<void>;
}

type Fields = Record<string, unknown>;

const UNSUBSCRIBE_MS = 5_000;

/** Options of one request. */
export interface SessionRequestOptions extends ChannelRequestOptions {
  /** The tool that the request belongs to, if its parameters do not name one. Callbacks of server requests receive it. */
  tool?: string | undefined;
  /**
   * Set if the request may be suspended while a person answers: it then ends with a result for which `inputPauseOf` returns
   * what the user is asked.
   */
  suspendable?: SuspendableRequest | undefined;
  /** Whose request it is. @default that of the port */
  hooks?: SessionHooks | undefined;
  /** Set to go on with an earlier request; modern servers only. */
  round?: InputRound | undefined;
}

/** One live connection to one server. It does not reconnect: after a loss a new session replaces it. */
export class Session {
  readonly server: string;
  readonly transport: TransportKind;
  readonly era: Era;
  readonly protocolVersion: string;
  readonly serverInfo: Implementation | undefined;
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
  /** The result of `server/discover`; modern servers only. */
  readonly discover: Readonly<Fields> | undefined;
  /** Resolves when the connection is closed; with the reason unless Toolport closed it. */
  readonly closed: Promise<ToolportError | undefined>;
  readonly #parts: SessionParts;
  readonly #channel: RequestChannel;
  readonly #watch: ChangeWatch;
  #unproven: boolean;
  #isKept = false;
  #closing: Promise<void> | undefined;
  /** `_meta` of requests that may be suspended. */
  #suspendEnvelope: Fields | undefined;
  #cancelledQuestions: CancelledQuestions | undefined;
  /** Loaded with the first request that needs it. */
  #calls: Promise<CallsInFlight> | undefined;
  /** Requests that collect input: between two rounds the channel has no open request for them. */
  readonly #rounds = new Set<Promise<unknown>>();
  readonly #closed = new AbortController();

  constructor(parts: SessionParts) {
    const { server, transport, handshake, channel, watch, unproven } = parts;
    this.#parts = parts;
    this.#channel = channel;
    this.#watch = watch;
    this.#unproven = unproven;
    this.server = server;
    this.transport = transport;
    this.era = handshake.era;
    this.protocolVersion = handshake.protocolVersion;
    this.serverInfo = handshake.serverInfo;
    this.capabilities = handshake.capabilities;
    this.instructions = handshake.instructions;
    this.discover = handshake.era === "modern" ? handshake.result : undefined;
    this.closed = channel.closed;
    channel.closed.then((error) => this.#closed.abort(error ?? closedDuringInput(server)));
  }

  /** The era was remembered from an earlier connection, and no response on this one has confirmed it yet. */
  get unproven(): boolean {
    return this.#unproven;
  }

  /** The server assigned a session id, which it may invalidate. */
  get hasSessionId(): boolean {
    return this.#channel.sessionId !== undefined;
  }

  /** Number of responses that matched no open request, not counting late ones. */
  get droppedAnswers(): number {
    return this.#channel.droppedAnswers;
  }

  /** Number of messages received so far. */
  get received(): number {
    return this.#channel.received;
  }

  /** Number of open requests. */
  get inFlight(): number {
    return this.#channel.inFlight + this.#rounds.size;
  }

  /** Legacy servers: what a later connection needs to go on with this session. */
  get resume(): ResumableSession | undefined {
    if (this.era !== "legacy") return undefined;
    return { sessionId: this.#channel.sessionId, result: this.#parts.handshake.result };
  }

  /** The SDK's client, for everything that Toolport does not wrap. Loaded on first use. */
  client(): Promise<Client> {
    return this.#parts.client.get();
  }

  /**
   * Sends one request and returns its result. If a modern server requests input first, the input is collected within the same
   * limits. `dependsOnInput` is true for such a result; it must not be cached.
   */
  async request(method: string, params: Fields, options: SessionRequestOptions): Promise<Fields> {
    if (options.hooks !== undefined) return this.#requestFor(options.hooks, method, params, options);
    if (this.era === "modern") return this.#requestModern(method, params, options);
    const isTracked = this.#parts.tracksCalls || options.suspendable !== undefined;
    return isTracked && CALL_METHODS.has(method)
      ? this.#callLegacy(method, params, options)
      : this.#requestLegacy(method, params, options);
  }

  /** A request of a caller with capabilities of its own. */
  async #requestFor(
    hooks: SessionHooks,
    method: string,
    params: Fields,
    options: SessionRequestOptions,
  ): Promise<Fields> {
    const isModern = this.era === "modern";
    // A server without the capability sends no log messages.
    const canLog = isModern || this.capabilities.logging !== undefined;
    const level = isModern || !canLog ? undefined : hooks.logLevel;
    // No question of a modern server can be for this caller: it answers them with the next request.
    const isTracked = (canLog && hooks.onLog !== undefined) || (!isModern && this.#parts.calls !== undefined);
    if (!isTracked && level === undefined) return this.#sendFor(method, params, options);
    const calls = this.#parts.calls ?? (await this.#callsInFlight());
    if (level !== undefined) await calls.lowerLevel(level);
    if (!isTracked) return this.#sendFor(method, params, options);
    const taskId = method === "tasks/result" ? String(params["taskId"]) : undefined;
    const send = (own: SessionRequestOptions): Promise<Fields> => this.#sendFor(method, params, own);
    return calls.run({
      method,
      taskId,
      hooks,
      options,
      send,
      track: (running) => this.#countInFlight(running),
    });
  }

  async #sendFor(method: string, params: Fields, options: SessionRequestOptions): Promise<Fields> {
    if (this.era === "modern") return this.#requestModern(method, params, options);
    const result = await this.#channel.request(method, params, options);
    this.#unproven = false;
    return completeResult(this.server, method, result);
  }

  /** Those of an ordinary connection: they get log messages, and no questions. */
  #callsInFlight(): Promise<CallsInFlight> {
    this.#calls ??= import("./calls-in-flight.js").then(
      ({ CallsInFlight }) => new CallsInFlight(this.server, this.#channel, { hasTurns: false }),
    );
    return this.#calls;
  }

  async #requestModern(method: string, params: Fields, options: SessionRequestOptions): Promise<Fields> {
    const startedAt = performance.now();
    const { hooks, suspendable } = options;
    const { resumed } = suspendable ?? {};
    const round = resumed?.by === "responses" ? resumed : options.round;
    const limits = this.#withEnvelope(options);
    const sent = round === undefined ? params : { ...params, ...inputOf(round) };
    const sending = this.#channel.request(method, sent, limits);
    // The state that a suspended call has kept may have expired.
    const isSaved = resumed !== undefined && round?.requestState !== undefined;
    const result = await (isSaved ? sending.catch(throwUnsentIfRefused) : sending);
    this.#unproven = false;
    if (needsInput(method, result)) {
      if (hooks?.passesInput) return this.#passInput(result as Fields, method, hooks);
      return this.#collectInput(result, { method, params, options: limits, startedAt, suspendable }, hooks);
    }
    const complete = completeResult(this.server, method, result);
    return resumed === undefined ? complete : markDependsOnInput(complete);
  }

  /** What is declared for this request, if it is not what the connection declares. */
  #withEnvelope(options: SessionRequestOptions): ChannelRequestOptions {
    const { hooks, suspendable } = options;
    const own = this.#channel.envelope ?? {};
    if (hooks !== undefined)
      return { ...options, envelope: envelopeFor(own, hooks), skipsMetaDefaults: true };
    if (suspendable === undefined) return options;
    this.#suspendEnvelope ??= withElicitation(own);
    return { ...options, envelope: this.#suspendEnvelope };
  }

  #passInput(result: Fields, method: string, hooks: SessionHooks): Fields {
    const { requests } = readInput(result, { server: this.server, method });
    for (const [, question] of requests) assertDeclared(this.server, hooks, question);
    return result;
  }

  async #collectInput(
    first: unknown,
    request: Pick<InputRoundsParts, "method" | "params" | "options" | "startedAt" | "suspendable">,
    hooks: SessionHooks | undefined,
  ): Promise<Fields> {
    const { server } = this;
    const { method } = request;
    const running = runInputRounds(first, {
      ...request,
      server,
      responder: hooks
        ? { respondAll: (questions, { signal }) => askAll(server, hooks, questions, signal) }
        : this.#parts.responder,
      closed: this.#closed.signal,
      send: (next, limits) => this.#channel.request(method, next, limits),
    });
    const result = await this.#countInFlight(running);
    if (inputPauseOf(result as object) !== undefined) return result as Fields;
    return markDependsOnInput(completeResult(server, method, result));
  }

  async #countInFlight<Result>(running: Promise<Result>): Promise<Result> {
    this.#rounds.add(running);
    try {
      return await running;
    } finally {
      this.#rounds.delete(running);
    }
  }

  /** Sends the request again when the user has opened the web page that the server may demand first. */
  async #requestLegacy(method: string, params: Fields, options: SessionRequestOptions): Promise<Fields> {
    let result: unknown;
    try {
      result = await this.#channel.request(method, params, options);
    } catch (error) {
      const send = () => this.#channel.request(method, params, options);
      const tool = CALL_METHODS.has(method) ? toolOf(params, options) : undefined;
      const request = { tool, options, suspendable: options.suspendable };
      result = await this.#parts.urlElicitations(error, send, request);
    }
    this.#unproven = false;
    return completeResult(this.server, method, result);
  }

  /** Tracks the call: requests of a legacy server do not name the call they belong to. */
  async #callLegacy(method: string, params: Fields, options: SessionRequestOptions): Promise<Fields> {
    const { tracksCalls, asksUser, responder } = this.#parts;
    const tool = toolOf(params, options);
    const send = async () => {
      const tracked = tracksCalls
        ? responder.beginCall(tool, params["taskId"] as string | undefined, options)
        : undefined;
      try {
        const result = await this.#requestLegacy(method, params, options);
        if (tracked) responder.endCall(tracked);
        return result;
      } catch (error) {
        if (tracked) responder.endCall(tracked, error);
        throw error;
      }
    };
    if (options.suspendable === undefined || asksUser) return send();
    this.#cancelledQuestions ??= new CancelledQuestions(this.server, this.#channel);
    return this.#cancelledQuestions.during(tool, options, send);
  }

  /** Collects the input that a task of the server waits for. Not aborted with the connection: the task outlives it. */
  answerInputRequests(
    requests: Readonly<Record<string, ServerRequest>>,
    context: { tool: string; signal: AbortSignal },
  ): Promise<Fields> {
    return this.#parts.responder.respondAll(Object.entries(requests), context);
  }

  /** Checks that the server responds: `ping`, or `server/discover` for modern servers, which have no ping. */
  async ping(options: ChannelRequestOptions): Promise<void> {
    await this.request(this.era === "modern" ? "server/discover" : "ping", {}, options);
  }

  /** Sets the listener for requests that timed out while no message arrived at all. */
  onSilence(listener: () => void): void {
    this.#channel.onsilence = listener;
  }

  /** Sets who notices changes of lists, until the connection is closed. */
  followLists(follower: ListFollower): void {
    this.#watch.follower = follower;
  }

  /** Whether the server reports changes of this list now. */
  isReporting(list: ListKey): boolean {
    return this.#watch.isReporting(list);
  }

  /**
   * Receives changes of lists, if the session was opened without that. Resolves with a function that stops it, when the server
   * reports changes or takes long. Never rejects.
   */
  async listen(): Promise<() => void> {
    if (this.era === "legacy") {
      const stop = this.#parts.openStream();
      await this.#watch.streamSettled();
      return stop;
    }
    await this.#watch.keepListening();
    return () => this.#watch.stopListening();
  }

  /**
   * Subscribes to a resource; changes arrive as `notifications/resources/updated`. Calls `onGap` when changes may have been
   * missed. Resolves with a function that unsubscribes and never rejects.
   */
  async watchResource(
    uri: string,
    onGap: () => void,
    limits: ChannelRequestOptions,
  ): Promise<() => Promise<void>> {
    if (this.capabilities.resources?.subscribe !== true) throw notOffered(this.server);
    if (this.era === "modern") return this.#watch.addResource(this.server, uri, onGap, limits);
    this.#parts.openStream();
    await this.#watch.streamSettled();
    // The server may accept the subscription before a late stream is open, and answer after that.
    const off = this.#watch.followResource(uri, onGap);
    await this.request("resources/subscribe", { uri }, limits).catch((error: unknown) => {
      off();
      throw error;
    });
    return async () => {
      off();
      const options = { timeoutMs: UNSUBSCRIBE_MS, maxTimeoutMs: UNSUBSCRIBE_MS };
      // Ignore failures: a closed connection has no subscriptions.
      await this.request("resources/unsubscribe", { uri }, options).catch(() => {});
    };
  }

  /** Makes `close()` leave the session open at the server. False if a later connection could not go on with it. */
  keepAtServer(): boolean {
    // Only HTTP needs no open connection for a session.
    this.#isKept = this.transport === "http" && (this.era === "modern" || !this.#parts.tracksCalls);
    return this.#isKept;
  }

  /** Rejects new requests, waits for the open ones, then closes. */
  async retire(): Promise<void> {
    this.#watch.close();
    await Promise.allSettled(this.#rounds);
    await this.#channel.drain();
    await this.close();
  }

  /** Ends the session at the server and closes the transport. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#watch.close();
    if (!this.#isKept) await this.#parts.endSession();
    await this.#parts.client.close();
    // The SDK's client closes the transport too, but may never have been created.
    await this.#channel.close();
  }
}

const inputOf = ({ inputResponses, requestState }: InputRound): Fields => ({
  ...(inputResponses !== undefined && { inputResponses }),
  ...(requestState !== undefined && { requestState }),
});

const toolOf = (params: Fields, { tool = String(params["name"]) }: SessionRequestOptions): string => tool;

/** Methods during which a legacy server may send requests on behalf of a tool call. */
const CALL_METHODS = new Set(["tools/call", "tasks/result"]);

const inputResults = new WeakSet<object>();

/** True for a result that depends on input of the user. It must never be cached. */
export const dependsOnInput = (result: object): boolean => inputResults.has(result);

/** Makes {@link dependsOnInput} true for the result. */
export function markDependsOnInput<Result extends object>(result: Result): Result {
  inputResults.add(result);
  return result;
}

/** Checks the type of a result and removes `resultType`. Without the field a result is complete: only modern servers send it. */
function completeResult(server: string, method: string, result: unknown): Fields {
  if (!isRecord(result)) throw unusable({ server, what: `The result of ${method} is not an object`, result });
  if (result["resultType"] === undefined) return result;
  const { resultType, ...rest } = result;
  if (resultType === "complete") return rest;
  // The caller needs the field to tell a task from a result.
  if (resultType === "task" && method === "tools/call") return result;
  const type = JSON.stringify(resultType);
  throw unusable({ server, what: `The result of ${method} has the unsupported type ${type}`, result });
}

const unusable = (init: { server: string; what: string; result: unknown }): ToolCallError =>
  new ToolCallError({ code: "PROTOCOL", next: "Report this to the author of the server", ...init });

class CancelledQuestions {
  readonly #server: string;
  readonly #channel: RequestChannel;
  /** The calls by the `owner` of their requests. */
  readonly #calls = new Set<{ readonly owner: object; isAsked: boolean }>();

  constructor(server: string, channel: RequestChannel) {
    this.#server = server;
    this.#channel = channel;
  }

  /** Throws `NOT_OFFERED` after a call that asked something. */
  async during<Result>(tool: string, owner: object, run: () => Promise<Result>): Promise<Result> {
    const call = { owner, isAsked: false };
    const { sdkTransport } = this.#channel;
    this.#calls.add(call);
    sdkTransport.oncancelledquestion = (origin) => this.#cancelled(origin);
    try {
      const result = await run();
      if (call.isAsked)
        throw new SuspensionError({
          code: "NOT_OFFERED",
          server: this.#server,
          tool,
          what: "The server asked the user during the call, which its protocol revision does not allow to be suspended; Toolport cancelled the question",
          next: "Set the option onElicitation of createToolport, which answers such servers while the call runs",
        });
      return result;
    } finally {
      this.#calls.delete(call);
      if (this.#calls.size === 0) sdkTransport.oncancelledquestion = undefined;
    }
  }

  /** Outside the stream of a call, and with several calls in flight, the wire does not say which one asks. */
  #cancelled(origin: MessageOrigin | undefined): void {
    const owner = this.#channel.ownerOf(origin);
    const calls = [...this.#calls];
    const call = owner === undefined ? calls[0] : calls.find((each) => each.owner === owner);
    if (call !== undefined && (owner !== undefined || calls.length === 1)) call.isAsked = true;
  }
}
