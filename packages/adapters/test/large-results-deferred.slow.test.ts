/** A deferred tool with a result of 1 MB: the model searches, calls, reads on with read_artifact, and answers. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { ChatAnthropic } from "@langchain/anthropic";
import { ChatOpenAI } from "@langchain/openai";
import { estimateTokens } from "@toolport/base";
import { generateText, stepCountIs, type ToolSet } from "ai";
import { createAgent, providerToolSearchMiddleware } from "langchain";
import type { Toolport } from "toolport";
import { toAiSdkToolSearch, toAiSdkTools } from "toolport/ai-sdk";
import { toLangChainTools } from "toolport/langchain";
import { expect, test } from "vitest";
import { openLargeResults } from "./large-results-scene.js";
import { createSearchDouble, type SearchDouble } from "./search-double.js";
import type { Body, LiveSearchTurn } from "./search-turns.js";

const QUESTION = "Who wrote issue 1234?";

/** Every text of a request, oldest first, without the definitions. */
const textsOf = ({ input, messages }: Body): string => JSON.stringify(input ?? messages);

const SCRIPT: LiveSearchTurn[] = [
  { search: "list_issues" },
  { call: "github__list_issues", args: {} },
  (request) => {
    const [, id] = /read_artifact with \{\\"id\\":\\"([\w-]+)/.exec(textsOf(request)) ?? [];
    const args = { id, find: '"number":1234,', fields: ["number", "user.login"] };
    return { call: "read_artifact", args };
  },
  (request) => `It was ${/user\.login\\":\\"(\w+)/.exec(textsOf(request))?.[1]}`,
];

type Ask = (toolport: Toolport, double: SearchDouble) => Promise<string>;

const withAiSdk =
  (
    provider: "openai" | "anthropic",
    searchOf: (tools: Body, toolport: Toolport) => object,
    mode: "native" | "client",
  ): Ask =>
  async (toolport, { fetch }) => {
    const made = { openai: createOpenAI, anthropic: createAnthropic }[provider]({ apiKey: "test", fetch });
    const tools = {
      ...(await toAiSdkTools(toolport, { deferred: mode })),
      ...(await searchOf(made.tools, toolport)),
    } as ToolSet;
    const model = made("claude-sonnet-4-5");
    const run = { model, tools, stopWhen: stepCountIs(6), prompt: QUESTION, maxRetries: 0 };
    return (await generateText(run)).text;
  };

const withLangChain =
  (modelWith: (fetch: SearchDouble["fetch"]) => ChatOpenAI | ChatAnthropic): Ask =>
  async (toolport, { fetch }) => {
    const agent = createAgent({
      model: modelWith(fetch),
      tools: await toLangChainTools(toolport, { deferred: "native" }),
      middleware: [providerToolSearchMiddleware()],
    });
    const { messages } = await agent.invoke({ messages: [{ role: "user", content: QUESTION }] });
    return messages.at(-1)?.text ?? "";
  };

const ASK: Record<string, Ask> = {
  "AI SDK, OpenAI, native": withAiSdk("openai", (tools) => ({ tool_search: tools.toolSearch() }), "native"),
  "AI SDK, OpenAI, client": withAiSdk(
    "openai",
    async (tools, toolport) => ({ tool_search: tools.toolSearch(await toAiSdkToolSearch(toolport)) }),
    "native",
  ),
  "AI SDK, Anthropic, native": withAiSdk(
    "anthropic",
    (tools) => ({ search: tools.toolSearchBm25_20251119() }),
    "native",
  ),
  "AI SDK, Anthropic, client": withAiSdk("anthropic", () => ({}), "client"),
  "LangChain, OpenAI": withLangChain(
    (fetch) => new ChatOpenAI({ model: "gpt-5.4", apiKey: "test", maxRetries: 0, configuration: { fetch } }),
  ),
  "LangChain, Anthropic": withLangChain(
    (fetch) =>
      new ChatAnthropic({
        model: "claude-sonnet-4-5",
        apiKey: "test",
        maxRetries: 0,
        clientOptions: { fetch },
      }),
  ),
};

test.each(Object.entries(ASK))("%s: search, big result, read_artifact, answer", async (_name, ask) => {
  // Every tool is deferred, so that only the reader and the search are shown.
  await using scene = openLargeResults({ deferTools: true });
  const double = createSearchDouble(SCRIPT);
  expect(await ask(scene.toolport, double)).toBe("It was user2");
  for (const { tools } of double.requests) {
    const readers = tools.filter(({ name }: Body) => name === "read_artifact");
    expect(readers).toHaveLength(1);
    expect(readers[0]).not.toHaveProperty("defer_loading");
  }
  // All messages of the conversation: the search, the calls, the cut result and the page.
  expect(estimateTokens(textsOf(double.requests.at(-1)))).toBeLessThan(2_500);
});
