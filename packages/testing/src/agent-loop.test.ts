/** A scripted agent with real servers, without a model or a framework. */

import { createToolport } from "@toolport/core";
import { describe, expect, test } from "vitest";
import { createScriptedModel, runAgentLoop } from "./agent-loop.js";
import { createTestServer } from "./create-test-server.js";

const server = () =>
  createTestServer({
    tools: {
      forecast: { handler: ({ city }) => `Rain in ${city}` },
      fail: {
        handler: () => {
          throw new Error("No satellite");
        },
      },
      wait: {
        handler: (_args, { signal }) =>
          new Promise((resolve) => signal.addEventListener("abort", () => resolve("late"), { once: true })),
      },
    },
  });

describe("an agent", () => {
  test("runs calls concurrently, passes failures to the model, and returns its final text", async () => {
    await using weather = server();
    await using toolport = createToolport({ mcpServers: { weather: weather.memory() } });
    const calls = ["Oslo", "Rome"].map((city) => ({ tool: "weather__forecast", args: { city } }));
    const model = createScriptedModel([
      { when: /weather in \w+/, say: { text: "Let me see", calls } },
      { when: "Rain in Oslo\nRain in Rome", say: { calls: [{ tool: "weather__fail" }, { tool: "nope" }] } },
      {
        when: ({ answers }) => answers.every(({ isError }) => isError),
        say: ({ answers, tools }) => `${answers[0]?.text}, ${answers[1]?.error?.code}, ${tools.length} tools`,
      },
    ]);
    const seen: number[] = [];
    const run = await runAgentLoop({
      toolport,
      model,
      prompt: "What is the weather in Oslo?",
      onStep: ({ answers }) => seen.push(answers.length),
    });
    expect(run).toMatchObject({ text: "No satellite, TOOL_NOT_FOUND, 3 tools", endedBy: "answer" });
    expect(seen).toEqual([2, 2, 0]);
    expect(run.steps[0]?.answers[1]).toMatchObject({ text: "Rain in Rome", isError: false });
    expect(weather.calls).toHaveLength(3);
  });

  test("stops after maxSteps turns", async () => {
    await using weather = server();
    await using toolport = createToolport({ mcpServers: { weather: weather.memory() } });
    const model = createScriptedModel([
      { times: 9, say: { text: "Again", calls: [{ tool: "weather__fail" }] } },
    ]);
    const run = await runAgentLoop({ toolport, model, prompt: "Go", maxSteps: 3 });
    expect(run).toMatchObject({ text: "Again", endedBy: "maxSteps" });
    expect(run.steps).toHaveLength(3);
  });

  test("rejects with the reason of an abort", async () => {
    await using weather = server();
    await using toolport = createToolport({ mcpServers: { weather: weather.memory() } });
    await toolport.connect();
    const stop = new AbortController();
    const model = createScriptedModel([{ say: { calls: [{ tool: "weather__wait" }] } }]);
    const running = runAgentLoop({
      toolport,
      model: async (state) => {
        setImmediate(() => stop.abort("enough"));
        return model(state);
      },
      prompt: "Go",
      signal: stop.signal,
    });
    await expect(running).rejects.toBe("enough");
  });

  test("throws if no rule applies", async () => {
    await using toolport = createToolport();
    const model = createScriptedModel([{ when: "hello", say: "hello" }]);
    await expect(runAgentLoop({ toolport, model, prompt: "Good day" })).rejects.toThrow('"Good day"');
    expect(await runAgentLoop({ toolport, model, prompt: "Say hello" })).toMatchObject({ text: "hello" });
  });
});
