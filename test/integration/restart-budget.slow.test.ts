/** `restart.maxAttempts` and `reconnect.maxAttempts` are a maximum, for background attempts and calls together. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  createToolport,
  type ServerEntry,
  type Toolport,
  type ToolportError,
  type ToolportOptions,
} from "toolport";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { usePidFolder } from "../fixtures/stdio-peer.js";
import { failure } from "../support/failure.js";
import { waitFor } from "../support/leaks.js";
import { waitForExit } from "../support/processes.js";
import { startRecordingHttpServer } from "../support/recording-http-server.js";

const processes = usePidFolder();
const tools = { hello: { handler: () => "hello" } };

/** A port with one server, which counts the attempts to connect it. */
function open(entry: ServerEntry, options: Partial<ToolportOptions> = {}) {
  // The breaker would reject most of the calls first.
  const toolport = createToolport({ mcpServers: { it: entry }, breaker: false, retry: false, ...options });
  const seen = { attempts: 0 };
  toolport.on("state", ({ server, to }) => {
    if (server === "it" && to === "connecting") seen.attempts += 1;
  });
  return { toolport, seen };
}

const stateOf = (toolport: Toolport) => toolport.snapshot().servers["it"]!.state;

/** The errors of ten calls, one after the other. */
async function tenCalls(toolport: Toolport, tool: string) {
  const errors: ToolportError[] = [];
  for (let call = 0; call < 10; call += 1)
    errors.push(await failure<ToolportError>(toolport.callTool(`it__${tool}`, {}, { timeoutMs: 10_000 })));
  return errors;
}

const LIMIT = { name: "ConnectionError", code: "RESTART_LIMIT", server: "it", outcome: "unsent" };

describe("a process that always dies", () => {
  test.each([0, 1, 2])(
    "during a call, with maxAttempts: %d, is started that often again",
    async (maxAttempts) => {
      const { toolport } = open({ ...processes.lean(), restart: { maxAttempts, delayMs: 1 } });
      await toolport.connect();
      const errors = await tenCalls(toolport, "crash");
      expect(errors.slice(maxAttempts + 1).map(({ code }) => code)).toEqual(
        Array(9 - maxAttempts).fill("RESTART_LIMIT"),
      );
      expect(errors.at(-1)).toMatchObject({ ...LIMIT, exitCode: 3 });
      expect(errors.at(-1)!.message).toContain('connectServer("it")');
      expect(stateOf(toolport)).toBe("failed");
      expect(processes.pids()).toHaveLength(1 + maxAttempts);
      // The advice of the message works, and begins a new count.
      expect(await toolport.connectServer("it")).toMatchObject({ state: "ready" });
      await tenCalls(toolport, "crash");
      expect(processes.pids()).toHaveLength(2 * (1 + maxAttempts));
      await toolport.connect();
      expect(stateOf(toolport)).toBe("ready");
      await toolport.close();
    },
  );

  test.each([1, 3])(
    "at its start, with maxAttempts: %d, is started that often again",
    async (maxAttempts) => {
      const { toolport } = open({ ...processes.lean("--exit=4"), restart: { maxAttempts, delayMs: 1 } });
      const errors = await tenCalls(toolport, "pid");
      expect(errors[0]).toMatchObject({ code: "SPAWN_FAILED", exitCode: 4 });
      expect(errors.at(-1)).toMatchObject({ ...LIMIT, exitCode: 4, cause: { code: "SPAWN_FAILED" } });
      expect(processes.pids()).toHaveLength(1 + maxAttempts);
      await toolport.close();
    },
  );

  test("at its start, without maxAttempts, is started five times in a minute", async () => {
    const { toolport } = open(processes.lean("--exit=4"));
    const errors = await tenCalls(toolport, "pid");
    expect(errors.at(-1)).toMatchObject({ ...LIMIT, exitCode: 4 });
    // The last attempt may begin as the fourth start and go on as the fifth.
    expect(processes.pids()).toHaveLength(5);
    await toolport.close();
  });

  test("counts when its calls have a fallback", async () => {
    await using other = createTestServer({ tools: { crash: { handler: () => "from the other" } } });
    const it = { ...processes.lean(), restart: { maxAttempts: 1, delayMs: 1 }, fallback: "other" };
    const { toolport } = open(it, { mcpServers: { it, other: other.memory() } });
    await toolport.connect();
    for (let call = 0; call < 10; call += 1) {
      await toolport.callTool("it__crash").catch(() => {});
      await waitFor(() => ["ready", "failed"].includes(stateOf(toolport)));
    }
    expect((await toolport.callTool("it__crash")).text).toBe("from the other");
    expect(processes.pids()).toHaveLength(2);
    await toolport.close();
  });

  test("counts when the health check tries it again", async () => {
    const entry = { ...processes.lean("--exit=4"), restart: { maxAttempts: 2 } };
    const { toolport } = open(entry, { healthCheck: { intervalMs: 20 } });
    await toolport.connect();
    await waitFor(() => processes.pids().length === 3 && stateOf(toolport) === "failed");
    expect(await failure(toolport.callTool("it__pid"))).toMatchObject(LIMIT);
    expect(processes.pids()).toHaveLength(3);
    await toolport.close();
  });

  test("counts for each user alone", async () => {
    const { toolport } = open({ ...processes.lean(), restart: { maxAttempts: 1, delayMs: 1 } });
    await toolport.connect();
    await tenCalls(toolport, "crash");
    const anna = toolport.as("anna");
    expect((await anna.callTool("it__echo", { text: "up" })).text).toBe("up");
    await tenCalls(anna, "crash");
    expect(processes.pids()).toHaveLength(4);
    await toolport.close();
  });
});

test("a server that exits at an unknown request needs two starts, which are one attempt", async () => {
  const log = join(processes.folder, "log");
  const args = ["test/fixtures/servers/stdio-eras.mjs", "--era=legacy", "--unknown=exit", `--log=${log}`];
  const entry = { command: process.execPath, args, restart: { maxAttempts: 1, delayMs: 1 } };
  const starts = () => readFileSync(log, "utf8").match(/ start$/gm)?.length;
  const { toolport } = open(entry);
  const pid = async () => Number((await toolport.callTool("it__pid")).text);
  const first = await pid();
  expect(starts()).toBe(2);
  process.kill(first, "SIGKILL");
  await waitForExit(first);
  const second = await pid();
  expect(starts()).toBe(3);
  process.kill(second, "SIGKILL");
  await waitForExit(second);
  expect(await failure(pid())).toMatchObject(LIMIT);
  expect(starts()).toBe(3);
  await toolport.close();
});

test("closing for idleness and disconnect() are no losses", async () => {
  const { toolport } = open({ ...processes.lean(), restart: { maxAttempts: 0 } }, { idleTimeoutMs: 1 });
  for (let round = 1; round <= 3; round += 1) {
    await toolport.callTool("it__pid");
    await waitFor(() => stateOf(toolport) === "closed");
    expect(processes.pids()).toHaveLength(round);
  }
  await toolport.disconnect("it");
  expect(await failure(toolport.callTool("it__pid"))).toMatchObject({ code: "CLOSED" });
  expect(await toolport.connectServer("it")).toMatchObject({ state: "ready" });
  await toolport.close();
});

describe.each(["sse", "webSocket"] as const)("connections over %s that are short", (kind) => {
  test("count although they were ready", async () => {
    await using server = createTestServer({ era: "legacy", tools });
    const { entry, dropConnections } = await server[kind]();
    const { toolport, seen } = open({ ...entry, reconnect: { maxAttempts: 2, delayMs: 1 } } as ServerEntry);
    toolport.on("state", ({ to }) => to === "ready" && dropConnections());
    await toolport.connect();
    await waitFor(() => stateOf(toolport) === "failed");
    const errors = await tenCalls(toolport, "hello");
    for (const error of errors) expect(error).toMatchObject(LIMIT);
    expect(errors[0]!.message).toContain("reconnect.maxAttempts");
    expect(seen.attempts).toBe(3);
    await toolport.close();
  });
});

test.each(["sse", "webSocket", "http"] as const)(
  "a server over %s that is down is tried once, and maxAttempts more for calls",
  async (kind) => {
    const server = createTestServer({ tools });
    const { entry } = await server[kind]();
    await server.close();
    const { toolport, seen } = open({ ...entry, reconnect: { maxAttempts: 2 } } as ServerEntry);
    const errors = await tenCalls(toolport, "hello");
    expect(errors.slice(0, 3).map(({ code }) => code)).toEqual(Array(3).fill("UNREACHABLE"));
    for (const error of errors.slice(3))
      expect(error).toMatchObject({ ...LIMIT, cause: { code: "UNREACHABLE" } });
    expect(seen.attempts).toBe(3);
    await toolport.close();
  },
);

test("sessions that an HTTP server forgets count, and the call after the last one says so", async () => {
  await using server = createTestServer({ era: "legacy", tools });
  const http = await server.http();
  const { toolport, seen } = open({ ...http.entry, reconnect: { maxAttempts: 1 } } as ServerEntry);
  await toolport.connect();
  await http.forgetSessions();
  expect((await toolport.callTool("it__hello")).text).toBe("hello");
  await http.forgetSessions();
  expect(await failure(toolport.callTool("it__hello"))).toMatchObject({ code: "RESTART_LIMIT" });
  expect(seen.attempts).toBe(2);
  await toolport.close();
});

test("attempts count that the last caller gave up, after a failure", async () => {
  await using server = await startRecordingHttpServer();
  const { toolport, seen } = open({ url: `${server.origin}/mcp`, reconnect: { maxAttempts: 2 } });
  expect(await failure(toolport.callTool("it__hello"))).toMatchObject({ name: "ConnectionError" });
  for (let attempt = 1; attempt <= 2; attempt += 1) {
    const caller = new AbortController();
    const stopListening = toolport.on("state", ({ to }) => to === "connecting" && caller.abort());
    await failure(toolport.callTool("it__hello", {}, { signal: caller.signal }));
    stopListening();
  }
  for (const error of await tenCalls(toolport, "hello")) expect(error).toMatchObject(LIMIT);
  expect(seen.attempts).toBe(3);
  await toolport.close();
});
