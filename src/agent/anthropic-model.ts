/** A model behind an endpoint with Anthropic's messages API. */
import { type AnthropicTool, runAnthropicToolCalls, toAnthropicTools } from "../adapters/anthropic/index.js";
import { ConnectionError } from "../errors/connection-error.js";
import { askEndpoint, type Endpoint } from "./ask-endpoint.js";
import type { Conversation, ConversationParts, Model } from "./conversation.js";

type Block =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: unknown };

const API_VERSION = "2023-06-01";
const MAX_TOKENS = 4_096;

export function createAnthropicModel(endpoint: Endpoint, name: string): Model {
  return {
    name,
    host: endpoint.baseUrl.host,
    begin: (parts) => beginMessages(endpoint, name, parts),
  };
}

function beginMessages(endpoint: Endpoint, model: string, parts: ConversationParts): Conversation {
  const { toolport, task, system } = parts;
  const messages: unknown[] = [{ role: "user", content: task }];
  let tools: AnthropicTool[] = [];
  let content: readonly Block[] = [];
  return {
    async ask(signal) {
      // List the tools for every request, because they may change while the agent runs.
      tools = await toAnthropicTools(toolport);
      const answer = await askEndpoint({
        url: endpoint.at("messages"),
        headers: {
          "anthropic-version": API_VERSION,
          ...(endpoint.key !== undefined && { "x-api-key": endpoint.key }),
        },
        body: { model, max_tokens: MAX_TOKENS, system, messages, ...(tools.length > 0 && { tools }) },
        signal,
      });
      content = contentOf(answer, endpoint.baseUrl.host);
      messages.push({ role: "assistant", content });
      const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
      const calls = content.flatMap((block) =>
        block.type === "tool_use" ? [{ name: block.name, args: block.input }] : [],
      );
      return { text, calls };
    },
    async runCalls(signal) {
      const answers = await runAnthropicToolCalls(
        toolport,
        { content },
        { tools, ...(signal && { signal }) },
      );
      messages.push(...answers);
      const names = new Map(
        content.flatMap((block) => (block.type === "tool_use" ? [[block.id, block.name]] : [])),
      );
      return answers.flatMap((message) =>
        message.content.flatMap((block) => {
          if (block.type !== "tool_result") return [];
          const text = block.content.map((part) => (part.type === "text" ? part.text : `(${part.type})`));
          const name = names.get(block.tool_use_id) ?? block.tool_use_id;
          return [{ name, text: text.join("\n"), isError: block.is_error === true }];
        }),
      );
    },
  };
}

function contentOf(answer: unknown, host: string): readonly Block[] {
  const { content } = answer as { content?: unknown };
  if (Array.isArray(content)) return content as Block[];
  throw new ConnectionError({
    code: "BAD_RESPONSE",
    server: host,
    what: "The model's endpoint sent a response without content",
    next: "Check that the URL is an endpoint with Anthropic's messages API",
  });
}
