/** What models get from Toolport: definitions, results and search answers, in every adapter. */
import { asSchema } from "ai";
import { toAiSdkTools } from "../../packages/toolport/dist/adapters/ai-sdk/index.js";
import {
  runAnthropicToolCalls,
  toAnthropicTools,
} from "../../packages/toolport/dist/adapters/anthropic/index.js";
import { runGeminiToolCalls, toGeminiTools } from "../../packages/toolport/dist/adapters/gemini/index.js";
import { toLangChainTools } from "../../packages/toolport/dist/adapters/langchain/index.js";
import { runOpenAIToolCalls, toOpenAITools } from "../../packages/toolport/dist/adapters/openai/index.js";

const toFunction = ({ name, description, parameters }) => ({
  type: "function",
  function: { name, description, parameters },
});

const isDeferred = (tool) =>
  tool.defer_loading === true ||
  tool.extras?.defer_loading === true ||
  tool.providerOptions?.anthropic?.deferLoading === true;

/** What a model sees of tools that the provider loads on demand: of a namespace its name and description, of other tools nothing. */
const visible = (tools) =>
  tools.flatMap((tool) => {
    if (tool.type === "namespace") {
      const shown = tool.tools.filter((each) => !isDeferred(each));
      return [{ ...tool, tools: shown.length === 0 ? undefined : shown }];
    }
    return isDeferred(tool) ? [] : [tool];
  });

/** Tools as the provider's request has them, or, for frameworks, as their OpenAI packages send them. */
const shownByFramework = (tools, schemaOf) =>
  visible(tools).map((tool) =>
    toFunction({ name: tool.name, description: tool.description, parameters: schemaOf(tool) }),
  );

/** Each adapter: the tools that a model sees, and the message that answers one call. */
export const ADAPTERS = {
  "OpenAI, chat": {
    tools: (port, options) => toOpenAITools(port, { api: "chat", ...options }),
    answer: (port, name) =>
      runOpenAIToolCalls(port, {
        role: "assistant",
        tool_calls: [{ id: "1", type: "function", function: { name, arguments: "{}" } }],
      }),
  },
  "OpenAI, responses": {
    deferred: ["native", "client"],
    tools: async (port, options) => visible(await toOpenAITools(port, { api: "responses", ...options })),
    answer: (port, name) =>
      runOpenAIToolCalls(port, {
        output: [{ type: "function_call", call_id: "1", name, arguments: "{}" }],
      }),
  },
  Anthropic: {
    deferred: ["native", "client"],
    tools: async (port, options) => visible(await toAnthropicTools(port, options)),
    answer: (port, name) =>
      runAnthropicToolCalls(port, { content: [{ type: "tool_use", id: "1", name, input: {} }] }),
  },
  Gemini: {
    tools: (port, options) => toGeminiTools(port, options),
    answer: (port, name) =>
      runGeminiToolCalls(port, { parts: [{ functionCall: { id: "1", name, args: {} } }] }),
  },
  "AI SDK": {
    deferred: ["native"],
    async tools(port, options) {
      const tools = Object.entries(await toAiSdkTools(port, options)).map(([name, tool]) => ({
        ...tool,
        name,
      }));
      return shownByFramework(tools, ({ inputSchema }) => asSchema(inputSchema).jsonSchema);
    },
    async answer(port, name) {
      const input = {};
      const { [name]: tool } = await toAiSdkTools(port);
      const output = await tool.execute(input, { toolCallId: "1", messages: [] });
      return tool.toModelOutput({ toolCallId: "1", input, output });
    },
  },
  LangChain: {
    deferred: ["native"],
    tools: async (port, options) =>
      shownByFramework(await toLangChainTools(port, options), ({ schema }) => schema),
    async answer(port, name) {
      const tool = (await toLangChainTools(port)).find((each) => each.name === name);
      return (await tool.invoke({ type: "tool_call", id: "1", name, args: {} })).content;
    },
  },
};
