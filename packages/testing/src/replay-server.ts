/** Replays a recording as a server, in this process and without a network. */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { canonicalJson, loadOnce, pushTo, sleep } from "@toolport/base";
import { type CustomServerEntry, createLinkedTransports } from "@toolport/core";
import {
  matchesRecorded,
  type RecordedMessage,
  type Recording,
  type RpcMessage,
  readRecording,
} from "./record-server.js";

/** Options of {@link replayServer}. */
export interface ReplayOptions {
  /** 1: as fast as the recorded server, 2: twice as fast, 0: without delays. @default 0 */
  speed?: number;
}

/**
 * Returns an entry for `mcpServers` that responds like the recorded server, in the recorded protocol era.
 *
 * Requests are matched by method and parameters, in any order. A request that was recorded several times gets the responses in
 * recorded order, then the last one again. Every connection starts from the beginning. Requests that were not recorded get a
 * JSON-RPC error that says so.
 *
 * @param recording the file, or the result of {@link readRecording}
 * @example
 * ```ts
 * await using toolport = createToolport({ mcpServers: { web: replayServer("weather.ndjson") } });
 * await toolport.callTool("web__forecast", { city: "Oslo" }); // as recorded
 * ```
 * @see {@link recordServer}
 */
export function replayServer(
  recording: string | URL | Recording,
  options: ReplayOptions = {},
): CustomServerEntry {
  const { speed = 0 } = options;
  const open = loadOnce(
    async () => new ScriptBook(isRecording(recording) ? recording : await readRecording(recording)),
  );
  return {
    transport: async () => {
      // The file may exist at the next attempt.
      const scripts = await open();
      const [client, server] = createLinkedTransports();
      new ReplayConnection(scripts, server, speed);
      await server.start();
      return client;
    },
  };
}

const isRecording = (value: string | URL | Recording): value is Recording =>
  typeof value === "object" && "messages" in value;

type Id = string | number;

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

/** Requests with an empty result that clients may send at any time. */
const EMPTY_RESULTS = new Set(["ping", "logging/setLevel"]);

/** Stays open without a response. */
const LISTEN = "subscriptions/listen";

/** Not sent again when a script is repeated: the client would repeat its request, without end. */
const CHANGES: readonly string[] = [
  "notifications/tools/list_changed",
  "notifications/resources/list_changed",
  "notifications/prompts/list_changed",
  "notifications/resources/updated",
];

/** One replay of a script. */
interface Play {
  readonly script: Script;
  readonly id: Id | undefined;
  readonly progressToken: unknown;
  /** Requests of the server by recorded id; resolved when the client responds. */
  readonly serverRequests: Map<Id, Promise<void>>;
  readonly signal: AbortSignal;
}

class ReplayConnection {
  readonly #closed = new AbortController();
  /** How often scripts were played. Scripts for the same message share a counter, stored under the first one. */
  readonly #played = new Map<Script, number>();
  readonly #running = new Map<Id, AbortController>();
  readonly #waiting = new Map<Id, () => void>();
  /** Current ids of subscriptions by recorded id. */
  readonly #subscriptions = new Map<Id | undefined, Id>();
  #lastId = 0;

  constructor(
    private readonly book: ScriptBook,
    private readonly transport: Transport,
    private readonly speed: number,
  ) {
    transport.onmessage = (message) => this.#receive(message as RpcMessage);
    transport.onclose = () => this.#closed.abort();
  }

  #receive(message: RpcMessage): void {
    const { id, method, params } = message;
    if (method === undefined) {
      if (id !== undefined) this.#waiting.get(id)?.();
      return;
    }
    if (method === "notifications/cancelled") {
      this.#running.get(params?.["requestId"] as Id)?.abort();
      return;
    }
    const scripts = this.book.find(method, bareParams(params));
    if (scripts[0] !== undefined) this.#perform(scripts, message);
    else if (id === undefined) return;
    else if (EMPTY_RESULTS.has(method)) this.#send({ id, result: {} });
    else this.#send({ id, error: this.#notRecorded(method, bareParams(params)) });
  }

  /** Plays the next script, or repeats the last one. */
  #perform(scripts: readonly Script[], { id, params }: RpcMessage): void {
    const count = this.#played.get(scripts[0]!) ?? 0;
    this.#played.set(scripts[0]!, count + 1);
    const script = scripts[Math.min(count, scripts.length - 1)]!;
    const steps = count < scripts.length ? script.steps : stepsOfRepetition(script);
    const cancel = new AbortController();
    const { progressToken } = (params?.["_meta"] ?? {}) as { progressToken?: unknown };
    const signal = AbortSignal.any([cancel.signal, this.#closed.signal]);
    if (id !== undefined) this.#running.set(id, cancel);
    if (id !== undefined && script.method === LISTEN) this.#subscriptions.set(script.id, id);
    this.#play(steps, { script, id, progressToken, serverRequests: new Map(), signal })
      // The request was cancelled, or the connection is closed.
      .catch(() => {})
      .finally(() => {
        if (id !== undefined && this.#running.get(id) === cancel) this.#running.delete(id);
      });
  }

  async #play(steps: readonly Step[], play: Play): Promise<void> {
    const { script, id, signal } = play;
    for (const step of steps) {
      if (step.do === "wait") {
        await this.#waitForResponse(play, step.id);
        continue;
      }
      if (this.speed > 0) await sleep(step.afterMs / this.speed, signal);
      signal.throwIfAborted();
      const message = this.#rewrite(step.message, play);
      if (message !== undefined) this.#send(message);
    }
    if (id === undefined || script.end !== "open" || script.method === LISTEN) return;
    const message = `The recording has no response to ${script.method}: the connection ended before it, or HTTP rejected it`;
    this.#send({ id, error: { code: INTERNAL_ERROR, message } });
  }

  /** Resolves when the client has responded to a request of the script; rejects on cancellation. */
  #waitForResponse({ serverRequests, signal }: Play, id: Id): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      serverRequests.get(id)?.then(resolve);
    });
  }

  /** The recorded message with the ids of this connection; undefined if it must not be sent. */
  #rewrite(message: RpcMessage, { script, id, progressToken, serverRequests }: Play): RpcMessage | undefined {
    if (message.method === undefined) {
      return { ...message, ...(id !== undefined && { id }), ...this.#subscribed(message, "result") };
    }
    if (message.id !== undefined) {
      this.#lastId += 1;
      const own = `replay-${this.#lastId}`;
      const answered = new Promise<void>((resolve) => this.#waiting.set(own, resolve));
      serverRequests.set(
        message.id,
        answered.finally(() => this.#waiting.delete(own)),
      );
      return { ...message, id: own };
    }
    if (message.method === "notifications/progress") {
      // This time the client did not request progress.
      if (progressToken === undefined) return undefined;
      return { ...message, params: { ...message.params, progressToken } };
    }
    if (message.method === "notifications/cancelled" && message.params?.["requestId"] === script.id) {
      return { ...message, params: { ...message.params, requestId: id } };
    }
    return { ...message, ...this.#subscribed(message, "params") };
  }

  /** Replaces the recorded id of a subscription by the current one. */
  #subscribed(message: RpcMessage, part: "params" | "result"): Partial<RpcMessage> {
    const body = message[part];
    const now = this.#subscriptions.get(subscriptionOf(body));
    if (now === undefined) return {};
    return { [part]: { ...body, _meta: { ...(body?.["_meta"] as object), [SUBSCRIPTION_ID]: now } } };
  }

  #notRecorded(method: string, params: Readonly<Record<string, unknown>>): NonNullable<RpcMessage["error"]> {
    const others = this.book.ofMethod(method);
    const data = { toolport: "NOT_RECORDED", method };
    if (others.length === 0) {
      return { code: METHOD_NOT_FOUND, message: `The recording contains no ${method}`, data };
    }
    const requested = JSON.stringify(params).slice(0, 200);
    const message = `The recording contains ${method} ${others.length} times, but not with ${requested}`;
    return { code: INVALID_PARAMS, message, data };
  }

  #send(message: RpcMessage): void {
    // Fails only if the client has closed the connection.
    this.transport.send({ ...message, jsonrpc: "2.0" } as JSONRPCMessage).catch(() => {});
  }
}

/** The steps up to the response, without notifications of changes. */
function stepsOfRepetition({ steps }: Script): readonly Step[] {
  const isResponse = (step: Step) => step.do === "send" && step.message.method === undefined;
  const end = steps.findIndex(isResponse);
  const kept = end < 0 ? steps : steps.slice(0, end + 1);
  return kept.filter((step) => step.do === "wait" || !CHANGES.includes(step.message.method ?? ""));
}

const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";
const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";

/** One action of the server. `afterMs` counts from the previous step, or from the message that started the script. */
type Step =
  | { readonly do: "send"; readonly message: RpcMessage; readonly afterMs: number }
  /** Waits for the client's response to a request of this script. */
  | { readonly do: "wait"; readonly id: Id };

/** The reaction to one request or notification of the client. */
interface Script {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Recorded id of the request; undefined for a notification. */
  readonly id: Id | undefined;
  readonly progressToken: unknown;
  readonly steps: Step[];
  /** How the script ended; "open": without a response. */
  end: "answered" | "cancelled" | "open";
}

/** Methods whose parameters describe the client, so that they need not match. */
const BY_METHOD_ALONE = new Set(["initialize", "server/discover"]);

/** Parameters without `_meta`, which differs from request to request. */
function bareParams(params: RpcMessage["params"]): Readonly<Record<string, unknown>> {
  const { _meta, ...rest } = params ?? {};
  return rest;
}

/** The subscription of a message: the id of the request that opened it. */
function subscriptionOf(body: Readonly<Record<string, unknown>> | undefined): Id | undefined {
  return (body?.["_meta"] as Record<string, Id> | undefined)?.[SUBSCRIPTION_ID];
}

/** Finds scripts by the message that starts them. */
class ScriptBook {
  readonly #byMethod = new Map<string, Script[]>();
  readonly #byKey = new Map<string, Script[]>();

  constructor(recording: Recording) {
    const scripts = writeScripts(recording.messages);
    const answered = new Set(scripts.filter(({ end }) => end === "answered").map(keyOf));
    for (const script of scripts) {
      // A request without a response (before a login, or a lost connection) that later succeeded: only the success counts.
      if (script.id !== undefined && script.end === "open" && answered.has(keyOf(script))) continue;
      pushTo(this.#byMethod, script.method, script);
      pushTo(this.#byKey, keyOf(script), script);
    }
  }

  /** The scripts for one message, in recorded order; empty if there is none. */
  find(method: string, params: Readonly<Record<string, unknown>>): readonly Script[] {
    const same = this.#byKey.get(keyOf({ method, params }));
    return same ?? this.ofMethod(method).filter((script) => matchesRecorded(script.params, params));
  }

  ofMethod(method: string): readonly Script[] {
    return this.#byMethod.get(method) ?? [];
  }
}

const keyOf = ({ method, params }: Pick<Script, "method" | "params">): string =>
  BY_METHOD_ALONE.has(method) ? method : `${method} ${canonicalJson(params)}`;

function writeScripts(messages: readonly RecordedMessage[]): Script[] {
  const scripts: Script[] = [];
  const writers = new Map<number, ScriptWriter>();
  for (const recorded of messages) {
    const writer = writers.get(recorded.connection) ?? new ScriptWriter(scripts);
    writers.set(recorded.connection, writer);
    if (recorded.from === "client") writer.addClientMessage(recorded);
    else writer.addServerMessage(recorded);
  }
  return scripts;
}

/** Reads one connection. A message that the server sends on its own belongs to the latest script. */
class ScriptWriter {
  readonly #byRequest = new Map<Id, Script>();
  readonly #byToken = new Map<unknown, Script>();
  readonly #serverRequests = new Map<Id, Script>();
  readonly #lastAt = new Map<Script, number>();
  #latest: Script | undefined;

  constructor(private readonly scripts: Script[]) {}

  addClientMessage({ message, atMs }: RecordedMessage): void {
    const { id, method, params } = message;
    if (method === undefined) return this.#answered(id, atMs);
    if (method === "notifications/cancelled") {
      const cancelled = this.#byRequest.get(params?.["requestId"] as Id);
      if (cancelled?.end === "open") cancelled.end = "cancelled";
      return;
    }
    const { progressToken } = (params?.["_meta"] ?? {}) as { progressToken?: unknown };
    const script: Script = { method, params: bareParams(params), id, progressToken, steps: [], end: "open" };
    this.scripts.push(script);
    if (id !== undefined) this.#byRequest.set(id, script);
    if (progressToken !== undefined) this.#byToken.set(progressToken, script);
    this.#lastAt.set(script, atMs);
    this.#latest = script;
  }

  addServerMessage(recorded: RecordedMessage): void {
    const { message, atMs } = recorded;
    const owner = this.#ownerOf(message);
    // A message before the first request, or a response to an unknown request: no script can send it.
    if (owner === undefined) return;
    const afterMs = Math.max(0, atMs - (this.#lastAt.get(owner) ?? atMs));
    owner.steps.push({ do: "send", message, afterMs });
    this.#lastAt.set(owner, atMs);
    if (message.method === undefined) {
      owner.end = "answered";
      this.#latest = owner;
    } else if (message.id !== undefined) {
      this.#serverRequests.set(message.id, owner);
    }
  }

  #answered(id: Id | undefined, atMs: number): void {
    const script = id === undefined ? undefined : this.#serverRequests.get(id);
    if (script === undefined) return;
    script.steps.push({ do: "wait", id: id as Id });
    this.#lastAt.set(script, atMs);
    this.#latest = script;
  }

  #ownerOf({ id, method, params }: RpcMessage): Script | undefined {
    if (method === undefined) return id === undefined ? undefined : this.#byRequest.get(id);
    const { progressToken, requestId } = (params ?? {}) as Record<string, unknown>;
    if (method === "notifications/progress") return this.#byToken.get(progressToken);
    // Acknowledgements belong to the request of their subscription, changes to the latest script.
    if (method === ACKNOWLEDGED) return this.#byRequest.get(subscriptionOf(params) as Id);
    return this.#byRequest.get(requestId as Id) ?? this.#latest;
  }
}
