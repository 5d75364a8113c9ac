/** Runs the calls that an Anthropic model requested, and returns the message to append to the conversation. */
import { partNote, SEARCH_TOOLS_NAME } from "@toolport/core/internal";
import { type ContentOptions, leaveOut, noteOrThrow, textOf } from "../model-content.js";
import type { DeferredOptions } from "../offered-tools.js";
import {
  type CallerOfCall,
  type CallOutcome,
  isProgrammatic,
  type OfferedForms,
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
import { type AnthropicFileBlock, type AnthropicTextBlock, PROVIDER_NAME, toFileBlock } from "./content.js";

/** The relevant fields of a message of the API. */
export interface AnthropicAnswer {
  readonly content: string | readonly { readonly type: string }[];
}

/** The result of one call. */
export interface AnthropicToolResult {
  type: "tool_result";
  tool_use_id: string;
  content: (AnthropicTextBlock | AnthropicFileBlock | AnthropicToolReference)[];
  is_error?: true;
}

/** Loads a deferred tool that a search found. */
export interface AnthropicToolReference {
  type: "tool_reference";
  tool_name: string;
}

/** The message with the results of all calls of the previous message. */
export interface AnthropicToolResultMessage {
  role: "user";
  content: (AnthropicToolResult | AnthropicTextBlock | AnthropicFileBlock)[];
}

/** Options of `runAnthropicToolCalls()`. */
export interface AnthropicRunOptions extends RunToolCallsOptions {
  /**
   * The option `deferred` of the tools. With `"client"`, a call of `search_tools` is answered by references, which load the tools.
   * @default what `tools` show
   */
  readonly deferred?: DeferredOptions["deferred"];
}

interface ToolUse {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly caller?: CallerOfCall | null | undefined;
}

/**
 * Runs every `tool_use` of a message in parallel. One message contains all results, in the order of the calls; an
 * unknown tool, bad arguments or an unreachable server are reported to the model. An empty list: the model requested no calls.
 * With `suspend`, calls that wait for a person are in `pending`.
 *
 * Pass the `tools` of the request: they show how to read the arguments, and which tools a search may load. With tools of
 * `deferred: "client"`, pass their options as well: the selection limits what a search finds.
 */
export function runAnthropicToolCalls(
  toolport: ToolSource,
  message: AnthropicAnswer,
  options?: AnthropicRunOptions,
): Promise<AnthropicToolResultMessage[]>;
export function runAnthropicToolCalls(
  toolport: ToolSource,
  message: AnthropicAnswer,
  options: WithSuspend<AnthropicRunOptions>,
): Promise<SuspendedRun<AnthropicToolResultMessage>>;
export async function runAnthropicToolCalls(
  toolport: ToolSource,
  { content }: AnthropicAnswer,
  options: AnthropicRunOptions | WithSuspend<AnthropicRunOptions> = {},
): Promise<AnthropicToolResultMessage[] | SuspendedRun<AnthropicToolResultMessage>> {
  const calls = requestedCalls(content);
  const { tools, deferred } = options;
  const offered = tools && offeredForms(tools);
  // With the search of Anthropic, the list has deferred tools too, but not this one.
  const isShown = offered?.has(SEARCH_TOOLS_NAME) === true && tools?.some(isDeferred) === true;
  const isClient = deferred === undefined ? isShown : deferred === "client";
  const isSearch = ({ name }: RequestedCall) => isClient && name === SEARCH_TOOLS_NAME;
  const format = formatOf(options, calls.some(isProgrammatic), offered);
  return runAndFormat(toolport, calls, { ...options, offered, isSearch }, format);
}

/** How results are converted, and the options of `resume()`. */
export type AnthropicResumeOptions = ResumeRunOptions<ContentOptions>;

/**
 * Continues the waiting calls of a run that have an answer. Their results are inserted at the place of their calls. When `pending` is empty,
 * append `messages` to the conversation.
 *
 * @param answers what the user decided, by the token of the call
 * @example
 * ```ts
 * let run = await runAnthropicToolCalls(toolport, message, { tools, suspend: true });
 * while (run.pending.length > 0) run = await resumeAnthropicToolCalls(toolport, run, await askUser(run.pending), { tools });
 * messages.push(...run.messages);
 * ```
 */
export function resumeAnthropicToolCalls(
  toolport: ToolSource,
  run: SuspendedRun<AnthropicToolResultMessage>,
  answers: ResumeAnswers,
  options: AnthropicResumeOptions = {},
): Promise<ResumedRun<AnthropicToolResultMessage>> {
  const isResultsOnly = run.pending.some(({ call }) => isProgrammatic(call));
  const format = formatOf({ ...options, strictContent: false }, isResultsOnly);
  const offered = options.tools && offeredForms(options.tools);
  return resumeRun(toolport, run, { answers, options, offered, format });
}

/** The form of the schema of every tool in the list of a request, by name. */
const offeredForms = (tools: readonly object[]): Map<string, "anthropic"> =>
  new Map(tools.flatMap((tool) => ("name" in tool ? [[String(tool.name), "anthropic"]] : [])));

const isDeferred = (tool: object): boolean => "defer_loading" in tool && tool.defer_loading === true;

type Block = AnthropicToolResultMessage["content"][number];

/**
 * @param isResultsOnly nothing may follow the results in the message
 * @param offered the tools of the request; undefined if unknown
 */
const formatOf = (
  options: ContentOptions,
  isResultsOnly: boolean,
  offered?: OfferedForms,
): RunFormat<AnthropicToolResultMessage, AnthropicToolResult, Block> => ({
  convert: (answer) =>
    answer.found === undefined
      ? toToolResult(answer, options, isResultsOnly)
      : { result: toReferences(answer, offered), beside: [] },
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
        .map(({ id, name, input, caller }) => ({ id, name, args: input, ...(caller && { caller }) }));

/** The tools that a search found. The API rejects a reference to a tool that is not in `tools` of the request. */
function toReferences(
  { call, found = [] }: CallOutcome,
  offered: OfferedForms | undefined,
): AnthropicToolResult {
  const references = found
    .filter(({ name }) => offered === undefined || offered.has(name))
    .map(({ name }): AnthropicToolReference => ({ type: "tool_reference", tool_name: name }));
  return {
    type: "tool_result",
    tool_use_id: call.id ?? "",
    content: references.length > 0 ? references : [{ type: "text", text: NOTHING_FOUND }],
  };
}

const NOTHING_FOUND = "Nothing found. Try other words.";

/**
 * A `tool_result` with `is_error` may only contain text, so other content follows it in blocks of its own. Code gets results only: the
 * API rejects other blocks in the message.
 */
function toToolResult(
  { call, parts, isError, server, tool }: CallOutcome,
  { strictContent = false, onLeftOut }: ContentOptions,
  isResultsOnly: boolean,
): { result: AnthropicToolResult; beside: AnthropicToolResultMessage["content"] } {
  const files: AnthropicFileBlock[] = [];
  const content = parts.map((part): AnthropicTextBlock | AnthropicFileBlock => {
    const file = toFileBlock(part);
    if (file !== undefined && !isError) return file;
    const place = { provider: PROVIDER_NAME, strict: strictContent, server, tool, onLeftOut };
    if (file === undefined) return { type: "text", text: textOf(part) ?? noteOrThrow(part, place) };
    if (isResultsOnly) return { type: "text", text: leaveOut(part, place) };
    files.push(file);
    return { type: "text", text: `${partNote(part)} (after the results)` };
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
