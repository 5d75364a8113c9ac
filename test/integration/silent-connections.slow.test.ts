/** A request that times out in silence is followed by a ping: a dead server gets a new connection, a busy one does not. */
import { createToolport, type Toolport, type ToolportOptions } from "toolport";
import { toLangChainTools } from "toolport/langchain";
import { afterAll, describe, expect, test, vi } from "vitest";
import { startFaultServer } from "../fixtures/servers/fault-http.js";
import { failure } from "../support/failure.js";
import { takeLeakSnapshot, waitForNoLeaks } from "../support/leaks.js";
import {
  type SingleThreadTransport,
  startSingleThreadServer,
  statsOf,
  TRANSPORTS,
} from "../support/single-thread-server.js";
import { startTcpProxy } from "../support/tcp-proxy.js";
import { waitFor } from "../support/wait-for.js";

// Other test files of this worker may have loaded the modules with the real limit.
vi.hoisted(() => vi.resetModules());
/** The real limit of ten seconds takes too long here. A server that is not blocked answers in time on a busy machine, too. */
vi.mock("../../packages/core/src/connection/session-loss.js", async (original) => ({
  ...(await original<object>()),
  PING_LIMIT_MS: 2_000,
}));
afterAll(() => {
  vi.doUnmock("../../packages/core/src/connection/session-loss.js");
  vi.resetModules();
});

const SHORT = { timeoutMs: 200 };
const LONG = { timeoutMs: 60_000 };
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Closed at the end of the file: the tests wait most of the time, so they run side by side. */
const open: AsyncDisposable[] = [];
afterAll(async () => {
  for (const one of open.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

/** The states of the server from now on. */
function watchStates(toolport: Toolport) {
  const states: string[] = [];
  toolport.on("state", ({ server, to, reason }) => server === "it" && states.push(`${to}: ${reason}`));
  const seen = (state: string) => states.filter((one) => one.startsWith(state)).length;
  const until = (state: string, count = 1) => waitFor(() => seen(state) >= count, { label: state });
  return { states, until };
}

async function start(
  transport: SingleThreadTransport,
  { flags = [], ...options }: Partial<ToolportOptions> & { flags?: string[] } = {},
) {
  const server = await startSingleThreadServer(transport, flags);
  const toolport = createToolport({ mcpServers: { it: server.entry }, retry: false, ...options });
  open.push(server, toolport);
  await toolport.connect();
  return {
    toolport,
    ...watchStates(toolport),
    call: (tool: string, args: Record<string, unknown> = {}, limits: { timeoutMs?: number } = {}) =>
      toolport.callTool(`it__${tool}`, args, limits),
    snapshot: () => toolport.snapshot().servers["it"]!,
  };
}

// Not in parallel, because it checks all processes and sockets.
test("a busy process is ended when its connection is closed meanwhile, and nothing is left", async () => {
  const before = takeLeakSnapshot();
  const { toolport, until, call, snapshot } = await start("stdio");
  const blocked = failure(call("block", { ms: 60_000 }, SHORT));
  const waiting = failure(call("slow", {}, LONG));
  await blocked;
  await until("reconnecting");
  const held = failure(call("stats"));
  await toolport.disconnect("it");
  expect(snapshot().state).toBe("closed");
  expect(await waiting).toMatchObject({ code: "CLOSED", outcome: "unknown" });
  expect(await held).toMatchObject({ code: "CLOSED", outcome: "unsent" });
  await toolport.close();
  await waitForNoLeaks(before);
});

describe.concurrent("a process with one thread that is busy", () => {
  test("continues, and answers each waiting call once", async () => {
    const { toolport, states, until, call, snapshot } = await start("stdio");
    const { pid } = await statsOf(toolport);
    const blocking = failure(call("block", { ms: 6_000 }, SHORT));
    const waiting = call("slow", {}, LONG);
    expect(await blocking).toMatchObject({ code: "TIMEOUT", outcome: "unknown" });
    // The ping gets no answer either: new calls wait, those in flight continue.
    await until("reconnecting");
    expect(snapshot()).toMatchObject({ state: "reconnecting", error: { code: "UNREACHABLE" } });
    const later = call("stats", {}, LONG);
    expect((await waiting).text).toBe("done");
    expect(JSON.parse((await later).text)).toMatchObject({ pid, calls: { block: 1, slow: 1, stats: 2 } });
    expect(states).toEqual(["reconnecting: it does not answer", "ready: it answers again"]);
    expect(snapshot()).toMatchObject({
      state: "ready",
      error: null,
      breaker: { state: "closed", failures: 0 },
    });
  });

  test("is ended when no call is in flight, before the next call starts", async () => {
    const { toolport, states, until, call } = await start("stdio");
    const { pid } = await statsOf(toolport);
    await failure(call("block", { ms: 60_000 }, SHORT));
    await until("reconnecting");
    const next = await statsOf(toolport);
    expect(next.pid).not.toBe(pid);
    expect(next.calls).toEqual({ stats: 1 });
    expect(() => process.kill(pid, 0)).toThrow();
    expect(states).toEqual([
      "reconnecting: it does not answer",
      "connecting: connecting",
      "connected: handshake done",
      "discovering: reading its lists",
      "ready: ready",
    ]);
  });

  test("is ended when the waiting calls have timed out", async () => {
    const { toolport, until, call } = await start("stdio");
    const { pid } = await statsOf(toolport);
    const blocked = failure(call("block", { ms: 60_000 }, SHORT));
    const waiting = failure(call("slow", {}, { timeoutMs: 4_000 }));
    await blocked;
    await until("reconnecting");
    const next = statsOf(toolport);
    expect(await waiting).toMatchObject({ code: "TIMEOUT", phase: "tools/call" });
    expect((await next).pid).not.toBe(pid);
  });

  test("that ends meanwhile is started again", async () => {
    const { toolport, until, call } = await start("stdio");
    const { pid } = await statsOf(toolport);
    const blocked = failure(call("block", { ms: 60_000 }, SHORT));
    const waiting = failure(call("slow", {}, LONG));
    await blocked;
    await until("reconnecting");
    process.kill(pid, "SIGKILL");
    expect(await waiting).toMatchObject({ code: "CLOSED", outcome: "unknown" });
    expect((await statsOf(toolport)).pid).not.toBe(pid);
  });

  test("does not delay a call with a fallback", async () => {
    const server = await startSingleThreadServer("stdio");
    const mcpServers = { it: { ...server.entry, fallback: "other" }, other: server.entry };
    await using toolport = createToolport({ mcpServers, retry: false });
    await toolport.connect();
    const { until } = watchStates(toolport);
    const abort = new AbortController();
    const blocking = failure(toolport.callTool("it__block", { ms: 6_000 }, { signal: abort.signal }));
    const waiting = toolport.callTool("it__slow", {}, LONG);
    expect((await toolport.callTool("it__stats", {}, SHORT)).server).toBe("other");
    await until("reconnecting");
    abort.abort();
    await blocking;
    expect((await toolport.callTool("it__slow")).server).toBe("other");
    expect((await waiting).server).toBe("it");
  });
});

describe.concurrent.each(["stdio", "sse", "websocket"] as const)(
  "an unresponsive server over %s",
  (transport) => {
    test("gets a new connection, and the next call is answered", async () => {
      const { toolport, until, call, snapshot } = await start(transport);
      const before = await statsOf(toolport);
      await call("deafen");
      expect(await failure(call("slow", {}, SHORT))).toMatchObject({ code: "TIMEOUT" });
      await until("reconnecting");
      expect((await call("slow")).text).toBe("done");
      const after = await statsOf(toolport);
      if (transport === "stdio") expect(after.pid).not.toBe(before.pid);
      else expect(after.connections).toBe(before.connections + 1);
      expect(after.calls["slow"]).toBe(1);
      expect(snapshot().state).toBe("ready");
    });

    test("gets a new connection although new calls keep coming", async () => {
      const { call, until } = await start(transport, { breaker: false });
      await call("deafen");
      const ended = new AbortController();
      const callers = Array.from({ length: 4 }, async (_, index) => {
        // A call is in flight at any time.
        await pause(index * 60);
        for (let count = 0; count < 40 && !ended.signal.aborted; count += 1)
          await call("slow", {}, { timeoutMs: 300 }).then(
            () => ended.abort(),
            () => {},
          );
      });
      await Promise.all(callers);
      expect(ended.signal.aborted).toBe(true);
      await until("ready");
    });
  },
);

describe.concurrent.each(["legacy", "modern"] as const)(
  "an unresponsive server over Streamable HTTP, %s",
  (era) => {
    test("gets a new handshake, and the next call is answered", async () => {
      let deaf = false;
      const server = await startFaultServer({ era, before: () => deaf });
      const toolport = createToolport({ mcpServers: { it: server.entry }, retry: false });
      await toolport.connect();
      const ping = era === "modern" ? "server/discover" : "ping";
      const pings = () => server.seen.filter(({ message }) => message?.method === ping).length;
      const before = pings();
      const { states, until } = watchStates(toolport);
      toolport.on("state", ({ to }) => {
        // It answers new connections.
        if (to === "reconnecting") deaf = false;
      });
      deaf = true;
      expect(await failure(toolport.callTool("it__fine", {}, SHORT))).toMatchObject({ code: "TIMEOUT" });
      await until("reconnecting");
      expect(pings()).toBe(before + 1);
      expect((await toolport.callTool("it__fine")).text).toBe("fine");
      expect(states.at(-1)).toBe("ready: ready");
      await toolport.close();
      await server.close();
    });
  },
);

describe.concurrent.each(TRANSPORTS)("a slow tool over %s", (transport) => {
  test("may time out repeatedly without affecting other tools", async () => {
    const { toolport, states, call, snapshot } = await start(transport);
    const { pid } = await statsOf(toolport);
    for (let count = 0; count < 6; count += 1)
      expect(await failure(call("slow", { ms: 60_000 }, { timeoutMs: 60 }))).toMatchObject({
        code: "TIMEOUT",
      });
    expect(snapshot().breaker).toMatchObject({ state: "closed", failures: 0 });
    const after = await statsOf(toolport);
    expect(after.pid).toBe(pid);
    expect(after.pings).toBeGreaterThan(0);
    expect(after.pings).toBeLessThanOrEqual(6);
    expect(states).toEqual([]);
  });

  test("causes one ping when many calls time out at once", async () => {
    const { toolport, call } = await start(transport);
    // Much longer than a busy machine takes to send all of them: a call that times out later may ping again.
    const calls = Array.from({ length: 25 }, () =>
      failure(call("slow", { ms: 60_000 }, { timeoutMs: 3_000 })),
    );
    await Promise.all(calls);
    await toolport.ping("it");
    // The other ping is sent by the test.
    expect((await statsOf(toolport)).pings).toBe(2);
  });
});

test.concurrent("an error is an answer to a ping", async () => {
  const { toolport, states, call } = await start("stdio", { flags: ["--refuse-ping"] });
  const { pid } = await statsOf(toolport);
  await failure(call("slow", { ms: 60_000 }, SHORT));
  await waitFor(async () => (await statsOf(toolport)).pings === 1);
  expect((await statsOf(toolport)).pid).toBe(pid);
  expect(states).toEqual([]);
});

test.concurrent("a late answer to the request proves that the server is alive, even if the ping fails", async () => {
  const { toolport, states, call } = await start("stdio", { flags: ["--ignore-ping"] });
  const { pid } = await statsOf(toolport);
  await failure(call("slow", { ms: 1_200 }, SHORT));
  // The ping has timed out.
  await pause(3_000);
  expect(await statsOf(toolport)).toMatchObject({ pid, pings: 1 });
  expect(states).toEqual([]);
});

test.concurrent("a health check does not end a busy process, and accepts a refused ping", async () => {
  const { toolport, call } = await start("stdio", {
    flags: ["--refuse-ping"],
    healthCheck: { intervalMs: 100 },
  });
  const { pid } = await statsOf(toolport);
  expect((await call("block", { ms: 1_500 })).text).toBe("done");
  await waitFor(async () => (await statsOf(toolport)).pings >= 3);
  expect((await statsOf(toolport)).pid).toBe(pid);
});

test.concurrent("every unanswered ping counts once for the breaker", async () => {
  const { call, snapshot, until } = await start("sse", { flags: ["--deaf"], breaker: { failures: 2 } });
  for (const failures of [1, 2]) {
    await Promise.all(Array.from({ length: 5 }, () => failure(call("slow", {}, SHORT))));
    await until("ready", failures);
    expect(snapshot().breaker).toMatchObject({ failures, state: failures === 1 ? "closed" : "open" });
  }
});

test.concurrent("HTTP+SSE behind a router that drops its connections fails one call", async () => {
  await using server = await startSingleThreadServer("sse");
  await using proxy = await startTcpProxy(server.port);
  const it = { transport: "sse" as const, url: `http://127.0.0.1:${proxy.port}/sse` };
  await using toolport = createToolport({ mcpServers: { it }, retry: false });
  await Promise.all(Array.from({ length: 5 }, () => toolport.callTool("it__slow", { ms: 50 })));
  const { until } = watchStates(toolport);
  proxy.forget("silent");
  expect(await failure(toolport.callTool("it__slow", {}, SHORT))).toMatchObject({ code: "TIMEOUT" });
  await until("reconnecting");
  expect((await toolport.callTool("it__slow", {}, { timeoutMs: 5_000 })).text).toBe("done");
});

/** A legacy server behind a proxy, which makes its event stream half-open: neither side notices, and new connections work. */
async function startHalfOpen() {
  const server = await startSingleThreadServer("sse");
  const proxy = await startTcpProxy(server.port);
  open.push(server, proxy);
  const it = { transport: "sse" as const, url: `http://127.0.0.1:${proxy.port}/sse` };
  const toolport = createToolport({ mcpServers: { it }, retry: false });
  open.push(toolport);
  await toolport.connect();
  return { proxy, toolport, ...watchStates(toolport) };
}

describe.concurrent("a half-open event stream is noticed by the first call that times out", () => {
  test("by the signal of its caller", async () => {
    const { proxy, toolport, until } = await startHalfOpen();
    proxy.forget("silent");
    const signal = AbortSignal.timeout(200);
    expect(await failure(toolport.callTool("it__slow", {}, { signal }))).toMatchObject({
      name: "TimeoutError",
    });
    await until("ready");
    expect((await toolport.callTool("it__slow")).text).toBe("done");
  });

  test("through LangChain's timeout", async () => {
    const { proxy, toolport, until } = await startHalfOpen();
    const tools = await toLangChainTools(toolport);
    const slow = tools.find(({ name }) => name === "it__slow")!;
    proxy.forget("silent");
    await failure(slow.invoke({}, { timeout: 200 }));
    await until("ready");
    expect(await slow.invoke({})).toBe("done");
  });
});
