/** Anthropic's client with Toolport, streaming and not, against a local double. */
import Anthropic from "@anthropic-ai/sdk";
import { runAnthropicToolCalls, toAnthropicTools } from "toolport/anthropic";
import { expect, test } from "vitest";
import { startModelDouble } from "./model-double.js";
import { anthropicProblems } from "./provider-rules.js";
import { AGENT_SCRIPT, openWorkshop, PIXEL } from "./workshop.js";

test.each([false, true])("single and parallel calls, failures and an image (stream: %s)", async (stream) => {
  await using workshop = openWorkshop();
  await using double = await startModelDouble(AGENT_SCRIPT);
  const { toolport } = workshop;
  const client = new Anthropic({ apiKey: "test", baseURL: double.url, maxRetries: 0 });
  const tools = await toAnthropicTools(toolport);
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Do your work" }];
  let last: Anthropic.Message | undefined;
  for (let turn = 0; turn < 10; turn += 1) {
    const request = { model: "claude-test", max_tokens: 1_024, messages: [...messages], tools };
    last = stream
      ? await client.messages.stream(request).finalMessage()
      : await client.messages.create(request);
    messages.push({ role: "assistant", content: last.content as Anthropic.ContentBlockParam[] });
    const answers = await runAnthropicToolCalls(toolport, last, { tools });
    if (answers.length === 0) break;
    messages.push(...answers);
  }
  expect(last?.content).toMatchObject([{ type: "text", text: "All done" }]);
  expect(double.requests).toHaveLength(5);
  expect(double.requests.flatMap(anthropicProblems)).toEqual([]);
  // With read_artifact.
  expect(double.requests[0].tools).toHaveLength(110);
  const results = double.requests
    .at(-1)
    .messages.filter(({ role }: Anthropic.MessageParam) => role === "user")
    .slice(1)
    .map(({ content }: { content: Anthropic.ToolResultBlockParam[] }) =>
      content.map(({ content: blocks, is_error: isError }) => [isError ?? false, blocks]),
    );
  const text = (said: unknown) => [{ type: "text", text: said }];
  expect(results).toEqual([
    [[false, text('{"sum":5}')]],
    [
      [false, text("Ada met the other")],
      [false, text("Bob met the other")],
    ],
    [
      [true, text("The flask broke")],
      [true, text(expect.stringContaining("TOOL_NOT_FOUND"))],
      [true, text(expect.stringContaining("INVALID_ARGUMENTS"))],
    ],
    [
      [
        false,
        [
          ...text("A pixel"),
          { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
        ],
      ],
    ],
  ]);
});

test("ignores blocks of other kinds; without a call there is nothing to append", async () => {
  await using workshop = openWorkshop();
  expect(await runAnthropicToolCalls(workshop.toolport, { content: [{ type: "text" }] })).toEqual([]);
  expect(await runAnthropicToolCalls(workshop.toolport, { content: "Hello" })).toEqual([]);
});
