/** Progress that lies, floods or never ends, and servers that never stop asking for input. */
import type { ToolportOptions } from "toolport";
import { expect } from "vitest";
import { type JsonRpcMethods, startJsonRpcServer } from "../fixtures/servers/http-json-rpc.js";
import { bound, faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";
import { speaksOddly } from "./fault-protocol.js";

faultCase("R09", "progress for unknown tokens", async (harness) => {
  const toolport = harness.open({ it: speaksOddly() });
  const seen: number[] = [];
  const { text } = await toolport.callTool(
    "it__progress",
    { kind: "unknown", count: 100 },
    { onProgress: ({ progress }) => seen.push(progress) },
  );
  expect(text).toBe("100 reports");
  // Progress for its own token is reported, progress for other tokens is not.
  expect(seen).toEqual(Array.from({ length: 100 }, (_, at) => at + 1));
});

faultCase("R09", "progress that falls", async (harness) => {
  const toolport = harness.open({ it: speaksOddly() });
  const seen: number[] = [];
  const { text } = await toolport.callTool(
    "it__progress",
    { kind: "falling", count: 10 },
    { onProgress: ({ progress }) => seen.push(progress) },
  );
  expect(text).toBe("10 reports");
  expect(seen).toHaveLength(10);
});

faultCase(
  "R09",
  "100,000 reports at once: a thousand are passed on, then a hundred a second",
  async (harness) => {
    const toolport = harness.open({ it: speaksOddly() });
    let seen = 0;
    const began = performance.now();
    const { text } = await toolport.callTool(
      "it__progress",
      { kind: "flood", count: 100_000 },
      {
        onProgress() {
          seen += 1;
        },
      },
    );
    const seconds = (performance.now() - began) / 1_000;
    expect(text).toBe("100000 reports");
    expect(seen).toBeGreaterThanOrEqual(1_000);
    expect(seen).toBeLessThanOrEqual(1_000 + 100 * (seconds + 1));
  },
);

faultCase("R09", "endless progress: the call ends at the hard limit", async (harness) => {
  const maxTimeoutMs = bound(2_000, 300_000);
  const toolport = harness.open({ it: speaksOddly() }, { timeoutMs: 1_000, maxTimeoutMs });
  await toolport.connect();
  const began = performance.now();
  const error = await harness.fails(
    toolport.callTool("it__progress", { kind: "ever" }, { onProgress() {} }),
    {
      code: "TIMEOUT",
      server: "it",
      tool: "progress",
      withinMs: maxTimeoutMs + 1_500,
    },
  );
  expect(performance.now() - began).toBeGreaterThanOrEqual(maxTimeoutMs - 50);
  expect(error.next).toContain("maxTimeoutMs");
});

const MAX_ROUNDS = 10;
const form = {
  method: "elicitation/create",
  params: { mode: "form", message: "Who?", requestedSchema: { type: "object", properties: {} } },
};

/** A modern server over HTTP whose only tool gives this answer. */
async function openRounds(
  harness: FaultHarness,
  answer: JsonRpcMethods[string],
  options?: Omit<ToolportOptions, "mcpServers">,
) {
  const server = await startJsonRpcServer({
    "tools/list": () => ({
      resultType: "complete",
      tools: [{ name: "ask", inputSchema: { type: "object" } }],
    }),
    "tools/call": answer,
  });
  harness.atEnd(() => server[Symbol.asyncDispose]());
  const toolport = harness.open({ it: server.entry }, options);
  await toolport.connect();
  const calls = () => server.asked.filter((method) => method === "tools/call").length;
  return { toolport, calls };
}

const refused = { code: "PROTOCOL", server: "it", tool: "ask" } as const;

faultCase("R09", "endless questions: ten rounds", async (harness) => {
  let asked = 0;
  const { toolport, calls } = await openRounds(
    harness,
    () => ({ resultType: "input_required", inputRequests: { who: form } }),
    {
      onElicitation() {
        asked += 1;
        return { action: "decline" };
      },
    },
  );
  await harness.fails(toolport.callTool("it__ask"), { ...refused, withinMs: 2_000 });
  expect(asked).toBe(MAX_ROUNDS);
  expect(calls()).toBe(MAX_ROUNDS + 1);
});

faultCase("R09", "endless requests for more time: ten rounds, with pauses", async (harness) => {
  const { toolport, calls } = await openRounds(harness, () => ({
    resultType: "input_required",
    requestState: "later",
  }));
  await harness.fails(toolport.callTool("it__ask"), { ...refused, withinMs: 4_000 });
  expect(calls()).toBe(MAX_ROUNDS + 1);
});

faultCase("R09", "5 MB of request state: refused, not sent back", async (harness) => {
  const requestState = "s".repeat(5_000_000);
  const { toolport, calls } = await openRounds(harness, () => ({
    resultType: "input_required",
    requestState,
  }));
  const error = await harness.fails(toolport.callTool("it__ask"), { ...refused, withinMs: 1_000 });
  expect(error.message.length).toBeLessThan(1_000);
  expect(calls()).toBe(1);
});

faultCase(
  "R09",
  "a thousand questions in one round: a few reach the user, and the call fails",
  async (harness) => {
    let asked = 0;
    const inputRequests = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`q${at}`, form]));
    const { toolport, calls } = await openRounds(
      harness,
      () => ({ resultType: "input_required", inputRequests }),
      {
        async onElicitation() {
          asked += 1;
          await new Promise((resolve) => setTimeout(resolve, 5));
          return { action: "decline" };
        },
      },
    );
    await harness.fails(toolport.callTool("it__ask"), {
      code: ["OVERLOADED", "PROTOCOL"],
      server: "it",
      withinMs: 2_000,
    });
    expect(asked).toBeLessThanOrEqual(17);
    expect(calls()).toBe(1);
  },
);
