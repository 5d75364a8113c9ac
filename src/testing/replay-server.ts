/** Plays a recording back as a server, in this process and without a network. */

import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import type { CustomServerEntry } from "../config/server-entry.js";
import { createLinkedTransports } from "../transports/memory/linked-transports.js";
import { sleep } from "../util/sleep.js";
import { type Recording, type RpcMessage, readRecording } from "./recording.js";
import {
  bareParams,
  type Script,
  ScriptBook,
  type Step,
  SUBSCRIPTION_ID,
  subscriptionOf,
} from "./replay-scripts.js";

/** Options of {@link replayServer}. */
export interface ReplayOptions {
  /** 1 takes as long as the real server took, 2 half of that; 0 does not wait at all. @default 0 */
  speed?: number;
}

/**
 * An entry for `mcpServers` that answers as the recorded server did, in the protocol era it was recorded in.
 *
 * A request is known by its method and its parameters, in whatever order requests come. One that was recorded several times is
 * answered in that order, and then as the last time; every connection starts anew. What was not recorded is answered with a
 * JSON-RPC error that says so.
 *
 * @param recording the file, or what {@link readRecording} returned
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
  let book: Promise<ScriptBook> | undefined;
  const open = async () =>
    new ScriptBook(isRecording(recording) ? recording : await readRecording(recording));
  return {
    transport: async () => {
      book ??= open();
      // A file that is not there yet may be there at the next attempt.
      const scripts = await book.catch((error: unknown) => {
        book = undefined;
        throw error;
      });
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

/** Asked now and then by clients of all kinds; the answer is always the same. */
const EMPTY_ANSWERS = new Set(["ping", "logging/setLevel"]);

/** Stays open until one side has enough; not to be answered is its way. */
const LISTEN = "subscriptions/listen";

/** Playing a script a second time must not tell of these again: whoever hears them asks once more, without end. */
const CHANGES: readonly string[] = [
  "notifications/tools/list_changed",
  "notifications/resources/list_changed",
  "notifications/prompts/list_changed",
  "notifications/resources/updated",
];

/** A script while it is played, and to whom. */
interface Play {
  readonly script: Script;
  readonly id: Id | undefined;
  readonly progressToken: unknown;
  /** Requests of the server's by their recorded ids; settled when the client has answered. */
  readonly asked: Map<Id, Promise<void>>;
  readonly signal: AbortSignal;
}

export class ReplayConnection {
  readonly #book: ScriptBook;
  readonly #transport: Transport;
  readonly #speed: number;
  readonly #closed = new AbortController();
  /** How often each was played; those that fit the same message are counted together, under the first of them. */
  readonly #played = new Map<Script, number>();
  readonly #running = new Map<Id, AbortController>();
  readonly #waiting = new Map<Id, () => void>();
  /** Ids of subscriptions as recorded, and as they are now. */
  readonly #listening = new Map<Id | undefined, Id>();
  #lastId = 0;

  constructor(book: ScriptBook, transport: Transport, speed: number) {
    this.#book = book;
    this.#transport = transport;
    this.#speed = speed;
    transport.onmessage = (message) => this.#hear(message as RpcMessage);
    transport.onclose = () => this.#closed.abort();
  }

  #hear(message: RpcMessage): void {
    const { id, method, params } = message;
    if (method === undefined) {
      if (id !== undefined) this.#waiting.get(id)?.();
      return;
    }
    if (method === "notifications/cancelled") {
      this.#running.get(params?.["requestId"] as Id)?.abort();
      return;
    }
    const scripts = this.#book.find(method, bareParams(params));
    if (scripts[0] !== undefined) this.#perform(scripts, message);
    else if (id === undefined) return;
    else if (EMPTY_ANSWERS.has(method)) this.#send({ id, result: {} });
    else this.#send({ id, error: this.#notRecorded(method, bareParams(params)) });
  }

  /** Plays the next of the scripts, or the last one once more. */
  #perform(scripts: readonly Script[], { id, params }: RpcMessage): void {
    const count = this.#played.get(scripts[0]!) ?? 0;
    this.#played.set(scripts[0]!, count + 1);
    const script = scripts[Math.min(count, scripts.length - 1)]!;
    const steps = count < scripts.length ? script.steps : stepsOfRepetition(script);
    const cancel = new AbortController();
    const { progressToken } = (params?.["_meta"] ?? {}) as { progressToken?: unknown };
    const signal = AbortSignal.any([cancel.signal, this.#closed.signal]);
    if (id !== undefined) this.#running.set(id, cancel);
    if (id !== undefined && script.method === LISTEN) this.#listening.set(script.id, id);
    this.#play(steps, { script, id, progressToken, asked: new Map(), signal })
      // Cancelled, or the connection is closed: nobody listens any more.
      .catch(() => {})
      .finally(() => {
        if (id !== undefined && this.#running.get(id) === cancel) this.#running.delete(id);
      });
  }

  async #play(steps: readonly Step[], play: Play): Promise<void> {
    const { script, id, signal } = play;
    for (const step of steps) {
      if (step.do === "wait") {
        await this.#answered(play, step.id);
        continue;
      }
      if (this.#speed > 0) await sleep(step.afterMs / this.#speed, signal);
      signal.throwIfAborted();
      const message = this.#rewrite(step.message, play);
      if (message !== undefined) this.#send(message);
    }
    if (id === undefined || script.end !== "open" || script.method === LISTEN) return;
    const message = `The recording has no answer to ${script.method}: the connection ended before it, or HTTP refused it`;
    this.#send({ id, error: { code: INTERNAL_ERROR, message } });
  }

  /** Resolves when the client has answered a request of the script; rejects when nobody waits for that any more. */
  #answered({ asked, signal }: Play, id: Id): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      asked.get(id)?.then(resolve);
    });
  }

  /** The recorded message with the ids of this connection; undefined if it is of no use here. */
  #rewrite(message: RpcMessage, { script, id, progressToken, asked }: Play): RpcMessage | undefined {
    if (message.method === undefined) {
      return { ...message, ...(id !== undefined && { id }), ...this.#subscribed(message, "result") };
    }
    if (message.id !== undefined) {
      this.#lastId += 1;
      const own = `replay-${this.#lastId}`;
      const answered = new Promise<void>((resolve) => this.#waiting.set(own, resolve));
      asked.set(
        message.id,
        answered.finally(() => this.#waiting.delete(own)),
      );
      return { ...message, id: own };
    }
    if (message.method === "notifications/progress") {
      // Whoever asks this time does not want to know.
      if (progressToken === undefined) return undefined;
      return { ...message, params: { ...message.params, progressToken } };
    }
    if (message.method === "notifications/cancelled" && message.params?.["requestId"] === script.id) {
      return { ...message, params: { ...message.params, requestId: id } };
    }
    return { ...message, ...this.#subscribed(message, "params") };
  }

  /** What belongs to a subscription names the request that opened it, which has another id this time. */
  #subscribed(message: RpcMessage, part: "params" | "result"): Partial<RpcMessage> {
    const body = message[part];
    const now = this.#listening.get(subscriptionOf(body));
    if (now === undefined) return {};
    return { [part]: { ...body, _meta: { ...(body?.["_meta"] as object), [SUBSCRIPTION_ID]: now } } };
  }

  #notRecorded(method: string, params: Readonly<Record<string, unknown>>): NonNullable<RpcMessage["error"]> {
    const others = this.#book.ofMethod(method);
    const data = { toolport: "NOT_RECORDED", method };
    if (others.length === 0) {
      return { code: METHOD_NOT_FOUND, message: `The recording holds no ${method}`, data };
    }
    const asked = JSON.stringify(params).slice(0, 200);
    const message = `The recording holds ${others.length} of ${method}, but none with ${asked}`;
    return { code: INVALID_PARAMS, message, data };
  }

  #send(message: RpcMessage): void {
    // It fails only when the client has closed meanwhile.
    this.#transport.send({ ...message, jsonrpc: "2.0" } as JSONRPCMessage).catch(() => {});
  }
}

/** Up to the answer, without the news of changes. */
function stepsOfRepetition({ steps }: Script): readonly Step[] {
  const isAnswer = (step: Step) => step.do === "send" && step.message.method === undefined;
  const end = steps.findIndex(isAnswer);
  const kept = end < 0 ? steps : steps.slice(0, end + 1);
  return kept.filter((step) => step.do === "wait" || !CHANGES.includes(step.message.method ?? ""));
}
