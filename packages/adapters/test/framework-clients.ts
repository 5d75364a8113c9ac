/** The frameworks' clients for each provider, with a base URL from the test. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { ChatAnthropic } from "@langchain/anthropic";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatOpenAI } from "@langchain/openai";
import { generateText, type ToolSet } from "ai";
import type { Toolport } from "toolport";
import { type AiSdkToolsOptions, toAiSdkTools } from "toolport/ai-sdk";
import { toLangChainTools } from "toolport/langchain";

const apiKey = "test";
const QUESTION = "What can you do?";

export interface FrameworkClient {
  /** Sends the tools in batches; `rename` changes the names that the port gave them. */
  send(toolport: Toolport, options: SendOptions): Promise<void>;
}

export interface SendOptions {
  readonly url: string;
  readonly schema?: NonNullable<AiSdkToolsOptions["schema"]>;
  /** Tools per request. @default all */
  readonly size?: number;
  readonly strict?: boolean;
  readonly rename?: (name: string) => string;
}

const chunks = <Item>(items: readonly Item[], size = items.length): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );

type LangChainModel = ChatOpenAI | ChatAnthropic | ChatGoogleGenerativeAI;

const langChain = (modelAt: (url: string) => LangChainModel): FrameworkClient => ({
  async send(toolport, { url, schema, size, strict, rename = (name) => name }) {
    const tools = await toLangChainTools(toolport, { ...(schema && { schema }), forModel: false });
    for (const tool of tools) tool.name = rename(tool.name);
    for (const some of chunks(tools, size)) {
      const model = modelAt(url) as ChatOpenAI;
      await model.bindTools(some, strict === undefined ? {} : { strict }).invoke(QUESTION);
    }
  },
});

type AiSdkModel = Parameters<typeof generateText>[0]["model"];

const aiSdk = (modelAt: (url: string) => AiSdkModel): FrameworkClient => ({
  async send(toolport, { url, schema, size, rename = (name) => name }) {
    const tools = await toAiSdkTools(toolport, { ...(schema && { schema }), forModel: false });
    for (const some of chunks(Object.entries(tools), size)) {
      const set: ToolSet = Object.fromEntries(some.map(([name, tool]) => [rename(name), tool]));
      await generateText({ model: modelAt(url), prompt: QUESTION, tools: set, maxRetries: 0 });
    }
  },
});

export const CLIENTS = {
  ChatOpenAI: langChain(
    (url) =>
      new ChatOpenAI({ model: "gpt-5", apiKey, maxRetries: 0, configuration: { baseURL: `${url}/v1` } }),
  ),
  ChatAnthropic: langChain(
    (url) => new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey, maxRetries: 0, anthropicApiUrl: url }),
  ),
  ChatGoogleGenerativeAI: langChain(
    (url) => new ChatGoogleGenerativeAI({ model: "gemini-2.5-flash", apiKey, maxRetries: 0, baseUrl: url }),
  ),
  "@ai-sdk/openai": aiSdk((url) => createOpenAI({ apiKey, baseURL: `${url}/v1` })("gpt-5")),
  "@ai-sdk/openai chat": aiSdk((url) => createOpenAI({ apiKey, baseURL: `${url}/v1` }).chat("gpt-5")),
  "@ai-sdk/anthropic": aiSdk((url) => createAnthropic({ apiKey, baseURL: `${url}/v1` })("claude-sonnet-4-5")),
  "@ai-sdk/google": aiSdk((url) =>
    createGoogleGenerativeAI({ apiKey, baseURL: `${url}/v1beta` })("gemini-2.5-flash"),
  ),
} as const satisfies Record<string, FrameworkClient>;
