/**
 * Results, calls that wait and prompts in the format of the AI SDK, whose three versions have three formats for files; and the waiting
 * calls of messages, which are continued and replaced by their results.
 */

import { ConfigError, sha256 } from "@toolport/base";
import {
  type ContentPart,
  isSuspended,
  type PromptResult,
  type ResumeInput,
  type ResumeOptions,
  type Suspended,
  type ToolResult,
} from "@toolport/core";
import { createFitter, type WithForModel } from "../for-model.js";
import {
  type ContentOptions,
  type ContentPlace,
  type FilePart,
  fileOf,
  isSupportedSomewhere,
  leaveOut,
  mapParts,
  promptMessages,
  type ResultContent,
  resultParts,
} from "../model-content.js";
import { type ResumeOutcome, resumeCall, resumeOptions } from "../run-calls.js";
import type { ToolSource } from "../tool-source.js";

/** Major versions of `ai` that are known. */
export type AiSdkVersion = 5 | 6 | 7;

const PROVIDER_NAME = "The AI SDK";

export type AiSdkOutputPart =
  | { type: "text"; text: string }
  | { type: "media"; data: string; mediaType: string }
  | { type: "image-data"; data: string; mediaType: string }
  | { type: "file-data"; data: string; mediaType: string; filename: string }
  | { type: "file"; data: { type: "data"; data: string }; mediaType: string; filename: string };

/** The output of a tool that the model receives. */
export type AiSdkModelOutput =
  | { type: "text"; value: string }
  | { type: "error-text"; value: string }
  | { type: "content"; value: AiSdkOutputPart[] };

interface ModelOutputOptions extends Pick<AiSdkContentOptions, "media" | "audience"> {
  readonly version: AiSdkVersion;
  /** @default everything fits */
  readonly fitParts?: ((parts: readonly ContentPart[]) => readonly ContentPart[]) | undefined;
}

/** Detects the version by its exports: the package exports no version number. */
export const versionOf = (ai: object): AiSdkVersion =>
  "isStepCount" in ai ? 7 : "ToolLoopAgent" in ai ? 6 : 5;

/** `place`: where parts that are left out are reported; without it nothing throws. */
export function toModelOutput(
  result: ResultContent,
  { version, media, audience, fitParts = (parts) => parts }: ModelOutputOptions,
  place: Omit<ContentPlace, "provider"> = { strict: false },
): AiSdkModelOutput {
  const isError = result.isError === true;
  const values = mapParts<AiSdkOutputPart>(
    fitParts(resultParts(result, audience)),
    {
      provider: PROVIDER_NAME,
      text: (text) => ({ type: "text", text }),
      file: (part) => {
        const file = media === "note" ? undefined : fileForModel(part);
        if (file === undefined) return undefined;
        // An error is text in every version.
        const note = () => leaveOut(part, { provider: PROVIDER_NAME, ...place });
        return isError ? { type: "text", text: note() } : toOutputPart(file, version);
      },
    },
    place,
  );
  const texts = values.map((value) => (value.type === "text" ? value.text : undefined));
  if (!texts.every((text) => text !== undefined)) return { type: "content", value: values };
  return { type: isError ? "error-text" : "text", value: texts.join("\n") };
}

/** The provider behind the AI SDK is unknown here; an image that no provider supports is left out. */
function fileForModel(part: ContentPart): FilePart | undefined {
  const file = fileOf(part);
  return file !== undefined && isSupportedSomewhere(file) ? file : undefined;
}

function toOutputPart(
  { data, mimeType: mediaType, filename }: FilePart,
  version: AiSdkVersion,
): AiSdkOutputPart {
  if (version === 5) return { type: "media", data, mediaType };
  if (version === 7) return { type: "file", data: { type: "data", data }, mediaType, filename };
  return mediaType.startsWith("image/")
    ? { type: "image-data", data, mediaType }
    : { type: "file-data", data, mediaType, filename };
}

/** Options of `toAiSdkContent()`. */
export interface AiSdkContentOptions extends ContentOptions {
  /** Major version of `ai` that receives the content: each one represents files differently. @default 6 */
  readonly version?: AiSdkVersion | undefined;
  /** Images, audio and files: sent to the model (`"content"`), or replaced by a note (`"note"`). @default "content" */
  readonly media?: "content" | "note" | undefined;
}

/**
 * Converts a result of `callTool` or `task.result()`: for `output` of a `tool-result`
 * part, and for `toModelOutput` of your own tool.
 *
 * @example
 * ```ts
 * const result = await toolport.callTool("files__read_image", { path: "a.png" });
 * const part = { type: "tool-result", toolCallId, toolName, output: toAiSdkContent(result) };
 * ```
 */
export function toAiSdkContent(
  result: ResultContent,
  { version = 6, media, audience, strictContent = false, onLeftOut }: AiSdkContentOptions = {},
): AiSdkModelOutput {
  const place = { strict: strictContent, server: result.server, onLeftOut };
  return toModelOutput(result, { version, media, audience }, place);
}

export type AiSdkPromptPart =
  | { type: "text"; text: string }
  | { type: "file"; data: string; mediaType: string; filename: string };

/** A message of a prompt, as the AI SDK takes it. */
export type AiSdkPromptMessage =
  | { role: "user"; content: string | AiSdkPromptPart[] }
  | { role: "assistant"; content: string };

/**
 * Converts a prompt, for `messages` of `generateText` and similar functions. The same for every version.
 *
 * @example
 * ```ts
 * const messages = toAiSdkMessages(await toolport.getPrompt("docs", "review", { file: "a.ts" }));
 * ```
 */
export function toAiSdkMessages(prompt: PromptResult, options: ContentOptions = {}): AiSdkPromptMessage[] {
  const format = {
    provider: PROVIDER_NAME,
    text: (text: string): AiSdkPromptPart => ({ type: "text", text }),
    file: (part: ContentPart): AiSdkPromptPart | undefined => {
      const file = fileForModel(part);
      return file && { type: "file", data: file.data, mediaType: file.mimeType, filename: file.filename };
    },
  };
  return promptMessages(prompt, format, options);
}

/** No provider reads this name in `providerOptions`, so neither it nor its content reaches a model. */
const OWN_OPTIONS = "toolport";

/** The output that stands in the messages until the call is over. */
export interface AiSdkSuspendedOutput {
  type: "text";
  value: string;
  providerOptions: {
    [OWN_OPTIONS]: {
      /** Identifies the call. Derived from its token, which cannot be computed from it. */
      suspended: string;
    };
  };
}

const WAITS_FOR = {
  input: "the answer of the user to a question of the tool",
  approval: "the approval of the user",
  login: "the user to log in",
} as const satisfies Record<Suspended["reason"], string>;

/** What the model reads. It contains no token and none of the questions. */
export async function toSuspendedOutput({ reason, token }: Suspended): Promise<AiSdkSuspendedOutput> {
  return {
    type: "text",
    value: `The call is not finished: it waits for ${WAITS_FOR[reason]}. The result will follow. Do not call the tool again for this.`,
    providerOptions: { [OWN_OPTIONS]: { suspended: await markOf(token) } },
  };
}

/** Another hash than the one under which the store keeps the call. */
const markOf = (token: string): Promise<string> => sha256(`toolport message ${token}`);

/** The mark of a waiting call in the output of a model message; undefined for other outputs. */
function suspendedMark(output: unknown): string | undefined {
  const { providerOptions } = (output ?? {}) as Partial<AiSdkSuspendedOutput>;
  const mark = providerOptions?.[OWN_OPTIONS]?.suspended;
  return typeof mark === "string" ? mark : undefined;
}

/** The steps of a run, as `stopWhen` gets them in every version. */
interface RunSteps {
  readonly steps: readonly { readonly toolResults: readonly { readonly output: unknown }[] }[];
}

/**
 * A condition for `stopWhen`: ends the run after a step in which a call began to wait for a person.
 *
 * @example
 * ```ts
 * const { toolResults, response } = await generateText({
 *   model,
 *   tools: await toAiSdkTools(toolport, { suspend: true }),
 *   stopWhen: [hasSuspended(), stepCountIs(10)],
 *   prompt: "Book a flight to Oslo",
 * });
 * ```
 */
export const hasSuspended =
  () =>
  ({ steps }: RunSteps): boolean =>
    steps.at(-1)?.toolResults.some(({ output }) => isSuspended(output)) ?? false;

/**
 * Inside `try`, because esbuild (and so wrangler) does not bundle an import that it cannot resolve unless the failure is handled.
 *
 * @throws ConfigError if the package is not installed
 */
export async function loadAi(): Promise<typeof import("ai")> {
  try {
    return await import("ai");
  } catch (cause) {
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: "The package `ai`, which the tools require, cannot be loaded",
      next: "Install it: npm install ai",
      cause,
    });
  }
}

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
        version,
        media: options.media,
        audience: options.audience,
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
  const calls = await Promise.all(messages.flatMap(messageParts).map(waitingCall));
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

export interface MessagePart {
  readonly type?: string;
  readonly toolName?: string;
  readonly toolCallId?: string;
  readonly input?: unknown;
  readonly approvalId?: string;
  readonly approved?: boolean;
  readonly state?: string;
  readonly output?: unknown;
}

export const messageParts = ({ content, parts }: AiSdkMessage): readonly MessagePart[] => {
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
  const before = messageParts(message);
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
