/** Agent loops with the clients of all providers and frameworks, for any source of tools. */
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { type Content, GoogleGenAI } from "@google/genai";
import { ChatOpenAI } from "@langchain/openai";
import { generateText, stepCountIs } from "ai";
import { createAgent } from "langchain";
import OpenAI from "openai";
import { toAiSdkTools } from "toolport/ai-sdk";
import { runAnthropicToolCalls, toAnthropicTools } from "toolport/anthropic";
import { runGeminiToolCalls, toGeminiTools } from "toolport/gemini";
import { toLangChainTools } from "toolport/langchain";
import { runOpenAIToolCalls, toOpenAITools } from "toolport/openai";
import type { RequestBody } from "./model-double.js";
import {
  anthropicProblems,
  geminiProblems,
  openAIChatProblems,
  openAIResponsesProblems,
} from "./provider-rules.js";

const apiKey = "test";

interface LoopEnd {
  readonly text: unknown;
  readonly lengths?: readonly number[];
}

export interface Loop {
  /** Returns the final text, and the length of the texts that the program got from the tools, if it gets them. */
  run(toolport: Parameters<typeof toOpenAITools>[0], url: string, prompt: string): Promise<LoopEnd>;
  /** The texts of the results in a request, oldest first. */
  results(request: RequestBody): string[];
  names(request: RequestBody): string[];
  problems(request: RequestBody): string[];
}

const namesOf = (tools: readonly { name?: string; function?: { name: string } }[]) =>
  tools.map((tool) => tool.function?.name ?? tool.name ?? "");
const toolMessages = ({ messages }: RequestBody): string[] =>
  (messages as { role: string; content: string }[]).flatMap(({ role, content }) =>
    role === "tool" ? [content] : [],
  );

export const LOOPS: Record<string, Loop> = {
  "OpenAI chat": {
    async run(toolport, url, prompt) {
      const client = new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries: 0 });
      const tools = await toOpenAITools(toolport);
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: prompt }];
      for (;;) {
        const completion = await client.chat.completions.create({
          model: "gpt-5",
          messages: [...messages],
          tools,
        });
        const { message } = completion.choices[0]!;
        const answers = await runOpenAIToolCalls(toolport, message, { tools });
        if (answers.length === 0) return { text: message.content };
        messages.push(message, ...answers);
      }
    },
    results: toolMessages,
    names: ({ tools }) => namesOf(tools),
    problems: openAIChatProblems,
  },
  "OpenAI responses, strict": {
    async run(toolport, url, prompt) {
      const client = new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries: 0 });
      const tools = await toOpenAITools(toolport, { api: "responses", strict: true });
      const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: prompt }];
      for (;;) {
        const response = await client.responses.create({ model: "gpt-5", input: [...input], tools });
        input.push(...(response.output as OpenAI.Responses.ResponseInput));
        const answers = await runOpenAIToolCalls(toolport, response, { tools });
        if (answers.length === 0) return { text: response.output_text };
        input.push(...answers);
      }
    },
    results: ({ input }) => input.flatMap((item: { output?: string }) => item.output ?? []),
    names: ({ tools }) => namesOf(tools),
    problems: openAIResponsesProblems,
  },
  Anthropic: {
    async run(toolport, url, prompt) {
      const client = new Anthropic({ apiKey, baseURL: url, maxRetries: 0 });
      const tools = await toAnthropicTools(toolport);
      const messages: Anthropic.MessageParam[] = [{ role: "user", content: prompt }];
      for (;;) {
        const request = { model: "claude-sonnet-4-5", max_tokens: 1_000, messages: [...messages], tools };
        const { content } = await client.messages.create(request);
        messages.push({ role: "assistant", content: content as Anthropic.ContentBlockParam[] });
        const answers = await runAnthropicToolCalls(toolport, { content }, { tools });
        if (answers.length === 0) return { text: (content[0] as Anthropic.TextBlock).text };
        messages.push(...answers);
      }
    },
    results: ({ messages }) =>
      messages
        .flatMap(({ content }: Anthropic.MessageParam) => (typeof content === "string" ? [] : content))
        .filter(({ type }: Anthropic.ContentBlockParam) => type === "tool_result")
        .map(({ content }: { content: Anthropic.TextBlockParam[] }) =>
          content.map(({ text }) => text).join("\n"),
        ),
    names: ({ tools }) => namesOf(tools),
    problems: anthropicProblems,
  },
  Gemini: {
    async run(toolport, url, prompt) {
      const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: url } });
      const tools = await toGeminiTools(toolport);
      const contents: Content[] = [{ role: "user", parts: [{ text: prompt }] }];
      for (;;) {
        const request = { model: "gemini-3-pro", contents: [...contents], config: { tools } };
        const content = (await client.models.generateContent(request)).candidates?.[0]?.content;
        const answers = await runGeminiToolCalls(toolport, content!, { tools });
        if (answers.length === 0) return { text: content?.parts?.[0]?.text };
        contents.push(content!, ...answers);
      }
    },
    results: ({ contents }) =>
      contents
        .flatMap(({ parts }: Content) => parts)
        .flatMap(
          (part: { functionResponse?: { response: { output?: string; error?: string } } }) =>
            part.functionResponse?.response.output ?? part.functionResponse?.response.error ?? [],
        ),
    names: ({ tools }) => namesOf(tools[0].functionDeclarations),
    problems: geminiProblems,
  },
  "AI SDK": {
    async run(toolport, url, prompt) {
      const model = createOpenAI({ apiKey, baseURL: `${url}/v1` }).chat("gpt-5");
      const tools = await toAiSdkTools(toolport);
      const { text, steps } = await generateText({ model, tools, stopWhen: stepCountIs(5), prompt });
      const outputs = steps.flatMap(({ toolResults }) =>
        toolResults.map(({ output }) => output as { text: string }),
      );
      return { text, lengths: outputs.map((output) => output.text.length) };
    },
    results: toolMessages,
    names: ({ tools }) => namesOf(tools),
    problems: openAIChatProblems,
  },
  LangChain: {
    async run(toolport, url, prompt) {
      const model = new ChatOpenAI({
        model: "gpt-5",
        apiKey,
        maxRetries: 0,
        configuration: { baseURL: `${url}/v1` },
      });
      const agent = createAgent({ model, tools: await toLangChainTools(toolport) });
      const { messages } = await agent.invoke({ messages: [{ role: "user", content: prompt }] });
      const artifacts = messages.flatMap(
        (message) => (message as { artifact?: { text?: string }[] }).artifact ?? [],
      );
      return { text: messages.at(-1)?.content, lengths: artifacts.map(({ text = "" }) => text.length) };
    },
    results: ({ messages }) =>
      (messages as { role: string; content: string | { text: string }[] }[])
        .filter(({ role }) => role === "tool")
        .map(({ content }) =>
          typeof content === "string" ? content : content.map(({ text }) => text).join("\n"),
        ),
    names: ({ tools }) => namesOf(tools),
    problems: openAIChatProblems,
  },
};
