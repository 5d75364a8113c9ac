/** What a client brings to a request: its capabilities, and how it gets questions, log messages and progress. */
import { type Fields, LOG_LEVELS, type LogLevel } from "@toolport/base";
import type { Progress } from "@toolport/core";
import type { SessionHooks } from "@toolport/core/internal";
import {
  type AskClient,
  HOPS_META_KEY,
  META,
  metaOf,
  nextHop,
  RESERVED_META,
  withoutQuestions,
} from "../message.js";
import type { RequestContext } from "../request-context.js";
import { notificationText, passedParams } from "../results.js";
import { cannotAsk, resultOf } from "./parked-calls.js";

/** Legacy clients get messages from this level on until they choose one. */
const DEFAULT_LEVEL = "info";

/** @param ask asks the client. @default on the stream of the request */
export function createHooks(
  context: RequestContext,
  ask: AskClient = (question, signal) => askOnStream(context, question, signal),
): SessionHooks {
  const { parts, client, exchange } = context;
  const isModern = client.era === "modern";
  const canAnswer = isModern || exchange.ask !== undefined;
  const logLevel = client.logLevel ?? (isModern ? undefined : DEFAULT_LEVEL);
  // Requests whose messages are read by no client need no place among the calls in flight on the connection.
  const hasReader = logLevel !== undefined || parts.feeds.has(client.principal);
  const onLog = (params: Fields, sent: Fields): void => {
    parts.feeds.delivered(sent);
    if (logLevel !== undefined && isAtLeast(params["level"], logLevel))
      exchange.notify(notificationText("notifications/message", passedParams(params)));
  };
  return {
    capabilities: canAnswer ? client.capabilities : withoutQuestions(client.capabilities),
    capabilityKey: canAnswer ? client.capabilityKey : "",
    logLevel,
    passesInput: isModern,
    answer: (question, signal) =>
      ask({ ...question, params: withClientTask(context, question.params) }, signal),
    onLog: hasReader ? onLog : undefined,
  };
}

/** Whether a level is as severe as another one. */
export const isAtLeast = (level: unknown, least: LogLevel): boolean =>
  LOG_LEVELS.indexOf(level as LogLevel) >= LOG_LEVELS.indexOf(least);

/** Sends the question to a legacy client on the stream of its request. */
export async function askOnStream(
  context: RequestContext,
  { method, params, onProgress }: Parameters<AskClient>[0],
  signal: AbortSignal,
): Promise<Fields> {
  const { exchange, parts, client, user } = context;
  if (exchange.ask === undefined) throw cannotAsk();
  if (method === "elicitation/create") parts.feeds.showsPage(user, params);
  if (onProgress === undefined) return resultOf(await exchange.ask(method, params, signal));
  const { token, stop } = parts.questions.followProgress(client.principal, onProgress);
  try {
    const _meta = { ...(params && metaOf(params)), progressToken: token };
    return resultOf(await exchange.ask(method, { ...params, _meta }, signal));
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
  return rising((progress) =>
    exchange.notify(notificationText("notifications/progress", passedParams({ progressToken, ...progress }))),
  );
}

/** Leaves out reports that are smaller than an earlier one, which a retry or a fallback server may send. */
export function rising(onProgress: (progress: Progress) => void): (progress: Progress) => void {
  let reached = Number.NEGATIVE_INFINITY;
  return (report) => {
    if (report.progress < reached) return;
    reached = report.progress;
    onProgress(report);
  };
}

/** `_meta` of a request as servers get it: without what belongs to one connection. */
export function passedRequestMeta({ parts: { baggage }, request: { params } }: RequestContext): Fields {
  const meta = metaOf(params) ?? {};
  const passed: Record<string, unknown> = {};
  for (const name of Object.keys(meta)) {
    if (name.startsWith(RESERVED_META) || name === "progressToken") continue;
    if (name === "baggage" && !baggage) continue;
    passed[name] = meta[name];
  }
  passed[HOPS_META_KEY] = nextHop(params);
  return passed;
}
