/** Continues the waiting calls in the messages of the AI SDK, and puts their results in place. */
import {
  isSuspended,
  type ResumeInput,
  type ResumeOptions,
  type Suspended,
} from "../../execution/suspend/suspension.js";
import type { ToolResult } from "../../execution/tool-result.js";
import { createFitter, type WithForModel } from "../for-model.js";
import { type ResumeOutcome, resumeCall, resumeOptions } from "../run-calls.js";
import type { ToolSource } from "../tool-source.js";
import {
  type AiSdkContentOptions,
  type AiSdkModelOutput,
  loadAi,
  markOf,
  modelOutputOptions,
  suspendedMark,
  toModelOutput,
  toSuspendedOutput,
  versionOf,
} from "./content.js";

/** A message of the AI SDK: a model message (`content`), or a message of its user interface (`parts`). */
export interface AiSdkMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly parts?: unknown;
}

/** A call in the messages that waits for a person. */
export type AiSdkPendingCall = Suspended & { readonly toolCallId: string };

/** An answer that could not be used. */
export interface AiSdkResumeFailure {
  readonly toolCallId: string;
  readonly token: string;
  readonly error: unknown;
}

/** What `resumeMessages()` returns. */
export interface ResumedMessages<Message> {
  /** Copies of the messages, with results in place of the calls that are over. */
  readonly messages: Message[];
  /** The calls in the messages that wait for a person now, for instance for the answer to a second question. */
  readonly pending: AiSdkPendingCall[];
  /** Calls that still wait because their answer was not accepted, or because their server could not be reached. */
  readonly errors: AiSdkResumeFailure[];
}

/** Content options apply to model messages. */
export interface ResumeMessagesOptions
  extends Omit<AiSdkContentOptions, "strictContent">,
    ResumeOptions,
    WithForModel {}

/**
 * Continues waiting calls with the answers of the user, by token, and returns messages with the results. An answer to a call that
 * is not in the messages, or whose result is there already, has no effect. A call that was continued before with other copies of the messages,
 * or that has expired, gets a note for the model: it is never sent again.
 *
 * @param answers what the user decided, by the token of the call
 * @example
 * ```ts
 * const { messages: next, pending } = await resumeMessages(toolport, messages, {
 *   [token]: { answers: { seat: { action: "accept", content: { row: 12 } } } },
 * });
 * if (pending.length === 0) await generateText({ model, tools, messages: next });
 * ```
 */
export async function resumeMessages<Message extends AiSdkMessage>(
  toolport: ToolSource,
  messages: readonly Message[],
  answers: Readonly<Record<string, ResumeInput>>,
  options: ResumeMessagesOptions = {},
): Promise<ResumedMessages<Message>> {
  const resume = resumeOptions(options);
  const tokens = new Map(
    await Promise.all(Object.keys(answers).map(async (token) => [await markOf(token), token] as const)),
  );
  const calls = await waitingCalls(messages);
  const asked = [...new Set(calls.map(({ mark }) => mark))].filter((mark) => tokens.has(mark));
  const outcomeOf = (token: string) =>
    resumeCall(toolport, { token, answer: answers[token], options: resume });
  const outcomes = new Map(
    await Promise.all(asked.map(async (mark) => [mark, await outcomeOf(tokens.get(mark)!)] as const)),
  );
  const version = options.version ?? versionOf(await loadAi());
  const fitParts = createFitter(toolport, options.forModel, true);
  const convert = (result: ToolResult, tool: string): AiSdkModelOutput =>
    toModelOutput(
      result,
      {
        ...modelOutputOptions(options, version),
        fitParts: (parts) => fitParts(parts, { tool, server: result.server, result }),
      },
      { strict: false, server: result.server, onLeftOut: options.onLeftOut },
    );
  const replaced = await Promise.all(messages.map((message) => replaceIn(message, outcomes, convert)));
  const errors = calls.flatMap(({ mark, toolCallId }): AiSdkResumeFailure[] => {
    const outcome = outcomes.get(mark);
    if (outcome === undefined || !("error" in outcome)) return [];
    return [{ toolCallId, token: tokens.get(mark)!, error: outcome.error }];
  });
  return { messages: replaced, pending: await pendingCalls(toolport, replaced), errors };
}

interface WaitingCall {
  readonly mark: string;
  readonly toolCallId: string;
}

async function waitingCalls(messages: readonly AiSdkMessage[]): Promise<WaitingCall[]> {
  const calls = await Promise.all(messages.flatMap(partsOf).map(waitingCall));
  return calls.filter((call) => call !== undefined);
}

async function waitingCall(part: MessagePart): Promise<WaitingCall | undefined> {
  const { toolCallId = "", output } = part;
  if (isToolUiPart(part))
    return isWaitingOutput(output) ? { mark: await markOf(output.token), toolCallId } : undefined;
  const mark = part.type === "tool-result" ? suspendedMark(output) : undefined;
  return mark === undefined ? undefined : { mark, toolCallId };
}

async function pendingCalls(
  toolport: ToolSource,
  messages: readonly AiSdkMessage[],
): Promise<AiSdkPendingCall[]> {
  const calls = await waitingCalls(messages);
  if (calls.length === 0) return [];
  const waiting = new Map(
    await Promise.all(
      ((await toolport.suspended?.()) ?? []).map(async (call) => [await markOf(call.token), call] as const),
    ),
  );
  return calls.flatMap(({ mark, toolCallId }) => {
    const call = waiting.get(mark);
    return call === undefined ? [] : [{ ...call, toolCallId }];
  });
}

interface MessagePart {
  readonly type?: string;
  readonly toolName?: string;
  readonly toolCallId?: string;
  readonly state?: string;
  readonly output?: unknown;
}

const partsOf = ({ content, parts }: AiSdkMessage): readonly MessagePart[] => {
  const list = parts ?? content;
  return Array.isArray(list) ? (list as MessagePart[]) : [];
};

const isToolUiPart = ({ type = "", state }: MessagePart): boolean =>
  state === "output-available" && (type === "dynamic-tool" || type.startsWith("tool-"));

const isWaitingOutput = (output: unknown): output is Suspended =>
  isSuspended(output) && typeof output.token === "string";

/** What a model gets of a result. */
type ConvertResult = (result: ToolResult, tool: string) => AiSdkModelOutput;

async function replaceIn<Message extends AiSdkMessage>(
  message: Message,
  outcomes: ReadonlyMap<string, ResumeOutcome>,
  convert: ConvertResult,
): Promise<Message> {
  const before = partsOf(message);
  const after = await Promise.all(before.map((part) => replacePart(part, outcomes, convert)));
  if (after.every((part, index) => part === before[index])) return message;
  return { ...message, [message.parts === undefined ? "content" : "parts"]: after };
}

async function replacePart(
  part: MessagePart,
  outcomes: ReadonlyMap<string, ResumeOutcome>,
  convert: ConvertResult,
): Promise<MessagePart> {
  const call = await waitingCall(part);
  const outcome = call && outcomes.get(call.mark);
  if (outcome === undefined || "error" in outcome) return part;
  if ("note" in outcome) {
    const { note } = outcome;
    if (!isToolUiPart(part)) return { ...part, output: { type: "error-text", value: note } };
    const { output: _, ...rest } = part;
    return { ...rest, state: "output-error", errorText: note } as MessagePart;
  }
  if (isToolUiPart(part)) return { ...part, output: "next" in outcome ? outcome.next : outcome.result };
  const { toolName = "" } = part;
  const output =
    "next" in outcome ? await toSuspendedOutput(outcome.next) : convert(outcome.result, toolName);
  return { ...part, output };
}
