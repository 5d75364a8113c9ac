/** Programs that wait for a person, in the loops of providers and in the AI SDK: the code mode stands in place of the Toolport. */
import { createToolport, memoryStore } from "toolport";
import { resumeMessages, toAiSdkTools } from "toolport/ai-sdk";
import { resumeAnthropicToolCalls, runAnthropicToolCalls } from "toolport/anthropic";
import { type CodeMode, createCodeMode } from "toolport/code";
import { resumeGeminiToolCalls, runGeminiToolCalls } from "toolport/gemini";
import { resumeOpenAIToolCalls, runOpenAIToolCalls } from "toolport/openai";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";

const PROGRAM = `const paid = await tools.bank.pay({ amount: 5 }); return paid.toUpperCase();`;

function openBank() {
  const paid: unknown[] = [];
  const server = createTestServer({
    tools: {
      pay: {
        inputSchema: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
        handler: ({ amount }) => {
          paid.push(amount);
          return `paid ${amount as number}`;
        },
      },
    },
  });
  const toolport = createToolport({
    mcpServers: { bank: server.memory() },
    store: memoryStore(),
    approve: { when: "always" },
  });
  const code = createCodeMode(toolport);
  return {
    paid,
    code,
    async [Symbol.asyncDispose]() {
      await code.close();
      await toolport.close();
      await server.close();
    },
  };
}

const options = { suspend: { key: "turn-1" } } as const;
type Run = { messages: unknown; pending: readonly { token: string }[] };

const LOOPS: Record<string, (code: CodeMode) => Promise<{ begun: Run; again: Run; end: Run }>> = {
  async OpenAI(code) {
    const call = {
      id: "a",
      type: "function",
      function: { name: "execute", arguments: JSON.stringify({ code: PROGRAM }) },
    };
    const message = { role: "assistant", content: null, tool_calls: [call] } as never;
    const begun = await runOpenAIToolCalls(code, message, options);
    const again = await runOpenAIToolCalls(code, message, options);
    return { begun, again, end: await resumeOpenAIToolCalls(code, begun, answersTo(begun)) };
  },
  async Anthropic(code) {
    const message = {
      content: [{ type: "tool_use", id: "a", name: "execute", input: { code: PROGRAM } }],
    } as never;
    const begun = await runAnthropicToolCalls(code, message, options);
    const again = await runAnthropicToolCalls(code, message, options);
    return { begun, again, end: await resumeAnthropicToolCalls(code, begun, answersTo(begun)) };
  },
  async Gemini(code) {
    const response = {
      parts: [{ functionCall: { id: "a", name: "execute", args: { code: PROGRAM } } }],
    } as never;
    const begun = await runGeminiToolCalls(code, response, options);
    const again = await runGeminiToolCalls(code, response, options);
    return { begun, again, end: await resumeGeminiToolCalls(code, begun, answersTo(begun)) };
  },
};

const answersTo = ({ pending }: Run) =>
  Object.fromEntries(pending.map(({ token }) => [token, { approve: true as const }]));

test.each(Object.keys(LOOPS))(
  "%s: the program waits, is found again by its key, and goes on",
  async (name) => {
    await using bank = openBank();
    const { begun, again, end } = await LOOPS[name]!(bank.code);
    expect(begun.pending).toMatchObject([{ tool: "bank__pay", reason: "approval", args: { amount: 5 } }]);
    expect(again.pending.map(({ token }) => token)).toEqual(begun.pending.map(({ token }) => token));
    expect(end.pending).toEqual([]);
    expect(JSON.stringify(end.messages)).toContain("PAID 5");
    expect(bank.paid).toEqual([5]);
  },
);

test("AI SDK: the output says that the program waits, and resumeMessages puts its result in its place", async () => {
  await using bank = openBank();
  const { execute } = await toAiSdkTools(bank.code, { suspend: true });
  const output = await execute!.execute!(
    { code: PROGRAM } as never,
    { toolCallId: "a", messages: [] } as never,
  );
  const part = { type: "tool-execute", toolCallId: "a", state: "output-available", output };
  const messages = [{ role: "assistant", parts: [part] }] as never;
  const waiting = await resumeMessages(bank.code, messages, {});
  expect(waiting.pending).toMatchObject([{ toolCallId: "a", reason: "approval" }]);
  const answers = Object.fromEntries(waiting.pending.map(({ token }) => [token, { approve: true as const }]));
  const end = await resumeMessages(bank.code, messages, answers);
  expect(end.pending).toEqual([]);
  expect(JSON.stringify(end.messages)).toContain("PAID 5");
  expect(bank.paid).toEqual([5]);
});
