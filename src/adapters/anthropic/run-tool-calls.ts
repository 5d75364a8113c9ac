/** Runs the calls that an Anthropic model requested, and returns the message to append to the conversation. */
import { partNote } from "../../content/part-note.js";
import type { ResumeOptions } from "../../execution/suspend/suspension.js";
import type { Toolport } from "../../toolport.js";
import { type ContentOptions, noteOrThrow, textOf } from "../content-options.js";
import {
  type ResumeAnswers,
  type ResumedRun,
  type RunFormat,
  resumeRun,
  runAndFormat,
  type SuspendedRun,
} from "../pending-calls.js";
import type { CallOutcome, RequestedCall, RunToolCallsOptions, WithSuspend } from "../run-calls.js";
import { type AnthropicFileBlock, type AnthropicTextBlock, PROVIDER_NAME, toFileBlock } from "./content.js";

/** The relevant fields of a message of the API. */
export interface AnthropicAnswer {
  readonly content: string | readonly { readonly type: string }[];
}

export interface AnthropicToolResult {
  type: "tool_result";
  tool_use_id: string;
  content: (AnthropicTextBlock | AnthropicFileBlock)[];
  is_error?: true;
}

/** The message with the results of all calls of the previous message. */
export interface AnthropicToolResultMessage {
  role: "user";
  content: (AnthropicToolResult | AnthropicTextBlock | AnthropicFileBlock)[];
}

export interface AnthropicRunOptions extends RunToolCallsOptions {}

interface ToolUse {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/**
 * Runs every `tool_use` of a message in parallel. One message contains all results, in the order of the calls; an
 * unknown tool, bad arguments or an unreachable server are reported to the model. An empty list: the model requested no calls.
 * With `suspend`, calls that wait for a person are in `pending`.
 */
export function runAnthropicToolCalls(
  toolport: Toolport,
  message: AnthropicAnswer,
  options?: AnthropicRunOptions,
): Promise<AnthropicToolResultMessage[]>;
export function runAnthropicToolCalls(
  toolport: Toolport,
  message: AnthropicAnswer,
  options: WithSuspend<AnthropicRunOptions>,
): Promise<SuspendedRun<AnthropicToolResultMessage>>;
export async function runAnthropicToolCalls(
  toolport: Toolport,
  { content }: AnthropicAnswer,
  options: AnthropicRunOptions | WithSuspend<AnthropicRunOptions> = {},
): Promise<AnthropicToolResultMessage[] | SuspendedRun<AnthropicToolResultMessage>> {
  const run = { ...options, targets: ["anthropic"] as const };
  return runAndFormat(toolport, requestedCalls(content), run, formatOf(options));
}

/** How results are converted, and the options of `resume()`. */
export type AnthropicResumeOptions = Omit<ContentOptions, "strictContent"> & ResumeOptions;

/**
 * Continues the waiting calls of a run that have an answer. Their results are inserted at the place of their calls. When `pending` is empty,
 * append `messages` to the conversation.
 *
 * @param answers what the user decided, by the token of the call
 * @example
 * ```ts
 * let run = await runAnthropicToolCalls(toolport, message, { suspend: true });
 * while (run.pending.length > 0) run = await resumeAnthropicToolCalls(toolport, run, await askUser(run.pending));
 * messages.push(...run.messages);
 * ```
 */
export function resumeAnthropicToolCalls(
  toolport: Toolport,
  run: SuspendedRun<AnthropicToolResultMessage>,
  answers: ResumeAnswers,
  options: AnthropicResumeOptions = {},
): Promise<ResumedRun<AnthropicToolResultMessage>> {
  const format = formatOf({ ...options, strictContent: false });
  return resumeRun(toolport, run, { answers, options, format });
}

type Block = AnthropicToolResultMessage["content"][number];

const formatOf = (
  options: ContentOptions,
): RunFormat<AnthropicToolResultMessage, AnthropicToolResult, Block> => ({
  convert: (answer) => toToolResult(answer, options),
  // Results must come first in the message.
  join: (results, beside) =>
    results.length === 0 ? [] : [{ role: "user", content: [...results, ...beside] }],
  split(messages) {
    const blocks = messages.flatMap(({ content }) => content);
    return { results: blocks.filter(isResult), beside: blocks.filter((block) => !isResult(block)) };
  },
});

const isResult = (block: Block): block is AnthropicToolResult => block.type === "tool_result";

const requestedCalls = (content: AnthropicAnswer["content"]): RequestedCall[] =>
  typeof content === "string"
    ? []
    : content
        .filter((block): block is ToolUse => block.type === "tool_use")
        .map(({ id, name, input }) => ({ id, name, args: input }));

/** A `tool_result` with `is_error` may only contain text, so other content follows it in blocks of its own. */
function toToolResult(
  { call, parts, isError, server, tool }: CallOutcome,
  { strictContent = false, onLeftOut }: ContentOptions,
): { result: AnthropicToolResult; beside: AnthropicToolResultMessage["content"] } {
  const files: AnthropicFileBlock[] = [];
  const content = parts.map((part): AnthropicTextBlock | AnthropicFileBlock => {
    const file = toFileBlock(part);
    if (file !== undefined && !isError) return file;
    if (file !== undefined) files.push(file);
    const text =
      file === undefined
        ? (textOf(part) ??
          noteOrThrow(part, { provider: PROVIDER_NAME, strict: strictContent, server, tool, onLeftOut }))
        : `${partNote(part)} (after the results)`;
    return { type: "text", text };
  });
  return {
    result: {
      type: "tool_result",
      tool_use_id: call.id ?? "",
      content,
      ...(isError && { is_error: true as const }),
    },
    beside: files.length === 0 ? [] : [{ type: "text", text: `What ${call.name} answered:` }, ...files],
  };
}
