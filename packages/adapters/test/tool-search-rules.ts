/** Checks requests with deferred tools against the rules of OpenAI's and Anthropic's tool search. Each check returns its violations. */
import { isDeepStrictEqual } from "node:util";
import { requestRefusals, type SentTool } from "../../../test/support/provider-refusals.js";
import type { RequestBody } from "./model-double.js";

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const FUNCTION_FIELDS = new Set(
  "type name description parameters strict defer_loading allowed_callers output_schema".split(" "),
);

/** The functions of a request, with the namespace of each. */
export const openAIFunctions = (tools: readonly RequestBody[]): RequestBody[] =>
  tools.flatMap((tool) =>
    tool.type === "namespace"
      ? tool.tools.map((inner: RequestBody) => ({ ...inner, namespace: tool.name }))
      : tool.type === "function"
        ? [tool]
        : [],
  );

/**
 * https://developers.openai.com/api/docs/guides/tools-tool-search and the types of the package.
 *
 * @param callers the callers of the calls that the model made, by the id of the call
 */
export function openAISearchProblems(
  { tools = [], input }: RequestBody,
  callers: ReadonlyMap<string, unknown>,
): string[] {
  const items: RequestBody[] = typeof input === "string" ? [] : input;
  const loaded = items.flatMap((item) => (item.type === "tool_search_output" ? item.tools : []));
  return [
    ...openAIToolListProblems(tools),
    ...openAIFunctions(loaded).flatMap(functionProblems),
    ...items.flatMap((item) => itemProblems(item, items, callers)),
  ];
}

function openAIToolListProblems(tools: readonly RequestBody[]): string[] {
  const functions = openAIFunctions(tools);
  const searches = tools.filter(({ type }) => type === "tool_search");
  const namespaces = tools.filter(({ type }) => type === "namespace");
  const names = [...functions, ...namespaces].map(({ name }) => name);
  const isProgrammable = tools.some(({ type }) => type === "programmatic_tool_calling");
  return [
    ...(new Set(names).size < names.length ? ["two tools with one name"] : []),
    ...functions.flatMap(functionProblems),
    ...searches.flatMap((search) => (search.defer_loading ? ["a deferred search tool"] : [])),
    ...(searches.length > 1 ? ["two searches"] : []),
    ...(searches.length === 0 && functions.some((tool) => tool.defer_loading)
      ? ["deferred tools without a search"]
      : []),
    ...namespaces.flatMap(({ name, description, tools: inner, ...rest }) => [
      ...("defer_loading" in rest ? [`namespace ${name} has defer_loading`] : []),
      ...(NAME.test(name) ? [] : [`name of namespace ${name}`]),
      ...(description ? [] : [`namespace ${name} without a description`]),
      ...(inner.length > 0 ? [] : [`namespace ${name} is empty`]),
    ]),
    ...functions.flatMap(({ name, allowed_callers: allowed = [] }) =>
      allowed.includes("programmatic") && !isProgrammable
        ? [`${name} needs programmatic_tool_calling in tools`]
        : [],
    ),
  ];
}

function functionProblems(tool: RequestBody): string[] {
  const { namespace: _, ...sent } = tool;
  const target = sent.strict === true ? "openai-strict" : "openai";
  const known = ["direct", "programmatic"];
  return [
    ...Object.keys(sent).flatMap((field) => (FUNCTION_FIELDS.has(field) ? [] : [`${sent.name}: ${field}`])),
    ...(sent.allowed_callers?.every((name: string) => known.includes(name)) === false ? ["caller"] : []),
    ...refusalsOf(target, [{ name: sent.name, schema: sent.parameters }]),
  ];
}

const refusalsOf = (target: Parameters<typeof requestRefusals>[0], tools: readonly SentTool[]): string[] =>
  requestRefusals(target, tools).map(({ tool, problem }) => `${tool}: ${problem}`);

const ANSWERS: Readonly<Record<string, string>> = {
  function_call: "function_call_output",
  tool_search_call: "tool_search_output",
};

function itemProblems(
  item: RequestBody,
  items: readonly RequestBody[],
  callers: ReadonlyMap<string, unknown>,
): string[] {
  const { type, call_id: id, execution } = item;
  // Searches of OpenAI itself come with their output and without an id.
  if (typeof id !== "string" || execution === "server") return [];
  const answer = ANSWERS[type];
  if (answer !== undefined) {
    const answers = items.filter((other) => other.type === answer && other.call_id === id);
    return [
      ...(answers.length === 1 ? [] : [`no tool output found for ${type} ${id}`]),
      ...(isDeepStrictEqual(item.caller, callers.get(id)) ? [] : [`the call ${id} lost its caller`]),
    ];
  }
  const asked = Object.keys(ANSWERS).find((call) => ANSWERS[call] === type);
  if (asked === undefined) return [];
  const call = items.find((other) => other.type === asked && other.call_id === id);
  return [
    ...(call === undefined ? [`no call found for ${type} ${id}`] : []),
    ...(isDeepStrictEqual(item.caller, callers.get(id)) ? [] : [`the output of ${id} lost its caller`]),
  ];
}

const isSearchTool = ({ type = "custom" }: RequestBody): boolean => type.startsWith("tool_search_tool_");
const isServerTool = ({ type = "custom" }: RequestBody): boolean => type !== "custom";

/**
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool and …/programmatic-tool-calling
 *
 * @param callers the callers of the calls that the model made, by the id of the call
 */
export function anthropicSearchProblems(
  { tools = [], messages }: RequestBody,
  callers: ReadonlyMap<string, unknown>,
): string[] {
  const names = tools.map(({ name }: RequestBody) => name);
  const deferred = new Set<string>(
    tools.filter((tool: RequestBody) => tool.defer_loading).map(({ name }: RequestBody) => name),
  );
  const custom = tools.filter((tool: RequestBody) => !isServerTool(tool));
  return [
    ...refusalsOf(
      "anthropic",
      custom.map(({ name, input_schema: schema }: RequestBody) => ({ name, schema })),
    ),
    ...(new Set(names).size < names.length ? ["two tools with one name"] : []),
    ...(names.length > 0 && deferred.size === names.length ? ["all tools are deferred"] : []),
    ...tools.flatMap((tool: RequestBody) => [
      ...(isSearchTool(tool) && tool.defer_loading ? ["a deferred search tool"] : []),
      ...(tool.defer_loading && tool.cache_control ? [`${tool.name}: defer_loading and cache_control`] : []),
    ]),
    ...messages.flatMap((message: RequestBody, index: number) =>
      messageProblems(message, messages[index + 1], { deferred, callers }),
    ),
  ];
}

function messageProblems(
  { content }: RequestBody,
  next: RequestBody,
  { deferred, callers }: { deferred: ReadonlySet<string>; callers: ReadonlyMap<string, unknown> },
): string[] {
  if (typeof content === "string") return [];
  const calls = content.filter(({ type }: RequestBody) => type === "tool_use");
  const after: RequestBody[] = next?.content ?? [];
  const isCode = calls.some(({ caller }: RequestBody) => caller && caller.type !== "direct");
  const referred = content.flatMap((block: RequestBody) => [
    ...(Array.isArray(block.content) ? block.content : []),
    ...(block.content?.tool_references ?? []),
  ]);
  return [
    ...calls.flatMap(({ id, caller }: RequestBody, place: number) => [
      ...(after[place]?.tool_use_id === id ? [] : [`${id} is not answered in its place`]),
      ...(isDeepStrictEqual(caller, callers.get(id)) ? [] : [`the call ${id} lost its caller`]),
    ]),
    ...(isCode && after.some(({ type }) => type !== "tool_result")
      ? ["an answer to code holds other blocks than results"]
      : []),
    ...referred.flatMap(({ type, tool_name: name }: RequestBody) =>
      type === "tool_reference" && !deferred.has(name) ? [`unknown tool reference ${name}`] : [],
    ),
    ...content.flatMap((block: RequestBody) =>
      block.is_error && block.content.some(({ type }: RequestBody) => type !== "text")
        ? ["an error that is not text"]
        : [],
    ),
  ];
}
