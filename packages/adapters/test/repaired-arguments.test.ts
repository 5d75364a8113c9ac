/** Slightly wrong arguments through the adapters: repaired by default, or handled as the options of the run say. */

import type { Toolport } from "@toolport/core";
import { toAiSdkTools } from "toolport/ai-sdk";
import { runAnthropicToolCalls } from "toolport/anthropic";
import { toLangChainTools } from "toolport/langchain";
import { runOpenAIToolCalls } from "toolport/openai";
import { expect, test } from "vitest";
import { MESSY, openSearch, REPAIRED } from "../../../test/support/search-scene.js";

interface Options {
  checkArguments?: "strict" | "off";
  added?: Record<string, unknown>;
}
type Run = (toolport: Toolport, options: Options) => Promise<unknown>;

const name = "s__search";
const RUNS: Record<string, Run> = {
  openai: async (toolport, options) => {
    const tool_calls = [
      { id: "1", type: "function" as const, function: { name, arguments: JSON.stringify(MESSY) } },
    ];
    return runOpenAIToolCalls(toolport, { role: "assistant", content: null, tool_calls } as never, options);
  },
  anthropic: async (toolport, options) => {
    const content = [{ type: "tool_use" as const, id: "1", name, input: MESSY }];
    return runAnthropicToolCalls(toolport, { role: "assistant", content } as never, options);
  },
  "ai-sdk": async (toolport, options) => {
    const { [name]: tool } = await toAiSdkTools(toolport, options);
    return tool?.execute?.(MESSY as never, { toolCallId: "1", messages: [] } as never);
  },
};

test.each(Object.entries(RUNS))("%s", async (_name, run) => {
  await using scene = await openSearch();
  const answered = JSON.stringify(await run(scene.toolport, {}));
  expect(answered).not.toContain("INVALID_ARGUMENTS");
  const refused = await run(scene.toolport, { checkArguments: "strict" }).then(
    (answer) => JSON.stringify(answer),
    (error: Error) => error.message,
  );
  expect(refused).toContain("$.limit must be an integer, but is a string");
  await run(scene.toolport, { checkArguments: "off", added: { tenant: "acme" } });
  expect(scene.sent()).toEqual([REPAIRED, { ...MESSY, tenant: "acme" }]);
});

test("langchain", async () => {
  await using scene = await openSearch();
  const [tool] = await toLangChainTools(scene.toolport);
  await tool!.invoke(MESSY);
  expect(scene.sent()).toEqual([REPAIRED]);
});
