/** Runs the calls that an OpenAI model requested, and returns the messages to append to the conversation. */

import type { ToolInfo } from "@toolport/base";
import { partNote } from "@toolport/core/internal";
import { OfferedTool, readCompact } from "@toolport/schemas/internal";
import { type ContentOptions, mapParts, noteOrThrow, textOf } from "../model-content.js";
import type { DeferredOptions } from "../offered-tools.js";
import {
  type CallerOfCall,
  type CallOutcome,
  type RequestedCall,
  type ResumeAnswers,
  type ResumedRun,
  type ResumeRunOptions,
  type RunFormat,
  type RunToolCallsOptions,
  resumeRun,
  runAndFormat,
  type SuspendedRun,
  type WithSuspend,
} from "../run-calls.js";
import type { ToolSource } from "../tool-source.js";
import {
  type OpenAIChatPart,
  type OpenAIResponsesPart,
  PROVIDER_NAMES,
  RESPONSES,
  toChatAudio,
  toChatFile,
} from "./content.js";
import {
  type OpenAIResponsesTool,
  type OpenAIToolsOptions,
  offeredForms,
  schemaTarget,
  toDeferredTool,
} from "./to-tools.js";

/** What is appended to `messages` of the chat API. */
export type OpenAIToolMessage =
  | { role: "tool"; tool_call_id: string; content: string }
  | { role: "function"; name: string; content: string }
  | { role: "user"; content: OpenAIChatPart[] };

/** What is appended to `input` of the responses API. */
export interface OpenAIFunctionCallOutput {
  type: "function_call_output";
  call_id: string;
  output: string | OpenAIResponsesPart[];
  /** The caller of the call, as OpenAI sent it. */
  caller?: OpenAICallerItem;
}

/** Who made a call: the model itself, or a program that it wrote. */
export type OpenAICallerItem = { type: "direct" } | { type: "program"; caller_id: string };

/** The answer to a search of the model, with the definitions of the tools that it can call from now on. */
export interface OpenAIToolSearchOutput {
  type: "tool_search_output";
  call_id: string;
  execution: "client";
  /** `"incomplete"`: the search failed; `onError` gets the error. */
  status: "completed" | "incomplete";
  tools: OpenAIResponsesTool[];
}

/** What is appended to `input` of the responses API with `deferred: "client"`. */
export type OpenAIResponsesOutput = OpenAIFunctionCallOutput | OpenAIToolSearchOutput;

/** Options of `runOpenAIToolCalls()`. */
export interface OpenAIRunOptions
  extends RunToolCallsOptions,
    DeferredOptions,
    Pick<OpenAIToolsOptions, "allowedCallers" | "compact"> {
  /**
   * Chat API only, whose tool messages contain only text: images and PDF files of a result follow in a user
   * message (`"message"`), or become a note (`"note"`), for models without vision.
   * @default "message"
   */
  readonly media?: "message" | "note" | undefined;
  /**
   * Chat API only: WAV and MP3 audio of a result becomes a note (`"note"`), or follows in a user message
   * (`"message"`). Only audio models (`gpt-audio` …) accept it; all others reject the whole request.
   * @default "note"
   */
  readonly audio?: "message" | "note" | undefined;
  /**
   * The option `strict` of the tools, for those that are not in `tools`: tools that a search found, or all if `tools` is left out.
   * @default whether one of `tools` is strict
   */
  readonly strict?: boolean | undefined;
}

/**
 * Runs every tool call in a message of the chat API, or in a response of the responses API, in parallel. The results
 * come in the order of the calls; an unknown tool, bad arguments or an unreachable server are reported to the model. An
 * empty list: the model requested no calls. With `suspend`, calls that wait for a person are in `pending`.
 *
 * Pass the `tools` of the request: they show how to read the arguments. With tools of `deferred: "client"`, searches of the model are
 * answered too. Pass the options of the tools as well then: the selection limits what a search finds.
 */
export function runOpenAIToolCalls(
  toolport: ToolSource,
  message: OpenAIChatAnswer,
  options?: OpenAIRunOptions,
): Promise<OpenAIToolMessage[]>;
export function runOpenAIToolCalls(
  toolport: ToolSource,
  response: OpenAIResponsesAnswer,
  options: OpenAIRunOptions & { deferred: "client" },
): Promise<OpenAIResponsesOutput[]>;
export function runOpenAIToolCalls(
  toolport: ToolSource,
  response: OpenAIResponsesAnswer,
  options?: OpenAIRunOptions,
): Promise<OpenAIFunctionCallOutput[]>;
export function runOpenAIToolCalls(
  toolport: ToolSource,
  message: OpenAIChatAnswer,
  options: WithSuspend<OpenAIRunOptions>,
): Promise<SuspendedRun<OpenAIToolMessage>>;
export function runOpenAIToolCalls(
  toolport: ToolSource,
  response: OpenAIResponsesAnswer,
  options: WithSuspend<OpenAIRunOptions> & { deferred: "client" },
): Promise<SuspendedRun<OpenAIResponsesOutput>>;
export function runOpenAIToolCalls(
  toolport: ToolSource,
  response: OpenAIResponsesAnswer,
  options: WithSuspend<OpenAIRunOptions>,
): Promise<SuspendedRun<OpenAIFunctionCallOutput>>;
export async function runOpenAIToolCalls(
  toolport: ToolSource,
  answer: OpenAIChatAnswer | OpenAIResponsesAnswer,
  options: OpenAIRunOptions | WithSuspend<OpenAIRunOptions> = {},
): Promise<unknown> {
  const offered = options.tools && offeredForms(options.tools);
  const strict = options.strict ?? (offered && [...offered.values()].includes("openai-strict"));
  const target = schemaTarget(strict);
  const steps = readCompact(options.compact);
  const define = (tool: ToolInfo) =>
    toDeferredTool(new OfferedTool(tool, target, steps), options.allowedCallers);
  const run = { ...options, offered, otherForm: strict === undefined ? undefined : target, isSearch };
  return runAndFormat(toolport, requestedCalls(answer), run, formatOf(options, define));
}

/** How results are converted, and the options of `resume()`. */
export type OpenAIResumeOptions = ResumeRunOptions<OpenAIContentRules>;

/**
 * Continues the waiting calls of a run that have an answer. Their results are inserted at the place of their calls. When `pending` is empty,
 * append `messages` to the conversation.
 *
 * @param answers what the user decided, by the token of the call
 * @example
 * ```ts
 * let run = await runOpenAIToolCalls(toolport, message, { tools, suspend: true });
 * while (run.pending.length > 0) run = await resumeOpenAIToolCalls(toolport, run, await askUser(run.pending), { tools });
 * messages.push(...run.messages);
 * ```
 */
export function resumeOpenAIToolCalls<Message extends OpenAIResult>(
  toolport: ToolSource,
  run: SuspendedRun<Message>,
  answers: ResumeAnswers,
  options: OpenAIResumeOptions = {},
): Promise<ResumedRun<Message>> {
  const format = formatOf({ ...options, strictContent: false });
  const offered = options.tools && offeredForms(options.tools);
  return resumeRun(toolport, run, { answers, options, offered, format }) as Promise<ResumedRun<Message>>;
}

const isSearch = (call: RequestedCall): boolean => (call as OpenAICall).form === "search";

type OpenAIContentRules = Pick<OpenAIRunOptions, "media" | "audio" | keyof ContentOptions>;

type OpenAIResult = OpenAIToolMessage | OpenAIResponsesOutput;

const formatOf = (
  options: OpenAIContentRules,
  define?: (tool: ToolInfo) => OpenAIResponsesTool,
): RunFormat<OpenAIResult, OpenAIResult, OpenAIChatPart> => ({
  convert(answer) {
    const { form } = answer.call as OpenAICall;
    if (form === "search") return { result: toSearchOutput(answer, define), beside: [] };
    if (form === "item") return { result: toFunctionCallOutput(answer, options), beside: [] };
    return toToolMessage(answer, options);
  },
  // All results of one message must be adjacent, so the user message with files comes after the last of them.
  join: (results, beside) =>
    beside.length === 0 ? [...results] : [...results, { role: "user", content: [...beside] }],
  split: (messages) => ({
    results: messages.filter((message) => !isUserMessage(message)),
    beside: messages.filter(isUserMessage).flatMap(({ content }) => content),
  }),
});

const isUserMessage = (message: OpenAIResult): message is Extract<OpenAIToolMessage, { role: "user" }> =>
  "role" in message && message.role === "user";

function toToolMessage(
  answer: CallOutcome,
  options: OpenAIContentRules,
): { result: OpenAIToolMessage; beside: OpenAIChatPart[] } {
  const { call } = answer;
  const files: OpenAIChatPart[] = [];
  const place = placeOf(answer, options);
  const texts = answer.parts.map((part) => {
    const file =
      (options.media === "note" ? undefined : toChatFile(part)) ??
      (options.audio === "message" ? toChatAudio(part) : undefined);
    if (file === undefined)
      return textOf(part) ?? noteOrThrow(part, { provider: PROVIDER_NAMES.chat, ...place });
    files.push(file);
    return `${partNote(part)} (in the next user message)`;
  });
  const content = errorMark(answer) + texts.join("\n");
  return {
    result:
      (call as OpenAICall).form === "function"
        ? { role: "function", name: call.name, content }
        : { role: "tool", tool_call_id: call.id ?? "", content },
    beside: files.length === 0 ? [] : [{ type: "text", text: `What ${call.name} answered:` }, ...files],
  };
}

function toFunctionCallOutput(answer: CallOutcome, options: OpenAIContentRules): OpenAIFunctionCallOutput {
  const mark = errorMark(answer);
  const items = mapParts(answer.parts, RESPONSES, placeOf(answer, options));
  const texts = items.map((item) => (item.type === "input_text" ? item.text : undefined));
  const isText = texts.every((text) => text !== undefined);
  const marked: OpenAIResponsesPart[] =
    mark === "" ? items : [{ type: "input_text", text: mark.trim() }, ...items];
  return {
    type: "function_call_output",
    call_id: answer.call.id ?? "",
    output: isText ? mark + texts.join("\n") : marked,
    // OpenAI rejects the result of a program's call without it.
    ...(answer.call.caller && { caller: answer.call.caller as OpenAICallerItem }),
  };
}

/** Later definitions are left out if they would make the answer larger than this; the model can search again. */
const MAX_DEFINITIONS_CHARACTERS = 32_000;

/** The API has no place for the message of a failed search. */
function toSearchOutput(
  { call, found }: CallOutcome,
  define: ((tool: ToolInfo) => OpenAIResponsesTool) | undefined,
): OpenAIToolSearchOutput {
  let left = MAX_DEFINITIONS_CHARACTERS;
  const tools = (define === undefined ? [] : (found ?? []).map(define)).filter((tool, index) => {
    const { length } = JSON.stringify(tool);
    if (index > 0 && length > left) return false;
    left -= length;
    return true;
  });
  return {
    type: "tool_search_output",
    call_id: call.id ?? "",
    execution: "client",
    status: found === undefined ? "incomplete" : "completed",
    tools,
  };
}

/** Neither API has a field for failure. */
const errorMark = ({ isError }: CallOutcome): string => (isError ? "Error: " : "");

const placeOf = (
  { server, tool }: CallOutcome,
  { strictContent = false, onLeftOut }: OpenAIContentRules,
) => ({ strict: strictContent, server, tool, onLeftOut });

/** The relevant fields of a message of the chat API. */
export interface OpenAIChatAnswer {
  readonly tool_calls?: readonly OpenAIChatToolCall[] | null | undefined;
  /** The old format of a single call. */
  readonly function_call?: { readonly name: string; readonly arguments: string } | null | undefined;
}

interface OpenAIChatToolCall {
  readonly id: string;
  readonly type?: string | undefined;
  readonly function?: { readonly name: string; readonly arguments: string } | undefined;
}

/** A response of the responses API, or the list of its items. */
export type OpenAIResponsesAnswer =
  | { readonly output: readonly OpenAIResponsesItem[] }
  | readonly OpenAIResponsesItem[];

export interface OpenAIResponsesItem {
  readonly type?: string | undefined;
}

/** How a call must be answered: by role "tool", by the old role "function", by an item, or by the tools that a search finds. */
export type AnswerForm = "tool" | "function" | "item" | "search";

export interface OpenAICall extends RequestedCall {
  readonly form: AnswerForm;
}

function requestedCalls(answer: OpenAIChatAnswer | OpenAIResponsesAnswer): OpenAICall[] {
  if (Array.isArray(answer)) return itemCalls(answer as readonly OpenAIResponsesItem[]);
  if ("output" in answer && Array.isArray(answer.output)) return itemCalls(answer.output);
  const { tool_calls: calls, function_call: old } = answer as OpenAIChatAnswer;
  if (calls && calls.length > 0)
    // Toolport offers no calls of other types (`custom`), but the API rejects a conversation with an unanswered call.
    return calls.map(({ id, function: asked, type }) => ({
      form: "tool",
      id,
      name: asked?.name ?? type ?? "",
      args: asked?.arguments,
    }));
  return old ? [{ form: "function", id: undefined, name: old.name, args: old.arguments }] : [];
}

function itemCalls(items: readonly CallItem[]): OpenAICall[] {
  return items.flatMap((item): OpenAICall[] => {
    const { type, call_id: id, name = "", arguments: args, caller, execution } = item;
    if (type === "function_call") return [{ form: "item", id: id!, name, args, ...(caller && { caller }) }];
    // OpenAI answers its own searches; they have no id.
    if (type !== "tool_search_call" || execution !== "client" || typeof id !== "string") return [];
    return [{ form: "search", id, name: "tool_search", args }];
  });
}

/** The fields of an item that is a call, or a search with `execution`. */
interface CallItem extends OpenAIResponsesItem {
  readonly call_id?: string | null | undefined;
  readonly name?: string;
  readonly arguments?: unknown;
  readonly caller?: CallerOfCall | null | undefined;
  readonly execution?: string | undefined;
}
