/** Runs the calls that an Anthropic model requested, and returns the message to append to the conversation. */
import { partNote } from "../../content/part-note.js";
import type { Toolport } from "../../toolport.js";
import { noteOrThrow, textOf } from "../content-options.js";
import { type CallOutcome, type RequestedCall, type RunToolCallsOptions, runCalls } from "../run-calls.js";
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
 */
export async function runAnthropicToolCalls(
  toolport: Toolport,
  { content }: AnthropicAnswer,
  options: AnthropicRunOptions = {},
): Promise<AnthropicToolResultMessage[]> {
  const calls = requestedCalls(content);
  const answers = await runCalls(toolport, calls, { ...options, targets: ["anthropic"] });
  if (answers.length === 0) return [];
  const results = answers.map((answer) => toToolResult(answer, options));
  // Results must come first in the message.
  return [
    {
      role: "user",
      content: [...results.map(({ result }) => result), ...results.flatMap(({ beside }) => beside)],
    },
  ];
}

const requestedCalls = (content: AnthropicAnswer["content"]): RequestedCall[] =>
  typeof content === "string"
    ? []
    : content
        .filter((block): block is ToolUse => block.type === "tool_use")
        .map(({ id, name, input }) => ({ id, name, args: input }));

/** A `tool_result` with `is_error` may only contain text, so other content follows it in blocks of its own. */
function toToolResult(
  { call, parts, isError, server, tool }: CallOutcome,
  { strictContent = false, onLeftOut }: AnthropicRunOptions,
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
