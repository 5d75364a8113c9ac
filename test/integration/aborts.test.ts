/** Aborts by the caller: the reason passes through, the server is notified, and no listener is left on the signal. */
import { getEventListeners } from "node:events";
import { createToolport } from "toolport";
import { createTestServer, type TestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { usePidFolder } from "../fixtures/stdio-peer.js";
import { checkLeaksAfterEach, waitFor } from "../support/leaks.js";
import { isAlive, waitForExit } from "../support/processes.js";

const REASON = { because: "the caller says so" };

const scratch = usePidFolder();
const { lean } = scratch;
checkLeaksAfterEach();
const left = (signal: AbortSignal) => getEventListeners(signal, "abort").length;

describe("before the first call", () => {
  test.each(["connect", "connectServer", "tools", "callTool", "ping", "client", "discover", "add"] as const)(
    "%s() starts nothing",
    async (method) => {
      await using toolport = createToolport({ mcpServers: { it: lean() } });
      const options = { signal: AbortSignal.abort(REASON) };
      const asked = {
        connect: () => toolport.connect(options),
        connectServer: () => toolport.connectServer("it", options),
        tools: () => toolport.tools(options),
        callTool: () => toolport.callTool("it__echo", {}, options),
        ping: () => toolport.ping("it", options),
        client: () => toolport.client("it", options),
        discover: () => toolport.discover("it", options),
        add: () => toolport.add("it", lean(), options),
      };
      await expect(asked[method]()).rejects.toBe(REASON);
      expect(toolport.snapshot().servers["it"]).toMatchObject({ state: "idle" });
      await toolport.close();
      expect(scratch.pids()).toEqual([]);
      expect(left(options.signal)).toBe(0);
    },
  );

  test("callTool() on a ready server sends nothing", async () => {
    await using server = createTestServer({ tools: { hello: { handler: () => "hello" } } });
    await using toolport = createToolport({ mcpServers: { it: server.memory() } });
    await toolport.connect();
    await expect(toolport.callTool("it__hello", {}, { signal: AbortSignal.abort(REASON) })).rejects.toBe(
      REASON,
    );
    expect(server.calls).toEqual([]);
  });
});

describe("while a server is being connected", () => {
  test("the process ends soon, and the server can be used again", async () => {
    await using toolport = createToolport({ mcpServers: { it: lean("--silent") } });
    const abort = new AbortController();
    const asked = toolport.connect({ signal: abort.signal });
    await waitFor(() => scratch.pids().length === 1);
    abort.abort(REASON);
    await expect(asked).rejects.toBe(REASON);
    expect(left(abort.signal)).toBe(0);
    await waitForExit(scratch.pids()[0]!);
    expect(toolport.snapshot().servers["it"]).toMatchObject({ state: "idle" });
    const again = new AbortController();
    const second = toolport.tools({ signal: again.signal });
    await waitFor(() => scratch.pids().length === 2);
    again.abort(REASON);
    await expect(second).rejects.toBe(REASON);
  });

  test("the socket closes soon", async () => {
    await using server = createTestServer({ tools: {} });
    const http = await server.http({ intercept: () => new Promise<never>(() => {}) });
    await using toolport = createToolport({ mcpServers: { it: http.entry } });
    const abort = new AbortController();
    const asked = toolport.callTool("it__any", {}, { signal: abort.signal });
    await waitFor(() => http.requestCount === 1);
    abort.abort(REASON);
    await expect(asked).rejects.toBe(REASON);
    await waitFor(() => http.connectionCount === 0);
    expect(left(abort.signal)).toBe(0);
  });

  test("other callers that wait for the same server are not affected", async () => {
    await using toolport = createToolport({ mcpServers: { it: lean() } });
    const abort = new AbortController();
    const impatient = toolport.connect({ signal: abort.signal });
    const patient = toolport.callTool("it__pid");
    abort.abort(REASON);
    await expect(impatient).rejects.toBe(REASON);
    expect(Number((await patient).text)).toBe(scratch.pids()[0]);
    expect(scratch.pids()).toHaveLength(1);
  });

  test("a wait that times out does not stop the connection attempt", async () => {
    await using toolport = createToolport({ mcpServers: { it: lean() } });
    const report = await toolport.connectServer("it", { timeoutMs: 1 });
    expect(report).toMatchObject({ error: { code: "TIMEOUT", phase: "connect", outcome: "unsent" } });
    expect((await toolport.callTool("it__echo", { text: "hi" })).text).toBe("hi");
    expect(scratch.pids()).toHaveLength(1);
  });
});

test("during a reconnect: the reconnect continues", async () => {
  await using toolport = createToolport({ mcpServers: { it: lean() } });
  const pid = Number((await toolport.callTool("it__pid")).text);
  const lost = new Promise<void>((resolve) =>
    toolport.on("state", ({ to }) => to === "reconnecting" && resolve()),
  );
  process.kill(pid, "SIGKILL");
  await lost;
  const abort = new AbortController();
  const asked = toolport.callTool("it__pid", {}, { signal: abort.signal });
  abort.abort(REASON);
  await expect(asked).rejects.toBe(REASON);
  await waitFor(() => toolport.snapshot().servers["it"]!.state === "ready");
  expect(scratch.pids().filter(isAlive)).toHaveLength(1);
});

/** A server whose only tool reports when it is cancelled. */
function cancellable(era: "legacy" | "modern") {
  let isCancelled = false;
  const server: TestServer = createTestServer({
    era,
    tools: {
      wait: {
        handler: (_args, { signal }) =>
          new Promise((resolve) => {
            signal.addEventListener("abort", () => {
              isCancelled = true;
              resolve("too late");
            });
          }),
      },
      hello: { handler: () => "hello" },
    },
  });
  return { server, isCancelled: () => isCancelled };
}

/** Serves over HTTP and records the method of every message. */
async function recordMethods(server: TestServer) {
  const methods: string[] = [];
  const http = await server.http({
    async intercept(request) {
      const text = await request.clone().text();
      if (text !== "") methods.push((JSON.parse(text) as { method: string }).method);
      return undefined;
    },
  });
  return { entry: http.entry, methods };
}

describe.each(["legacy", "modern"] as const)("during a call, %s era", (era) => {
  test.each(["stdio", "http"] as const)("over %s the server is notified", async (way) => {
    const { server, isCancelled } = cancellable(era);
    await using _ = server;
    const methods: string[] = [];
    const served = way === "http" ? await recordMethods(server) : { ...(await server.stdio()), methods };
    await using toolport = createToolport({ mcpServers: { it: served.entry } });
    await toolport.connect();
    const abort = new AbortController();
    const call = toolport.callTool("it__wait", {}, { signal: abort.signal });
    await waitFor(() => server.calls.length === 1, { intervalMs: 1 });
    expect(left(abort.signal)).toBe(1);
    abort.abort(REASON);
    await expect(call).rejects.toBe(REASON);
    expect(left(abort.signal)).toBe(0);
    await waitFor(isCancelled);
    // The connection stays open.
    expect((await toolport.callTool("it__hello")).text).toBe("hello");
    // The modern protocol cancels by ending the request, the legacy one by a message.
    const wasNotified = served.methods.includes("notifications/cancelled");
    if (way === "http") expect(wasNotified).toBe(era === "legacy");
  });
});

describe("after the answer", () => {
  test.each(["legacy", "modern"] as const)("nothing happens (%s era)", async (era) => {
    const { server, isCancelled } = cancellable(era);
    await using _ = server;
    const { entry, methods } = await recordMethods(server);
    await using toolport = createToolport({ mcpServers: { it: entry } });
    const abort = new AbortController();
    expect((await toolport.callTool("it__hello", {}, { signal: abort.signal })).text).toBe("hello");
    expect(left(abort.signal)).toBe(0);
    abort.abort();
    expect((await toolport.callTool("it__hello")).text).toBe("hello");
    expect(methods).not.toContain("notifications/cancelled");
    expect(isCancelled()).toBe(false);
  });

  test("one signal for a thousand calls collects no listeners and no warnings", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning);
    process.on("warning", onWarning);
    await using server = createTestServer({ tools: { hello: { handler: () => "hello" } } });
    await using toolport = createToolport({ mcpServers: { it: server.memory() } });
    const { signal } = new AbortController();
    for (let round = 0; round < 50; round += 1) {
      await Promise.all(Array.from({ length: 20 }, () => toolport.callTool("it__hello", {}, { signal })));
    }
    expect(left(signal)).toBe(0);
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", onWarning);
    expect(warnings.map(({ message }) => message)).toEqual([]);
  });
});
