/** The stand-in for tool search refuses what the real APIs refuse, also when their own clients send it. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { type SearchDouble, startSearchDouble } from "./tool-search-double.js";

const openAI = ({ url }: SearchDouble) => new OpenAI({ apiKey: "test", baseURL: `${url}/v1`, maxRetries: 0 });
const anthropic = ({ url }: SearchDouble) => new Anthropic({ apiKey: "test", baseURL: url, maxRetries: 0 });

describe("OpenAI", () => {
  const call = { type: "function_call", call_id: "c", name: "a", arguments: "{}" };
  const fn = { type: "function", name: "a", parameters: { type: "object", properties: {} }, strict: false };
  const space = { type: "namespace", name: "n", description: "N", tools: [{ ...fn, defer_loading: true }] };
  const searched = { type: "tool_search_call", call_id: "s", execution: "client", arguments: {} };
  test.each<[string, object]>([
    ["a deferred search tool", { tools: [{ type: "tool_search", defer_loading: true }, space] }],
    [
      "namespace n has defer_loading",
      { tools: [{ type: "tool_search" }, { ...space, defer_loading: true }] },
    ],
    ["deferred tools without a search", { tools: [space] }],
    ["two tools with one name", { tools: [{ type: "tool_search" }, space, fn] }],
    ["no tool output found for function_call", { input: [call] }],
    [
      "no call found for function_call_output",
      { input: [{ type: "function_call_output", call_id: "x", output: "" }] },
    ],
    ["no tool output found for tool_search_call", { input: [searched] }],
    ["lost its caller", { input: [{ ...call, caller: { type: "program", caller_id: "p" } }] }],
    ["needs programmatic_tool_calling", { tools: [{ ...fn, allowed_callers: ["programmatic"] }] }],
  ])("%s", async (problem, body) => {
    await using double = await startSearchDouble(["fine"]);
    const sending = openAI(double).responses.create({ model: "gpt-5.4", input: "Hello", ...body });
    await expect(sending).rejects.toMatchObject({ status: 400, message: expect.stringContaining(problem) });
  });
});

describe("Anthropic", () => {
  const tool = { name: "a", input_schema: { type: "object" } };
  const hidden = { ...tool, name: "b", defer_loading: true };
  const bm25 = { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" };
  const asked = { role: "assistant", content: [{ type: "tool_use", id: "t", name: "a", input: {} }] };
  const answered = (content: object[]) => ({
    messages: [asked, { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content }] }],
  });
  test.each<[string, object]>([
    ["a deferred search tool", { tools: [{ ...bm25, defer_loading: true }, tool] }],
    ["all tools are deferred", { tools: [hidden] }],
    [
      "defer_loading and cache_control",
      { tools: [bm25, { ...hidden, cache_control: { type: "ephemeral" } }] },
    ],
    ["unknown tool reference c", answered([{ type: "tool_reference", tool_name: "c" }])],
    ["t is not answered in its place", { messages: [asked, { role: "user", content: "Hello" }] }],
    [
      "lost its caller",
      { messages: [{ ...asked, content: [{ ...asked.content[0], caller: { type: "direct" } }] }] },
    ],
  ])("%s", async (problem, body) => {
    await using double = await startSearchDouble(["fine"]);
    const request = { model: "claude-test", max_tokens: 1, messages: [{ role: "user", content: "Hello" }] };
    const sending = anthropic(double).messages.create({
      ...request,
      ...body,
    } as Anthropic.MessageCreateParams);
    await expect(sending).rejects.toMatchObject({ status: 400, message: expect.stringContaining(problem) });
  });
});
