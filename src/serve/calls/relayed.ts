/** The way of one request to a server: capabilities, log messages, progress and questions of the client who sent it. */
import { LOG_LEVELS, type LogLevel } from "../../model/log-levels.js";
import type { Progress } from "../../protocol/pending-request.js";
import type { Relay, RelayedQuestion } from "../../protocol/relay.js";
import { withoutQuestions } from "../client.js";
import { HOPS_META_KEY } from "../hops.js";
import { type Fields, isFields, META, metaOf, RESERVED_META } from "../message.js";
import type { RequestContext } from "../request-context.js";
import { notificationText } from "../results.js";
import { resultOf } from "./parked-calls.js";

/** Asks the client. */
export type AskClient = Relay["answer"];

interface RelayInit {
  readonly inputResponses?: Fields | undefined;
  readonly requestState?: string | undefined;
  readonly task?: Fields | undefined;
  readonly progressUntil?: AbortSignal | undefined;
  /** @default asks on the stream of the request */
  readonly answer?: AskClient | undefined;
  /** @default every fallback server may get the call */
  readonly mayUse?: Relay["mayUse"];
}

/** Legacy clients get messages from this level on until they choose one. */
const DEFAULT_LEVEL = "info";

/** The relay of a request. */
export function createRelay(context: RequestContext, init: RelayInit = {}): Relay {
  const { parts, client, exchange } = context;
  const isModern = client.era === "modern";
  const canAnswer = isModern || exchange.ask !== undefined;
  const logLevel = client.logLevel ?? (isModern ? undefined : DEFAULT_LEVEL);
  const relay: Writable<Relay> = {
    capabilities: canAnswer ? client.capabilities : withoutQuestions(client.capabilities),
    capabilityKey: canAnswer ? client.capabilityKey : "",
    logLevel,
    passesInput: isModern,
    inputResponses: init.inputResponses,
    requestState: init.requestState,
    task: init.task,
    progressUntil: init.progressUntil,
    mayUse: init.mayUse,
    answer: init.answer ?? ((question, signal) => askOnStream(context, question, signal)),
  };
  // Requests whose messages are read by no client need no place among the relayed calls of the connection.
  if (logLevel !== undefined || parts.feeds.has(client.principal))
    relay.onLog = (params, sent) => {
      parts.feeds.delivered(sent);
      if (logLevel !== undefined && isAtLeast(params["level"], logLevel))
        exchange.notify(notificationText("notifications/message", params));
    };
  return relay;
}

type Writable<Value> = { -readonly [Key in keyof Value]: Value[Key] };

/** Whether a level is as severe as another one. */
export const isAtLeast = (level: unknown, least: LogLevel): boolean =>
  LOG_LEVELS.indexOf(level as LogLevel) >= LOG_LEVELS.indexOf(least);

/** Sends the question to a legacy client on the stream of its request. */
async function askOnStream(
  context: RequestContext,
  { method, params, onProgress }: RelayedQuestion,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const { exchange, parts, client } = context;
  if (exchange.ask === undefined)
    throw Object.assign(new Error("The client cannot be asked"), { code: -32603 });
  const shown = withClientTask(context, params);
  if (onProgress === undefined) return resultOf(await exchange.ask(method, shown, signal));
  const { token, stop } = parts.questions.followProgress(client.principal, onProgress);
  try {
    const _meta = { ...(shown && metaOf(shown)), progressToken: token };
    return resultOf(await exchange.ask(method, { ...shown, _meta }, signal));
  } finally {
    stop();
  }
}

/** A question that names a task belongs to the request for its result, which has the client's id of the task. */
function withClientTask({ request }: RequestContext, params: Fields | undefined): Fields | undefined {
  const meta = params && metaOf(params);
  if (meta?.[META.relatedTask] === undefined) return params;
  const { [META.relatedTask]: _, ...others } = meta;
  const { taskId } = request.params;
  if (request.method !== "tasks/result") return { ...params, _meta: others };
  return { ...params, _meta: { ...others, [META.relatedTask]: { taskId } } };
}

/** Passes progress on with the client's own token; undefined if the client wants none. */
export function progressOf({
  request,
  exchange,
}: RequestContext): ((progress: Progress) => void) | undefined {
  const progressToken = metaOf(request.params)?.["progressToken"];
  if (typeof progressToken !== "string" && typeof progressToken !== "number") return undefined;
  return (progress) =>
    exchange.notify(notificationText("notifications/progress", { progressToken, ...progress }));
}

/** `_meta` of a request as servers get it: without what belongs to one connection. */
export function passedRequestMeta(params: Fields, { baggage, hops }: MetaRules): Record<string, unknown> {
  const meta = metaOf(params) ?? {};
  const passed: Record<string, unknown> = {};
  for (const name of Object.keys(meta)) {
    if (name.startsWith(RESERVED_META) || name === "progressToken") continue;
    if (name === "baggage" && !baggage) continue;
    passed[name] = meta[name];
  }
  passed[HOPS_META_KEY] = hops;
  return passed;
}

interface MetaRules {
  readonly baggage: boolean;
  readonly hops: number;
}

/** The arguments of a request, checked to be an object. */
export const argumentsOf = (value: unknown): Fields | undefined =>
  value === undefined ? {} : isFields(value) ? value : undefined;
