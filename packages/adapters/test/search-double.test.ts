/** The stand-in for tool search rejects what the providers reject. */
import { expect, test } from "vitest";
import { createSearchDouble } from "./search-double.js";
import type { Body } from "./search-turns.js";

async function send(api: "responses" | "messages" | "chat/completions", body: Body): Promise<string> {
  const { fetch } = createSearchDouble(["Fine"]);
  const url = `https://provider.example/v1/${api}`;
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  return response.ok ? "accepted" : ((await response.json()) as Body).error.message;
}

const plain = { type: "function", name: "a", parameters: {} };
const deferred = { ...plain, name: "b", defer_loading: true };
const search = { type: "tool_search" };
const namespace = { type: "namespace", name: "n", description: "N", tools: [deferred] };
const call = { type: "function_call", call_id: "1", name: "a", arguments: "{}" };
const output = { type: "function_call_output", call_id: "1", output: "" };
const asked = { type: "tool_search_call", call_id: "2", execution: "client", arguments: {} };
const answered = { type: "tool_search_output", call_id: "2", execution: "client", tools: [] };
const caller = { type: "program", caller_id: "p" };

test.each([
  [{ tools: [plain, namespace, search], input: [call, output, asked, answered] }, "accepted"],
  [{ tools: [plain, deferred], input: "" }, "needs a tool_search"],
  [{ tools: [namespace], input: "" }, "needs a tool_search"],
  [{ tools: [plain, { ...search, defer_loading: true }], input: "" }, "defer_loading of tool_search"],
  [{ tools: [{ ...namespace, defer_loading: true }, search], input: "" }, "defer_loading of namespace"],
  [{ tools: [namespace, { ...namespace, tools: [] }, search], input: "" }, "Namespaces must be unique"],
  [{ tools: [namespace, deferred, search], input: "" }, "names must be unique"],
  [{ tools: [], input: [call] }, "No tool output found for function_call 1"],
  [{ tools: [], input: [output] }, "No tool call found for function_call_output 1"],
  [{ tools: [], input: [asked] }, "No tool output found for tool_search_call 2"],
  [{ tools: [], input: [asked, { ...output, call_id: "2" }] }, "No tool call found"],
  [{ tools: [], input: [{ ...call, caller }, output] }, "has lost its caller"],
  [{ tools: [], input: [{ type: "item_reference", id: "x" }] }, "unknown item"],
])("OpenAI: %j: %s", async (body, verdict) => {
  expect(await send("responses", body)).toContain(verdict);
});

const use = { type: "tool_use", id: "1", name: "a", input: {} };
const result = (content: unknown) => ({ type: "tool_result", tool_use_id: "1", content });
const turns = (...contents: unknown[][]) =>
  contents.map((content, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content }));
const bm25 = { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" };
const reference = (tool_name: string) => [{ type: "tool_reference", tool_name }];

test.each([
  [{ tools: [plain, deferred], messages: turns([], [use], [result(reference("b"))]) }, "accepted"],
  [{ tools: [deferred], messages: [] }, "At least one tool"],
  [{ tools: [plain, { ...bm25, defer_loading: true }], messages: [] }, "search tool itself"],
  [{ tools: [plain], messages: turns([], [use], [result(reference("b"))]) }, "Tool reference 'b' not found"],
  [{ tools: [plain], messages: turns([], [use], []) }, "without a tool_result"],
  [{ tools: [plain], messages: turns([result("x")]) }, "has no tool_use"],
  [{ tools: [plain], messages: turns([], [{ type: "server_tool_use", id: "s" }]) }, "has no result"],
  [{ tools: [plain], messages: turns([], [{ ...use, caller }], [result("x")]) }, "has lost its caller"],
])("Anthropic: %j: %s", async (body, verdict) => {
  expect(await send("messages", body)).toContain(verdict);
});

test("the chat API of OpenAI has no tool search", async () => {
  expect(await send("chat/completions", { tools: [] })).toBe("There is no such API");
});
