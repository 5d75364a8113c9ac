/** The log level that servers are asked for: for all, for one, in both eras. */
import { createToolport, type ServerLogEntry, type ToolportOptions } from "toolport";
import { createTestServer, type TestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { waitFor } from "../support/wait-for.js";

const LEVELS = ["debug", "info", "warning", "error"] as const;

/** A server that logs one message at each of four levels. */
const talkative = (era: "legacy" | "modern"): TestServer =>
  createTestServer({
    era,
    capabilities: { logging: {} },
    tools: {
      talk: {
        handler: async (_args, { request }) => {
          for (const level of LEVELS) await request.mcpReq.log(level, `at ${level}`);
          return "said";
        },
      },
    },
  });

async function heard(era: "legacy" | "modern", options: ToolportOptions, own?: "debug" | "error") {
  await using server = talkative(era);
  const logs: ServerLogEntry[] = [];
  await using toolport = createToolport({
    mcpServers: { it: { ...server.memory(), ...(own && { logLevel: own }) } },
    onLog: (entry) => logs.push(entry),
    ...options,
  });
  await toolport.callTool("it__talk");
  return logs.map(({ level }) => level);
}

describe("modern era", () => {
  test("default: from info on, if the port has a reader", async () => {
    expect(await heard("modern", {})).toEqual(["info", "warning", "error"]);
    const lines: string[] = [];
    const say = (line: string) => void lines.push(line);
    await heard("modern", {
      onLog: undefined as never,
      logger: { debug: say, info: say, warn: say, error: say },
    });
    expect(lines.filter((line) => line.includes("at "))).toHaveLength(3);
  });

  test("for all, and for one server", async () => {
    expect(await heard("modern", { logLevel: "error" })).toEqual(["error"]);
    expect(await heard("modern", { logLevel: "error" }, "debug")).toEqual([...LEVELS]);
  });

  test("one call may set another level", async () => {
    await using server = talkative("modern");
    const logs: string[] = [];
    await using toolport = createToolport({
      mcpServers: { it: server.memory() },
      onLog: ({ level }) => logs.push(level),
    });
    const meta = { "io.modelcontextprotocol/logLevel": "error" };
    await toolport.callTool("it__talk", {}, { meta });
    expect(logs).toEqual(["error"]);
  });
});

describe("legacy era", () => {
  test("default: the server chooses", async () => {
    expect(await heard("legacy", {})).toEqual([...LEVELS]);
  });

  test("for all, and for one server", async () => {
    expect(await heard("legacy", { logLevel: "warning" })).toEqual(["warning", "error"]);
    expect(await heard("legacy", { logLevel: "warning" }, "error")).toEqual(["error"]);
  });

  test("again after a reconnect", async () => {
    await using server = talkative("legacy");
    const stdio = await server.stdio();
    const logs: string[] = [];
    await using toolport = createToolport({
      mcpServers: { it: stdio.entry },
      logLevel: "error",
      onLog: ({ level }) => logs.push(level),
    });
    await toolport.connect();
    const ready = new Promise<void>((resolve) => {
      toolport.on("state", ({ to }) => to === "ready" && resolve());
    });
    stdio.dropConnections();
    await ready;
    await toolport.callTool("it__talk");
    await waitFor(() => logs.length > 0);
    expect(logs).toEqual(["error"]);
  });
});

test("refuses an unknown level", () => {
  expect(() => createToolport({ logLevel: "loud" as never })).toThrow(/logLevel/);
  expect(() => createToolport({ mcpServers: { it: { command: "x", logLevel: "loud" as never } } })).toThrow(
    /logLevel/,
  );
});
