/** A model behind an endpoint with OpenAI's chat API. */
import {
  type OpenAIChatTool,
  type OpenAIToolMessage,
  runOpenAIToolCalls,
  toOpenAITools,
} from "../adapters/openai/index.js";
import { ConnectionError } from "../errors/connection-error.js";
import { askEndpoint, type Endpoint } from "./ask-endpoint.js";
import type { Conversation, ConversationParts, Model, RequestedCall } from "./conversation.js";

/** The used fields of a chat message. */
interface ChatMessage {
  readonly role: "assistant";
  readonly content?: string | null;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: "function";
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

export function createOpenAIModel(endpoint: Endpoint, name: string): Model {
  return {
    name,
    host: endpoint.baseUrl.host,
    begin: (parts) => beginChat(endpoint, name, parts),
  };
}

/** Names of the endpoint's models in its order; empty if it does not list them. */
export async function listModels(endpoint: Endpoint, signal?: AbortSignal): Promise<string[]> {
  try {
    const answer = await askEndpoint({ url: endpoint.at("models"), headers: headersOf(endpoint), signal });
    const { data } = answer as { data?: readonly { id?: unknown }[] };
    return (data ?? []).flatMap(({ id }) => (typeof id === "string" ? [id] : []));
  } catch (error) {
    if (signal?.aborted) throw error;
    return [];
  }
}

const headersOf = ({ key }: Endpoint): Record<string, string> =>
  key === undefined ? {} : { authorization: `Bearer ${key}` };

function beginChat(endpoint: Endpoint, model: string, parts: ConversationParts): Conversation {
  const { toolport, task, system } = parts;
  const messages: unknown[] = [
    { role: "system", content: system },
    { role: "user", content: task },
  ];
  let tools: OpenAIChatTool[] = [];
  let last: ChatMessage | undefined;
  return {
    async ask(signal) {
      // List the tools for every request, because they may change while the agent runs.
      tools = await toOpenAITools(toolport);
      const answer = await askEndpoint({
        url: endpoint.at("chat/completions"),
        headers: headersOf(endpoint),
        body: { model, messages, ...(tools.length > 0 && { tools }) },
        signal,
      });
      last = messageOf(answer, endpoint.baseUrl.host);
      messages.push(last);
      return { text: last.content ?? "", calls: callsOf(last) };
    },
    async runCalls(signal) {
      const answers = await runOpenAIToolCalls(toolport, last!, { tools, ...(signal && { signal }) });
      messages.push(...answers);
      const names = new Map(last!.tool_calls?.map(({ id, function: { name } }) => [id, name]));
      return answers.flatMap((message) => {
        if (message.role !== "tool") return [];
        const { content, tool_call_id: id } = message as OpenAIToolMessage & { role: "tool" };
        // The API has no error field: the adapter adds this prefix.
        const isError = content.startsWith("Error: ");
        return [{ name: names.get(id) ?? id, text: content.replace(/^Error: /, ""), isError }];
      });
    },
  };
}

const callsOf = ({ tool_calls: calls = [] }: ChatMessage): RequestedCall[] =>
  calls.map(({ function: { name, arguments: args } }) => ({ name, args: readArguments(args) }));

function messageOf(answer: unknown, host: string): ChatMessage {
  const { choices } = answer as { choices?: readonly { message?: ChatMessage }[] };
  const message = choices?.[0]?.message;
  if (message !== undefined) return message;
  throw new ConnectionError({
    code: "BAD_RESPONSE",
    server: host,
    what: "The model's endpoint sent a response without a message",
    next: "Check that the URL is an OpenAI-compatible endpoint",
  });
}

/** Parses arguments for display only; the adapters parse them themselves. */
function readArguments(text: unknown): unknown {
  if (typeof text !== "string") return text;
  try {
    return text.trim() === "" ? {} : JSON.parse(text);
  } catch {
    return text;
  }
}
