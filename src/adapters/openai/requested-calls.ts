/** Finds the tool calls in responses of OpenAI's APIs. */
import type { CallerOfCall, RequestedCall } from "../run-calls.js";

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

export function requestedCalls(answer: OpenAIChatAnswer | OpenAIResponsesAnswer): OpenAICall[] {
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

function itemCalls(items: readonly OpenAIResponsesItem[]): OpenAICall[] {
  return items.flatMap((item): OpenAICall[] => {
    if (isFunctionCall(item)) {
      const { call_id: id, name, arguments: args, caller } = item;
      return [{ form: "item", id, name, args, ...(caller && { caller }) }];
    }
    // OpenAI answers its own searches; they have no id.
    if (!isSearchCall(item) || item.execution !== "client" || typeof item.call_id !== "string") return [];
    return [{ form: "search", id: item.call_id, name: "tool_search", args: item.arguments }];
  });
}

const isFunctionCall = (item: OpenAIResponsesItem): item is FunctionCallItem => item.type === "function_call";
const isSearchCall = (item: OpenAIResponsesItem): item is SearchCallItem => item.type === "tool_search_call";

interface FunctionCallItem extends OpenAIResponsesItem {
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
  readonly caller?: CallerOfCall | null | undefined;
}

interface SearchCallItem extends OpenAIResponsesItem {
  readonly call_id?: string | null | undefined;
  readonly execution?: string | undefined;
  readonly arguments?: unknown;
}
