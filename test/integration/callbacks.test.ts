/** User callbacks that throw or reject are reported, and the call continues. */
import { createToolport, type Logger, type StdioServerEntry } from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../support/wait-for.js";

const stdio: StdioServerEntry = {
  command: process.execPath,
  args: ["test/fixtures/servers/stdio-lean.mjs"],
};

const rejections: unknown[] = [];
const onRejection = (reason: unknown) => void rejections.push(reason);
beforeAll(() => void process.on("unhandledRejection", onRejection));
afterAll(async () => {
  await new Promise((resolve) => setTimeout(resolve, 20));
  process.off("unhandledRejection", onRejection);
  expect(rejections).toEqual([]);
});

/** The ways in which a function can fail. */
const failing: [how: string, fail: () => never][] = [
  [
    "throws",
    () => {
      throw new Error("the user's own");
    },
  ],
  ["rejects", (() => Promise.reject(new Error("the user's own"))) as () => never],
];

function collect(): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const note = (line: string) => void lines.push(line);
  return { lines, logger: { debug: note, info: note, warn: note, error: note } };
}

describe.each(failing)("a function that %s", (_how, fail) => {
  test("as an event listener is reported, and the other listeners are called", async () => {
    const { logger, lines } = collect();
    await using server = createTestServer({ tools: { hello: { handler: () => "hello" } } });
    await using toolport = createToolport({ mcpServers: { it: server.memory() }, logger });
    const heard: string[] = [];
    toolport.on("state", fail);
    toolport.on("tools", fail);
    toolport.on("warning", fail);
    toolport.on("state", ({ to }) => heard.push(to));
    const { servers } = await toolport.connect();
    expect(servers["it"]).toMatchObject({ state: "ready" });
    expect(heard).toEqual(["connecting", "connected", "discovering", "ready"]);
    expect((await toolport.callTool("it__hello")).text).toBe("hello");
    await waitFor(() => lines.filter((line) => line.includes("the user's own")).length >= 5);
  });

  test("as onProgress is reported, and the call succeeds", async () => {
    const { logger, lines } = collect();
    await using toolport = createToolport({ mcpServers: { stdio }, logger });
    const warnings: string[] = [];
    toolport.on("warning", ({ message }) => warnings.push(message));
    const result = await toolport.callTool(
      "stdio__progress",
      { count: 3, everyMs: 10 },
      { onProgress: fail },
    );
    expect(result.text).toBe("done");
    await waitFor(() => warnings.filter((message) => message.includes("the user's own")).length === 3);
    expect(lines.some((line) => line.includes("the user's own"))).toBe(true);
  });

  test("as onLog or toolSpecificationMapper is reported, and the call succeeds", async () => {
    const { logger, lines } = collect();
    const chat: TestTool = {
      async handler(_args, { server: own }) {
        await own.sendLoggingMessage({ level: "info", data: "called" });
        return "hello";
      },
    };
    await using server = createTestServer({
      era: "legacy",
      capabilities: { logging: {} },
      tools: { hello: chat },
    });
    const options = { onLog: fail, toolSpecificationMapper: fail, logger };
    await using toolport = createToolport({ mcpServers: { it: server.memory() }, ...options });
    expect((await toolport.callTool("it__hello")).text).toBe("hello");
    await waitFor(() => lines.some((line) => line.includes("the user's own")));
    expect(lines.some((line) => line.includes("toolSpecificationMapper threw for it/hello"))).toBe(true);
  });

  test("as a logger is ignored", async () => {
    const logger: Logger = { debug: fail, info: fail, warn: fail, error: fail };
    const loud = { ...stdio, logEvents: true, logRequests: true, logResponses: true };
    await using toolport = createToolport({ mcpServers: { loud }, logger });
    toolport.on("state", fail);
    expect((await toolport.callTool("loud__echo", { text: "hi" })).text).toBe("hi");
  });

  test("as headers fails that server's requests and nothing else", async () => {
    await using server = createTestServer({ tools: { hello: { handler: () => "hello" } } });
    const http = await server.http();
    await using toolport = createToolport({
      mcpServers: { bad: { url: http.url, headers: fail }, good: { url: http.url } },
    });
    const { servers } = await toolport.connect();
    expect(servers["bad"]).toMatchObject({ state: "failed", error: { server: "bad" } });
    expect(servers["good"]).toMatchObject({ state: "ready" });
  });

  test("as a transport fails that server and nothing else", async () => {
    await using server = createTestServer({ tools: { hello: { handler: () => "hello" } } });
    await using toolport = createToolport({
      mcpServers: { bad: { transport: fail }, good: server.memory() },
    });
    const { servers } = await toolport.connect();
    expect(servers["bad"]).toMatchObject({ state: "failed", error: { server: "bad" } });
    expect((await toolport.callTool("good__hello")).text).toBe("hello");
  });

  test("as a store loses saved state, and affects nothing else", async () => {
    const store = { get: fail, put: fail, delete: fail, list: fail, lease: fail, watch: fail, close: fail };
    await using toolport = createToolport({ mcpServers: { stdio }, store });
    expect((await toolport.callTool("stdio__echo", { text: "hi" })).text).toBe("hi");
  });

  test("as onServerError is reported, and connect() returns its report", async () => {
    const { logger, lines } = collect();
    const bad = { command: "no-such-program-anywhere" };
    await using toolport = createToolport({ mcpServers: { bad, stdio }, onServerError: fail, logger });
    const { servers } = await toolport.connect();
    expect(servers["bad"]).toMatchObject({ state: "failed" });
    expect(servers["stdio"]).toMatchObject({ state: "ready" });
    await waitFor(() => lines.some((line) => line.includes("the user's own")));
  });
});

test("a listener may close the port during a state event", async () => {
  const toolport = createToolport({ mcpServers: { stdio } });
  let closing: Promise<void> | undefined;
  toolport.on("state", ({ to }) => {
    if (to === "connected") closing = toolport.close();
  });
  const { servers } = await toolport.connect();
  expect(servers["stdio"]).toMatchObject({ state: "closed" });
  await closing;
});
