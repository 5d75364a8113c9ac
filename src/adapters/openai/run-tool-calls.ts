/** Runs the calls that an OpenAI model requested, and returns the messages to append to the conversation. */
import type { ContentPart } from "../../content/content-part.js";
import { partNote } from "../../content/part-note.js";
import type { ResumeOptions } from "../../execution/suspend/suspension.js";
import type { SchemaTarget } from "../../schema/derive/derived-schema.js";
import type { Toolport } from "../../toolport.js";
import { type ContentOptions, type ContentPlace, mapParts, noteOrThrow, textOf } from "../content-options.js";
import {
  type ResumeAnswers,
  type ResumedRun,
  type RunFormat,
  resumeRun,
  runAndFormat,
  type SuspendedRun,
} from "../pending-calls.js";
import type { CallOutcome, RunToolCallsOptions, WithSuspend } from "../run-calls.js";
import {
  type OpenAIChatPart,
  type OpenAIResponsesPart,
  PROVIDER_NAMES,
  toChatAudio,
  toChatFile,
  toResponsesFile,
} from "./content.js";
import {
  type OpenAICall,
  type OpenAIChatAnswer,
  type OpenAIResponsesAnswer,
  requestedCalls,
} from "./requested-calls.js";

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
}

export interface OpenAIRunOptions extends RunToolCallsOptions {
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
  /** The option `strict` of the tools. @default its last value in this process */
  readonly strict?: boolean | undefined;
}

/**
 * Runs every tool call in a message of the chat API, or in a response of the responses API, in parallel. The results
 * come in the order of the calls; an unknown tool, bad arguments or an unreachable server are reported to the model. An
 * empty list: the model requested no calls. With `suspend`, calls that wait for a person are in `pending`.
 */
export function runOpenAIToolCalls(
  toolport: Toolport,
  message: OpenAIChatAnswer,
  options?: OpenAIRunOptions,
): Promise<OpenAIToolMessage[]>;
export function runOpenAIToolCalls(
  toolport: Toolport,
  response: OpenAIResponsesAnswer,
  options?: OpenAIRunOptions,
): Promise<OpenAIFunctionCallOutput[]>;
export function runOpenAIToolCalls(
  toolport: Toolport,
  message: OpenAIChatAnswer,
  options: WithSuspend<OpenAIRunOptions>,
): Promise<SuspendedRun<OpenAIToolMessage>>;
export function runOpenAIToolCalls(
  toolport: Toolport,
  response: OpenAIResponsesAnswer,
  options: WithSuspend<OpenAIRunOptions>,
): Promise<SuspendedRun<OpenAIFunctionCallOutput>>;
export async function runOpenAIToolCalls(
  toolport: Toolport,
  answer: OpenAIChatAnswer | OpenAIResponsesAnswer,
  options: OpenAIRunOptions | WithSuspend<OpenAIRunOptions> = {},
): Promise<unknown> {
  const run = { ...options, targets: targetsOf(options) };
  return runAndFormat(toolport, requestedCalls(answer), run, formatOf(options));
}

/** How results are converted, and the options of `resume()`. */
export type OpenAIResumeOptions = Omit<OpenAIContentRules, "strictContent"> & ResumeOptions;

/**
 * Continues the waiting calls of a run that have an answer. Their results are inserted at the place of their calls. When `pending` is empty,
 * append `messages` to the conversation.
 *
 * @param answers what the user decided, by the token of the call
 * @example
 * ```ts
 * let run = await runOpenAIToolCalls(toolport, message, { suspend: true });
 * while (run.pending.length > 0) run = await resumeOpenAIToolCalls(toolport, run, await askUser(run.pending));
 * messages.push(...run.messages);
 * ```
 */
export function resumeOpenAIToolCalls<Message extends OpenAIResult>(
  toolport: Toolport,
  run: SuspendedRun<Message>,
  answers: ResumeAnswers,
  options: OpenAIResumeOptions = {},
): Promise<ResumedRun<Message>> {
  const format = formatOf({ ...options, strictContent: false });
  return resumeRun(toolport, run, { answers, options, format }) as Promise<ResumedRun<Message>>;
}

type OpenAIContentRules = Pick<OpenAIRunOptions, "media" | "audio" | keyof ContentOptions>;
const targetsOf = ({ strict }: Pick<OpenAIRunOptions, "strict">): SchemaTarget[] =>
  strict === undefined ? ["openai", "openai-strict"] : [strict ? "openai-strict" : "openai"];

type OpenAIResult = OpenAIToolMessage | OpenAIFunctionCallOutput;

const formatOf = (options: OpenAIContentRules): RunFormat<OpenAIResult, OpenAIResult, OpenAIChatPart> => ({
  convert: (answer) =>
    (answer.call as OpenAICall).form === "item"
      ? { result: toFunctionCallOutput(answer, options), beside: [] }
      : toToolMessage(answer, options),
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
  const texts = answer.parts.map((part) => {
    const file = toMessagePart(part, options);
    if (file === undefined) return textOf(part) ?? noteOrThrow(part, placeOf(answer, "chat", options));
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

function toMessagePart(part: ContentPart, { media, audio }: OpenAIContentRules): OpenAIChatPart | undefined {
  const file = media === "note" ? undefined : toChatFile(part);
  return file ?? (audio === "message" ? toChatAudio(part) : undefined);
}

function toFunctionCallOutput(answer: CallOutcome, options: OpenAIContentRules): OpenAIFunctionCallOutput {
  const mark = errorMark(answer);
  const items = mapParts<OpenAIResponsesPart>(
    answer.parts,
    { text: (text) => ({ type: "input_text", text }), file: toResponsesFile },
    placeOf(answer, "responses", options),
  );
  const texts = items.map((item) => (item.type === "input_text" ? item.text : undefined));
  const isText = texts.every((text) => text !== undefined);
  const marked: OpenAIResponsesPart[] =
    mark === "" ? items : [{ type: "input_text", text: mark.trim() }, ...items];
  return {
    type: "function_call_output",
    call_id: answer.call.id ?? "",
    output: isText ? mark + texts.join("\n") : marked,
  };
}

/** Neither API has a field for failure. */
const errorMark = ({ isError }: CallOutcome): string => (isError ? "Error: " : "");

const placeOf = (
  { server, tool }: CallOutcome,
  api: keyof typeof PROVIDER_NAMES,
  { strictContent = false, onLeftOut }: OpenAIContentRules,
): ContentPlace => ({ provider: PROVIDER_NAMES[api], strict: strictContent, server, tool, onLeftOut });
