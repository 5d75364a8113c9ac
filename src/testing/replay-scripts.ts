/** Turns recorded traffic into scripts: what the server does after one message of the client. */
import { canonicalJson } from "../catalog/safety/canonical-json.js";
import type { RecordedMessage, Recording, RpcMessage } from "./recording.js";
import { matchesRecorded } from "./redact-message.js";

export const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";
const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";

type Id = string | number;

/** One action of the server. `afterMs` counts from the previous step, or from the message that started the script. */
export type Step =
  | { readonly do: "send"; readonly message: RpcMessage; readonly afterMs: number }
  /** Waits for the client's response to a request of this script. */
  | { readonly do: "wait"; readonly id: Id };

/** The reaction to one request or notification of the client. */
export interface Script {
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
export function bareParams(params: RpcMessage["params"]): Readonly<Record<string, unknown>> {
  const { _meta, ...rest } = params ?? {};
  return rest;
}

/** The subscription of a message: the id of the request that opened it. */
export function subscriptionOf(body: Readonly<Record<string, unknown>> | undefined): Id | undefined {
  return (body?.["_meta"] as Record<string, Id> | undefined)?.[SUBSCRIPTION_ID];
}

/** Finds scripts by the message that starts them. */
export class ScriptBook {
  readonly #byMethod = new Map<string, Script[]>();
  readonly #byKey = new Map<string, Script[]>();

  constructor(recording: Recording) {
    const scripts = writeScripts(recording.messages);
    const answered = new Set(scripts.filter(({ end }) => end === "answered").map(keyOf));
    for (const script of scripts) {
      // A request without a response (before a login, or a lost connection) that later succeeded: only the success counts.
      if (script.id !== undefined && script.end === "open" && answered.has(keyOf(script))) continue;
      add(this.#byMethod, script.method, script);
      add(this.#byKey, keyOf(script), script);
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
    if (recorded.from === "client") writer.addClientMessage(recorded);
    else writer.addServerMessage(recorded);
  }
  return scripts;
}

/** Reads one connection. A message that the server sends on its own belongs to the latest script. */
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
    this.#scripts.push(script);
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
