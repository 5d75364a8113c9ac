/** The requests of callers in flight on one connection: which of them a message of the server belongs to. */
import type { JSONRPCRequest, RequestId } from "@modelcontextprotocol/client";
import {
  callSafely,
  type Fields,
  LOG_LEVELS,
  type LogLevel,
  SlotList,
  type Slotted,
  ToolCallError,
  withDeadline,
} from "@toolport/base";
import type { MessageOrigin } from "../transports/server-transport.js";
import type { ChannelRequestOptions, RequestChannel } from "./request-channel.js";
import { RELATED_TASK_META_KEY, relatedTask } from "./server-requests/request-responder.js";
import { askCaller, progressTokenOf, type ServerQuestion, type SessionHooks } from "./session-hooks.js";

/** One request in flight. */
interface CallInFlight extends Slotted {
  readonly hooks: SessionHooks;
  /** The task whose result is requested. */
  readonly taskId?: string | undefined;
  /** The server may ask the caller during this request. */
  readonly mayAsk: boolean;
  /** Open questions by the id that the server gave them. */
  questions?: Map<RequestId, AbortController>;
}

/** One request to run. */
interface CallerRequest {
  readonly method: string;
  readonly taskId?: string | undefined;
  readonly hooks: SessionHooks;
  readonly options: ChannelRequestOptions;
  /** Keeps the session open until the promise settles. */
  readonly track: <Result>(running: Promise<Result>) => Promise<Result>;
  /** Sends the request with the given options. */
  readonly send: (options: ChannelRequestOptions) => Promise<Fields>;
}

/** What outlives a connection: shared by all connections for the same set of capabilities. */
export interface CallerState {
  /** The request for which the connection is opened: many servers ask for the roots before the first call arrives. */
  opener?: SessionHooks | undefined;
  /** The caller whose roots have changed, until the server asks for the new ones: one notification allows one question. */
  changedRoots?: SessionHooks | undefined;
  /**
   * Requests that may ask run one at a time, because messages do not show which request they belong to. True for every transport
   * but Streamable HTTP, and there from the first question on that does not arrive on the stream of its call. The SDK's
   * `elicitInput` and `createMessage` send such questions.
   */
  hasTurns: boolean;
}

/** Requests during which a legacy server may ask. */
const ASKING_METHODS = new Set(["tools/call", "prompts/get", "resources/read"]);
/** Maximum number of open questions of one request. */
const MAX_QUESTIONS = 16;
const SET_LEVEL_MS = 10_000;

export class CallsInFlight {
  readonly #parts: { server: string; channel: RequestChannel; shared: CallerState };
  readonly #calls = new SlotList<CallInFlight>();
  /** The connection was opened with the capabilities of the callers, so the server's questions are for them. */
  #isAnswering = false;
  /** Settles after the last request that may ask. */
  #turn: Promise<void> = Promise.resolve();
  #opener: CallInFlight | undefined;
  #lastAnsweredAt = 0;
  /** The lowest level that a caller asked for, and the request that sets it. */
  #level: { readonly level: LogLevel; readonly set: Promise<unknown> } | undefined;

  constructor(server: string, channel: RequestChannel, shared: CallerState) {
    this.#parts = { server, channel, shared };
    channel.notificationListeners.add((method, params, origin) => {
      if (method === "notifications/message") this.#log(params, origin);
      else if (method === "notifications/cancelled") this.#withdrawn(params["requestId"] as RequestId);
    });
  }

  /** Answers the questions of the server from now on. For connections with the capabilities of the callers. */
  answer(): void {
    const { channel } = this.#parts;
    this.#isAnswering = true;
    channel.onrequest = (request, origin) => this.#receive(request, origin);
    // The server may be silent while it waits for an answer.
    channel.lastActivityAt = () => (this.#isAsking() ? performance.now() : this.#lastAnsweredAt);
  }

  /** Runs one request. Its open questions are withdrawn when it ends. */
  async run({ method, taskId, hooks, options, track, send }: CallerRequest): Promise<Fields> {
    const mayAsk = ASKING_METHODS.has(method);
    if (!this.#isAnswering || !mayAsk || !this.#parts.shared.hasTurns)
      return this.#track({ hooks, taskId, mayAsk, slot: -1 }, options, send);
    const startedAt = performance.now();
    const leave = await track(this.#enter(options));
    try {
      const maxTimeoutMs = options.maxTimeoutMs - (performance.now() - startedAt);
      return await this.#track({ hooks, taskId, mayAsk, slot: -1 }, { ...options, maxTimeoutMs }, send);
    } finally {
      leave();
    }
  }

  /** Asks a legacy server for the messages that the caller wants. Ignores failures: only log messages would be missing. */
  async lowerLevel(level: LogLevel): Promise<void> {
    if (this.#level === undefined || severity(level) < severity(this.#level.level)) {
      const limits = { timeoutMs: SET_LEVEL_MS, maxTimeoutMs: SET_LEVEL_MS };
      const set = this.#parts.channel.request("logging/setLevel", { level }, limits).catch(() => {});
      this.#level = { level, set };
    }
    await this.#level.set;
  }

  async #track(
    call: CallInFlight,
    options: ChannelRequestOptions,
    send: CallerRequest["send"],
  ): Promise<Fields> {
    this.#calls.add(call);
    try {
      return await send({ ...options, owner: call });
    } finally {
      this.#calls.delete(call);
      if (this.#parts.shared.opener === call.hooks) this.#parts.shared.opener = undefined;
      const { server } = this.#parts;
      for (const question of call.questions?.values() ?? [])
        question.abort(notNeeded(server, "The call that asked has ended"));
    }
  }

  /** Waits until no other request can ask. Returns the function that lets the next one in. */
  async #enter({ signal, timeoutMs, maxTimeoutMs }: ChannelRequestOptions): Promise<() => void> {
    const previous = this.#turn;
    let leave = () => {};
    this.#turn = new Promise((resolve) => {
      leave = resolve;
    });
    try {
      await withDeadline(previous, {
        signal,
        timeoutMs: Math.min(timeoutMs, maxTimeoutMs),
        onTimeout: () => waitedTooLong(this.#parts.server),
      });
    } catch (error) {
      void previous.then(leave);
      throw error;
    }
    return leave;
  }

  /** True if the request of the server is answered here. */
  #receive(request: JSONRPCRequest, origin: MessageOrigin | undefined): boolean {
    // The channel answers pings.
    if (request.method === "ping") return false;
    const { channel } = this.#parts;
    const reply = (content: object) =>
      // Ignore failures: the channel handles a broken connection.
      void channel.sdkTransport.send({ jsonrpc: "2.0", id: request.id, ...content } as never).catch(() => {});
    const call = this.#callOf(request, origin) ?? this.#rootsOf(request);
    if (call === undefined) reply({ error: UNBOUND });
    else if ((call.questions?.size ?? 0) >= MAX_QUESTIONS) reply({ error: TOO_MANY });
    // One answer is enough for both.
    else if (call.questions?.has(request.id)) return true;
    else void this.#ask(call, request).then(reply);
    return true;
  }

  async #ask(call: CallInFlight, { id, method, params }: JSONRPCRequest): Promise<object> {
    const { server } = this.#parts;
    const controller = new AbortController();
    call.questions ??= new Map();
    call.questions.set(id, controller);
    try {
      const given = params as Record<string, unknown> | undefined;
      const asked = { method, params: given, onProgress: this.#progressTo(progressTokenOf(given)) };
      const result = await askCaller(server, call.hooks, asked, controller.signal);
      const related = relatedTask(asked);
      if (related === undefined) return { result };
      return {
        result: { ...result, _meta: { ...(result["_meta"] as object), [RELATED_TASK_META_KEY]: related } },
      };
    } catch (error) {
      return { error: toRpcError(error) };
    } finally {
      call.questions.delete(id);
      this.#lastAnsweredAt = performance.now();
    }
  }

  /** Sends progress of an answer to the server. Undefined if the server wants none. */
  #progressTo(progressToken: string | number | undefined): ServerQuestion["onProgress"] {
    if (progressToken === undefined) return undefined;
    const { sdkTransport } = this.#parts.channel;
    const method = "notifications/progress";
    // Ignore failures: the channel handles a broken connection.
    return (params) =>
      void sdkTransport
        .send({ jsonrpc: "2.0", method, params: { ...params, progressToken } } as never)
        .catch(() => {});
  }

  /** The call of the message's stream, or of the task that it names; else the only call in flight that may ask. */
  #callOf(request: JSONRPCRequest, origin: MessageOrigin | undefined): CallInFlight | undefined {
    const calls = this.#calls.toArray();
    const related = relatedTask(request as { method: string; params?: Record<string, unknown> });
    if (origin?.ownRequestId !== undefined) {
      const owner = this.#parts.channel.ownerOf(origin);
      return calls.find((call) => call === owner);
    }
    if (related !== undefined) return calls.find(({ taskId }) => taskId === related.taskId);
    const asking = calls.filter(({ mayAsk }) => mayAsk);
    // Servers also ask for the roots outside of calls.
    if (asking.length > 0 || request.method !== "roots/list") this.#parts.shared.hasTurns = true;
    return asking.length === 1 ? asking[0] : undefined;
  }

  /** Who answers a question for the roots outside of calls: the caller that reported a change, or opens the connection. */
  #rootsOf({ method }: JSONRPCRequest): CallInFlight | undefined {
    if (method !== "roots/list") return undefined;
    const { shared } = this.#parts;
    const { opener, changedRoots } = shared;
    shared.changedRoots = undefined;
    if (changedRoots !== undefined) return { hooks: changedRoots, mayAsk: true, slot: -1 };
    if (opener === undefined) return undefined;
    if (this.#opener?.hooks !== opener) this.#opener = { hooks: opener, mayAsk: true, slot: -1 };
    return this.#opener;
  }

  /** The server does not wait for the answer any more. */
  #withdrawn(id: RequestId): void {
    for (const { questions } of this.#calls.toArray())
      questions?.get(id)?.abort(notNeeded(this.#parts.server, "The server has withdrawn its question"));
  }

  #isAsking(): boolean {
    return this.#calls.find(({ questions }) => questions !== undefined && questions.size > 0) !== undefined;
  }

  #log(params: Readonly<Record<string, unknown>>, origin: MessageOrigin | undefined): void {
    if (this.#calls.size === 0) return;
    const { channel } = this.#parts;
    const owner = channel.ownerOf(origin);
    const redacted = (channel.secrets?.redactData(params) ?? params) as typeof params;
    for (const call of this.#calls.toArray())
      if (owner === undefined || owner === call)
        callSafely(
          () => call.hooks.onLog?.(redacted, params),
          () => {},
        );
  }
}

const severity = (level: LogLevel): number => LOG_LEVELS.indexOf(level);

const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;
const UNBOUND = { code: INVALID_PARAMS, message: "The request belongs to no call of the client" };
const TOO_MANY = { code: INTERNAL_ERROR, message: "Too many requests at once" };

/** An error of the caller passes; others contain details that are none of the server's. */
function toRpcError(error: unknown): { code: number; message: string; data?: unknown } {
  const { code, message, data } = Object(error) as { code?: unknown; message?: unknown; data?: unknown };
  if (typeof code === "number" && typeof message === "string")
    return { code, message, ...(data !== undefined && { data }) };
  return code === "PROTOCOL"
    ? { code: INVALID_PARAMS, message: "The client cannot serve this request" }
    : { code: INTERNAL_ERROR, message: "The client could not answer this request" };
}

const notNeeded = (server: string, what: string): ToolCallError =>
  new ToolCallError({ code: "PROTOCOL", server, what });

const waitedTooLong = (server: string): ToolCallError =>
  new ToolCallError({
    code: "TIMEOUT",
    server,
    what: "Another call of this user is still running, and the server's transport does not show which call asks a question",
    next: "Answer its question or cancel it, then call again",
    retryable: true,
    phase: "queue",
    outcome: "unsent",
  });
