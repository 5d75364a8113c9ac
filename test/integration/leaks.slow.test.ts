/** Round after round of connecting, calling and closing: nothing grows. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createToolport, type Toolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { takeLeakSnapshot, waitForNoLeaks } from "../support/leaks.js";

const LEAN = "test/fixtures/servers/stdio-lean.mjs";

/** What nobody may see in this file: warnings of Node's, and rejections nobody handled. */
const complaints: string[] = [];
const onWarning = ({ name, message }: Error) => void complaints.push(`${name}: ${message}`);
const onRejection = (reason: unknown) => void complaints.push(`unhandled rejection: ${String(reason)}`);

beforeAll(() => {
  process.on("warning", onWarning);
  process.on("unhandledRejection", onRejection);
});

afterAll(async () => {
  // Both are told in a later turn of the loop.
  await new Promise((resolve) => setTimeout(resolve, 20));
  process.off("warning", onWarning);
  process.off("unhandledRejection", onRejection);
  expect(complaints).toEqual([]);
});

/** Runs `rounds` rounds, `lanes` of them at a time. */
async function repeat(rounds: number, lanes: number, round: () => Promise<void>): Promise<void> {
  let left = rounds;
  const lane = async () => {
    while (left-- > 0) await round();
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** MiB still held after everything that can be let go was let go: weak references count until the loop has turned. */
async function heldMib(): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 50));
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed / 1024 / 1024;
}

/** One port for all rounds: it is asked to connect, to call, and to put its servers down again. */
async function expectNoGrowth(
  toolport: Toolport,
  { rounds, lanes }: { rounds: number; lanes: number },
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
  // The first rounds load modules and fill caches; what they keep is kept once.
  await repeat(Math.ceil(rounds / 10), lanes, round);
  const before = takeLeakSnapshot();
  const heldBefore = await heldMib();
  await repeat(rounds, lanes, round);
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
    await expectNoGrowth(toolport, { rounds: 100, lanes: 4 });
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
    await expectNoGrowth(toolport, { rounds, lanes: 2 });
    // Every round has told the server that it is over.
    expect(http.sessionIds).toEqual([]);
    await toolport.close();
    await server.close();
    await waitForNoLeaks(before);
  });
});

test("a thousand ports, each made, used and closed", { timeout: 180_000 }, async () => {
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
