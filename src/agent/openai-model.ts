/** A model behind an endpoint that speaks OpenAI's chat API, as most do. */
import { type OpenAIToolMessage, runOpenAIToolCalls, toOpenAITools } from "../adapters/openai/index.js";
import { ConnectionError } from "../errors/connection-error.js";
import { askEndpoint } from "./ask-endpoint.js";
import type { AskedCall, Conversation, ConversationParts, Model } from "./conversation.js";
import type { Endpoint } from "./endpoint.js";
import { readArguments } from "./read-arguments.js";

/** A message of the chat API, as far as it matters here. */
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

/** Names of models that the endpoint knows, the one it lists first in front; none if it does not say. */
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
  let last: ChatMessage | undefined;
  return {
    async ask(signal) {
      // Asked for every time: tools come and go while an agent runs.
      const tools = await toOpenAITools(toolport);
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
    async answer(signal) {
      const answers = await runOpenAIToolCalls(toolport, last!, { ...(signal && { signal }) });
      messages.push(...answers);
      const names = new Map(last!.tool_calls?.map(({ id, function: { name } }) => [id, name]));
      return answers.flatMap((message) => {
        if (message.role !== "tool") return [];
        const { content, tool_call_id: id } = message as OpenAIToolMessage & { role: "tool" };
        // The API has no field for failure; the adapter says it in front.
        const isError = content.startsWith("Error: ");
        return [{ name: names.get(id) ?? id, text: content.replace(/^Error: /, ""), isError }];
      });
    },
  };
}

const callsOf = ({ tool_calls: calls = [] }: ChatMessage): AskedCall[] =>
  calls.map(({ function: { name, arguments: args } }) => ({ name, args: readArguments(args) }));

function messageOf(answer: unknown, host: string): ChatMessage {
  const { choices } = answer as { choices?: readonly { message?: ChatMessage }[] };
  const message = choices?.[0]?.message;
  if (message !== undefined) return message;
  throw new ConnectionError({
    code: "BAD_RESPONSE",
    server: host,
    what: "The model's endpoint answered without a message",
    next: "Check that the URL leads to an OpenAI-compatible endpoint",
  });
}
