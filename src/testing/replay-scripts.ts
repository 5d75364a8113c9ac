/** From recorded traffic to scripts: what a server does when it hears one message. */
import { canonicalJson } from "../catalog/safety/canonical-json.js";
import type { RecordedMessage, Recording, RpcMessage } from "./recording.js";
import { isCovered } from "./redact-message.js";

export const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";
const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";

type Id = string | number;

/** One thing the server does. `afterMs` counts from the step before, or from the message that set it off. */
export type Step =
  | { readonly do: "send"; readonly message: RpcMessage; readonly afterMs: number }
  /** Waits for the client's answer to a request that the server made in this script. */
  | { readonly do: "wait"; readonly id: Id };

/** What follows one request or notification of the client's. */
export interface Script {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Id of the request when it was recorded; undefined for a notification. */
  readonly id: Id | undefined;
  readonly progressToken: unknown;
  readonly steps: Step[];
  /** How it ended; an open one was never answered. */
  end: "answered" | "cancelled" | "open";
}

/** These say who asks, not what is asked for. */
const BY_METHOD_ALONE = new Set(["initialize", "server/discover"]);

/** Parameters without `_meta`, which is about the request and never the same twice. */
export function bareParams(params: RpcMessage["params"]): Readonly<Record<string, unknown>> {
  const { _meta, ...rest } = params ?? {};
  return rest;
}

/** Which subscription a message belongs to: the id of the request that opened it. */
export function subscriptionOf(body: Readonly<Record<string, unknown>> | undefined): Id | undefined {
  return (body?.["_meta"] as Record<string, Id> | undefined)?.[SUBSCRIPTION_ID];
}

/** Scripts by what sets them off. */
export class ScriptBook {
  readonly #byMethod = new Map<string, Script[]>();
  readonly #byKey = new Map<string, Script[]>();

  constructor(recording: Recording) {
    const scripts = writeScripts(recording.messages);
    const answered = new Set(scripts.filter(({ end }) => end === "answered").map(keyOf));
    for (const script of scripts) {
      // Refused for want of a login, or lost with its connection, and asked again with success: the success counts.
      if (script.id !== undefined && script.end === "open" && answered.has(keyOf(script))) continue;
      add(this.#byMethod, script.method, script);
      add(this.#byKey, keyOf(script), script);
    }
  }

  /** The scripts for one message, in the order they were recorded; empty if there is none. */
  find(method: string, params: Readonly<Record<string, unknown>>): readonly Script[] {
    const same = this.#byKey.get(keyOf({ method, params }));
    return same ?? this.ofMethod(method).filter((script) => isCovered(script.params, params));
  }

  ofMethod(method: string): readonly Script[] {
    return this.#byMethod.get(method) ?? [];
  }
}

const keyOf = ({ method, params }: Pick<Script, "method" | "params">): string =>
  BY_METHOD_ALONE.has(method) ? method : `${method} ${canonicalJson(params)}`;

function add(map: Map<string, Script[]>, key: string, script: Script): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [script]);
  else list.push(script);
}

function writeScripts(messages: readonly RecordedMessage[]): Script[] {
  const scripts: Script[] = [];
  const writers = new Map<number, ScriptWriter>();
  for (const recorded of messages) {
    const writer = writers.get(recorded.connection) ?? new ScriptWriter(scripts);
    writers.set(recorded.connection, writer);
    if (recorded.from === "client") writer.heard(recorded);
    else writer.said(recorded);
  }
  return scripts;
}

/** Goes through one connection. What the server says by itself belongs to what happened last before it. */
class ScriptWriter {
  readonly #scripts: Script[];
  readonly #byRequest = new Map<Id, Script>();
  readonly #byToken = new Map<unknown, Script>();
  readonly #serverRequests = new Map<Id, Script>();
  readonly #lastAt = new Map<Script, number>();
  #latest: Script | undefined;

  constructor(scripts: Script[]) {
    this.#scripts = scripts;
  }

  heard({ message, atMs }: RecordedMessage): void {
    const { id, method, params } = message;
    if (method === undefined) return this.#answered(id, atMs);
    if (method === "notifications/cancelled") {
      const cancelled = this.#byRequest.get(params?.["requestId"] as Id);
      if (cancelled?.end === "open") cancelled.end = "cancelled";
      return;
    }
    const { progressToken } = (params?.["_meta"] ?? {}) as { progressToken?: unknown };
    const script: Script = { method, params: bareParams(params), id, progressToken, steps: [], end: "open" };
    this.#scripts.push(script);
    if (id !== undefined) this.#byRequest.set(id, script);
    if (progressToken !== undefined) this.#byToken.set(progressToken, script);
    this.#lastAt.set(script, atMs);
    this.#latest = script;
  }

  said(recorded: RecordedMessage): void {
    const { message, atMs } = recorded;
    const owner = this.#ownerOf(message);
    // Said before anything was asked, or in answer to what nobody asked: there is no place for it.
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
    // A change has its place in time; that a subscription begins or ends is about that request alone.
    if (method === ACKNOWLEDGED) return this.#byRequest.get(subscriptionOf(params) as Id);
    return this.#byRequest.get(requestId as Id) ?? this.#latest;
  }
}
