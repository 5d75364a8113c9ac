/** Common behaviour of the three plain adapters: executed calls, reported errors, and deferred tools. */
import { createToolport, type Toolport, type ToolportError } from "toolport";
import { toAiSdkTools } from "toolport/ai-sdk";
import { type AnthropicRunOptions, runAnthropicToolCalls, toAnthropicTools } from "toolport/anthropic";
import { type GeminiRunOptions, runGeminiToolCalls, toGeminiTools } from "toolport/gemini";
import { type OpenAIRunOptions, runOpenAIToolCalls, toOpenAITools } from "toolport/openai";
import { describe, expect, test } from "vitest";
import { failure } from "../../../test/support/failure.js";
import { openWorkshop } from "./workshop.js";

interface Call {
  name: string;
  args: Record<string, unknown>;
}
interface PlainAdapter {
  names(toolport: Toolport): Promise<string[]>;
  /** The texts of the tool messages. */
  run(
    toolport: Toolport,
    calls: Call[],
    options?: OpenAIRunOptions & AnthropicRunOptions & Omit<GeminiRunOptions, "media">,
  ): Promise<string[]>;
}

const ADAPTERS: Record<string, PlainAdapter> = {
  openai: {
    names: async (toolport) => (await toOpenAITools(toolport)).map((tool) => tool.function.name),
    run: async (toolport, calls, options) => {
      const message = {
        tool_calls: calls.map(({ name, args }, index) => ({
          id: String(index),
          type: "function",
          function: { name, arguments: JSON.stringify(args) },
        })),
      };
      return (await runOpenAIToolCalls(toolport, message, options)).map(({ content }) => String(content));
    },
  },
  anthropic: {
    names: async (toolport) => (await toAnthropicTools(toolport)).map(({ name }) => name),
    run: async (toolport, calls, options) => {
      const content = calls.map(({ name, args }, index) => ({
        type: "tool_use",
        id: String(index),
        name,
        input: args,
      }));
      const [message] = await runAnthropicToolCalls(toolport, { content }, options);
      return (message?.content ?? []).map((block) =>
        JSON.stringify("content" in block ? block.content : block),
      );
    },
  },
  gemini: {
    names: async (toolport) =>
      (await toGeminiTools(toolport)).flatMap((tool) => tool.functionDeclarations).map(({ name }) => name),
    run: async (toolport, calls, { media: _, ...options } = {}) => {
      const parts = calls.map((functionCall) => ({ functionCall }));
      const [content] = await runGeminiToolCalls(toolport, { parts }, options);
      return (content?.parts ?? []).map((part) => JSON.stringify(part));
    },
  },
};

const ADD = { name: "math__add", args: { a: 2, b: 3 } };
const FAIL = { name: "lab__fail", args: {} };
const MINE = { name: "my_own_tool", args: {} };

describe.each(Object.entries(ADAPTERS))("%s", (_name, { names, run }) => {
  test("offers search_tools and call_tool when tools are deferred, and both work", async () => {
    await using workshop = openWorkshop({ deferTools: { alwaysVisible: ["art__picture"] } });
    const { toolport } = workshop;
    expect(await names(toolport)).toEqual(["search_tools", "call_tool", "art__picture", "read_artifact"]);
    const [found] = await run(toolport, [{ name: "search_tools", args: { query: "add two numbers" } }]);
    expect(found).toContain("math__add");
    const inside = { name: "call_tool", args: { name: "math__add", arguments: { a: 2, b: 3 } } };
    const answers = await run(toolport, [inside, ADD, { name: "call_tool", args: {} }]);
    expect(answers[0]).toMatch(/sum\\*":5/);
    // The model may also call a found tool by its name.
    expect(answers[1]).toMatch(/sum\\*":5/);
    expect(answers[2]).toContain("name must be the name of a tool");
  });

  test("runs only offered tools", async () => {
    await using workshop = openWorkshop();
    const { toolport, servers } = workshop;
    const options = { servers: ["math"] };
    const [added, failed] = await run(toolport, [ADD, FAIL], options);
    expect(added).toMatch(/sum\\*":5/);
    expect(failed).toContain("There is no tool named");
    expect(servers.lab.calls).toEqual([]);
  });

  test("leaves the program's own tools to the program", async () => {
    await using workshop = openWorkshop();
    expect(await run(workshop.toolport, [MINE, ADD], { unknownTools: "skip" })).toHaveLength(1);
    expect(await run(workshop.toolport, [MINE], { unknownTools: "skip" })).toEqual([]);
    expect(await run(workshop.toolport, [MINE])).toEqual([expect.stringContaining("TOOL_NOT_FOUND")]);
  });

  test("reports failed calls to the program, which may end the run", async () => {
    await using workshop = openWorkshop();
    const { toolport } = workshop;
    const reported: string[] = [];
    const onError = (error: ToolportError, call: { name: string }) =>
      void reported.push(`${call.name} ${error.code}`);
    await run(toolport, [ADD, MINE, { name: "math__add", args: {} }], { onError });
    expect(reported.sort()).toEqual(["math__add INVALID_ARGUMENTS", "my_own_tool TOOL_NOT_FOUND"]);
    const end = run(toolport, [ADD, MINE], {
      onError: (error) => {
        throw error;
      },
    });
    expect(await failure(end)).toMatchObject({ code: "TOOL_NOT_FOUND" });
  });

  test("ends with the caller's reason after an abort, and notifies the server", async () => {
    await using workshop = openWorkshop();
    const { started, stopped } = workshop.waiting();
    const stop = new AbortController();
    const running = failure<unknown>(
      run(workshop.toolport, [ADD, { name: "lab__wait", args: {} }], { signal: stop.signal }),
    );
    await started;
    stop.abort("enough");
    expect(await running).toBe("enough");
    await stopped;
  });

  test("reports an unreachable server to the model, and answers the other calls", async () => {
    await using workshop = openWorkshop();
    const { servers } = workshop;
    await using toolport = createToolport({
      mcpServers: {
        math: servers.math.memory(),
        lab: servers.lab.memory(),
        gone: { command: "no-such-program" },
      },
    });
    await toolport.tools();
    await servers.lab.close();
    const [added] = await run(toolport, [ADD, FAIL]);
    expect(added).toMatch(/sum\\*":5/);
  });
});

test("the AI SDK gets search_tools and call_tool when tools are deferred", async () => {
  await using workshop = openWorkshop({ deferTools: true });
  const tools = await toAiSdkTools(workshop.toolport);
  expect(Object.keys(tools)).toEqual(["search_tools", "call_tool", "read_artifact"]);
  const execution = { toolCallId: "1", messages: [] };
  const found = await tools["search_tools"]!.execute!({ query: "add two numbers" }, execution);
  expect(found).toMatchObject({ text: expect.stringContaining("math__add") });
  const added = await tools["call_tool"]!.execute!({ name: "math__add", arguments: ADD.args }, execution);
  expect(added).toMatchObject({ structuredContent: { sum: 5 } });
});
