/** Round after round of connecting, calling and closing: nothing grows. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createToolport, type Toolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { takeLeakSnapshot, waitForNoLeaks } from "../support/leaks.js";

const LEAN = "test/fixtures/servers/stdio-lean.mjs";

/** Warnings of Node and unhandled rejections: none may occur in this file. */
const complaints: string[] = [];
const onWarning = ({ name, message }: Error) => void complaints.push(`${name}: ${message}`);
const onRejection = (reason: unknown) => void complaints.push(`unhandled rejection: ${String(reason)}`);

beforeAll(() => {
  process.on("warning", onWarning);
  process.on("unhandledRejection", onRejection);
});

afterAll(async () => {
  // Node reports both in a later turn of the event loop.
  await new Promise((resolve) => setTimeout(resolve, 20));
  process.off("warning", onWarning);
  process.off("unhandledRejection", onRejection);
  expect(complaints).toEqual([]);
});

/** Runs `rounds` rounds, `parallel` of them at a time. */
async function repeat(rounds: number, parallel: number, round: () => Promise<void>): Promise<void> {
  let left = rounds;
  const worker = async () => {
    while (left-- > 0) await round();
  };
  await Promise.all(Array.from({ length: parallel }, worker));
}

/** MiB held after garbage collection; weak references count until the next turn of the event loop. */
async function heldMib(): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 50));
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed / 1024 / 1024;
}

/** One port for all rounds: each round connects, calls and disconnects. */
async function expectNoGrowth(
  toolport: Toolport,
  { rounds, parallel }: { rounds: number; parallel: number },
): Promise<void> {
  const names = Object.keys(toolport.snapshot().servers);
  const free = [...names];
  const round = async () => {
    const name = free.pop()!;
    const report = await toolport.connectServer(name);
    expect(report.error?.message).toBeUndefined();
    const abort = new AbortController();
    const result = await toolport.callTool(`${name}__echo`, { text: "hi" }, { signal: abort.signal });
    expect(result.text).toBe("hi");
    await toolport.disconnect(name);
    free.push(name);
  };
  // The first rounds load modules and fill caches once.
  await repeat(Math.ceil(rounds / 10), parallel, round);
  const before = takeLeakSnapshot();
  const heldBefore = await heldMib();
  await repeat(rounds, parallel, round);
  await waitForNoLeaks(before);
  expect((await heldMib()) - heldBefore).toBeLessThan(12);
}

describe("nothing grows", () => {
  test("over stdio, in 100 rounds", { timeout: 180_000 }, async () => {
    const before = takeLeakSnapshot();
    const server = { command: process.execPath, args: [LEAN] };
    const names = ["a", "b", "c", "d"];
    const mcpServers = Object.fromEntries(names.map((name) => [name, server]));
    await using toolport = createToolport({ mcpServers });
    await expectNoGrowth(toolport, { rounds: 100, parallel: 4 });
    await toolport.close();
    await waitForNoLeaks(before);
  });

  // A round of the legacy era takes twice as many requests; a thousand in all.
  test.each([
    ["legacy", 250],
    ["modern", 750],
  ] as const)("over HTTP, %s era, in %d rounds", { timeout: 180_000 }, async (era, rounds) => {
    const before = takeLeakSnapshot();
    const server = createTestServer({
      era,
      tools: { echo: { handler: ({ text }: { text?: unknown }) => String(text) } },
    });
    const http = await server.http();
    const toolport = createToolport({ mcpServers: { a: http.entry, b: http.entry } });
    await expectNoGrowth(toolport, { rounds, parallel: 2 });
    // Every round has ended its session.
    expect(http.sessionIds).toEqual([]);
    await toolport.close();
    await server.close();
    await waitForNoLeaks(before);
  });
});

test("a thousand ports, each created, used and closed", { timeout: 180_000 }, async () => {
  await using server = createTestServer({ tools: { echo: { handler: () => "hi" } } });
  const entry = server.memory();
  const round = async () => {
    await using toolport = createToolport({ mcpServers: { it: entry } });
    await toolport.callTool("it__echo");
  };
  await repeat(50, 4, round);
  const before = takeLeakSnapshot();
  const heldBefore = await heldMib();
  await repeat(1_000, 4, round);
  await waitForNoLeaks(before);
  expect((await heldMib()) - heldBefore).toBeLessThan(12);
});
