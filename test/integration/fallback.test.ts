/** When a server cannot answer, the call goes to its fallback; a tool that reports failure has answered. */
import {
  type ConnectionError,
  createToolport,
  type ServerEntry,
  type ToolCallError,
  type ToolportOptions,
} from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { waitFor } from "../support/wait-for.js";

const ask = (text: string): Record<string, TestTool> => ({
  ask: { handler: () => text },
  fail: { handler: () => ({ content: [{ type: "text", text: `${text} fails` }], isError: true }) },
});

/** `main` over HTTP, which can be stopped and started again on the same port; `spare` in memory. */
async function primaryAndSpare(options: ToolportOptions & { fallback?: ServerEntry["fallback"] } = {}) {
  const { fallback = "spare", ...rest } = options;
  const spare = createTestServer({ tools: ask("spare") });
  let main = createTestServer({ era: "legacy", tools: ask("main") });
  const http = await main.http();
  const toolport = createToolport({
    mcpServers: { main: { ...http.entry, fallback, reconnect: { delayMs: 30 } }, spare: spare.memory() },
    ...rest,
  });
  await toolport.connect();
  return {
    toolport,
    spare,
    calls: () => main.calls.length,
    stop: () => main.close(),
    async start() {
      main = createTestServer({ era: "legacy", tools: ask("main") });
      await main.http({ port: Number(new URL(http.url).port) });
    },
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await Promise.all([main.close(), spare.close()]);
    },
  };
}

describe("a primary that is dead", () => {
  test("the fallback answers; the primary is used again as soon as it is back", async () => {
    const asked: unknown[] = [];
    await using scene = await primaryAndSpare({
      beforeFallback: ({ server, next, tool, args, error, outcome, context }) => {
        asked.push({ server, next, tool: tool.sourceName, args, code: error.code, outcome, context });
      },
    });
    const { toolport } = scene;
    expect(await toolport.callTool("main__ask")).toMatchObject({ text: "main", server: "main", attempts: 1 });
    await scene.stop();
    const result = await toolport.callTool("main__ask", { a: 1 }, { context: { user: "ada" } });
    expect(result).toMatchObject({ text: "spare", server: "spare", isError: false });
    expect(result.attempts).toBeGreaterThanOrEqual(2);
    expect(asked).toEqual([
      {
        server: { name: "main" },
        next: { name: "spare" },
        tool: "ask",
        args: { a: 1 },
        code: "UNREACHABLE",
        outcome: "unsent",
        context: { user: "ada" },
      },
    ]);
    await scene.start();
    await waitFor(() => toolport.snapshot().servers["main"]?.state === "ready");
    expect(await toolport.callTool("main__ask")).toMatchObject({ text: "main", server: "main", attempts: 1 });
    expect(asked).toHaveLength(1);
  });

  test("also after many calls: the breaker does not block a primary that is back", async () => {
    await using scene = await primaryAndSpare();
    await scene.stop();
    for (let round = 0; round < 8; round += 1)
      expect((await scene.toolport.callTool("main__ask")).server).toBe("spare");
    expect(scene.toolport.snapshot().servers["main"]?.breaker?.state).toBe("open");
    await scene.start();
    await waitFor(() => scene.toolport.snapshot().servers["main"]?.state === "ready");
    expect((await scene.toolport.callTool("main__ask")).server).toBe("main");
    expect(scene.toolport.snapshot().servers["main"]?.breaker?.state).toBe("closed");
  });

  test("while it is down, every call goes to the fallback at once", async () => {
    await using scene = await primaryAndSpare();
    await scene.stop();
    await scene.toolport.callTool("main__ask");
    const results = await Promise.all(Array.from({ length: 50 }, () => scene.toolport.callTool("main__ask")));
    expect(new Set(results.map(({ server }) => server))).toEqual(new Set(["spare"]));
  });

  test("beforeFallback can veto: the call fails with the primary's error, and no other server is called", async () => {
    let asked = 0;
    await using scene = await primaryAndSpare({
      beforeFallback: async () => {
        asked += 1;
        return false;
      },
    });
    await scene.stop();
    expect(await failure(scene.toolport.callTool("main__ask"))).toMatchObject({
      code: "UNREACHABLE",
      server: "main",
      outcome: "unsent",
    });
    expect(asked).toBe(1);
    expect(scene.spare.calls).toHaveLength(0);
  });
});

test("a tool that reports failure has answered: no fallback, no retry", async () => {
  let asked = 0;
  await using scene = await primaryAndSpare({ beforeFallback: () => ++asked });
  const result = await scene.toolport.callTool("main__fail", {}, { idempotent: true });
  expect(result).toMatchObject({ isError: true, text: "main fails", server: "main", attempts: 1 });
  expect(asked).toBe(0);
  expect(scene.calls()).toBe(1);
  expect(scene.spare.calls).toHaveLength(0);
});

/** A primary that may have run the call: it never answers. */
async function hangingPrimary(options: Partial<ToolportOptions>, fallback: ServerEntry["fallback"]) {
  const spare = createTestServer({ tools: ask("spare") });
  const main = createTestServer({ tools: { ask: { handler: () => new Promise<string>(() => {}) } } });
  const toolport = createToolport({
    mcpServers: { main: { ...main.memory(), fallback, timeoutMs: 100 }, spare: spare.memory() },
    ...options,
  });
  return {
    toolport,
    main,
    spare,
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await Promise.all([main.close(), spare.close()]);
    },
  };
}

describe("a primary that may have run the call", () => {
  test("the fallback is called, because the caller allows it; the primary is not called twice", async () => {
    const outcomes: string[] = [];
    await using scene = await hangingPrimary(
      { beforeFallback: ({ outcome }) => void outcomes.push(outcome) },
      "spare",
    );
    expect(await scene.toolport.callTool("main__ask")).toMatchObject({ server: "spare", attempts: 2 });
    expect(outcomes).toEqual(["unknown"]);
    expect(scene.main.calls).toHaveLength(1);
  });

  test('when: "unsent" sends only calls to the fallback that were never sent to the primary', async () => {
    const fallback = { servers: "spare", when: "unsent" } as const;
    await using hanging = await hangingPrimary({}, fallback);
    expect(await failure(hanging.toolport.callTool("main__ask"))).toMatchObject({
      code: "TIMEOUT",
      server: "main",
      outcome: "unknown",
    });
    expect(hanging.spare.calls).toHaveLength(0);
    await using dead = await primaryAndSpare({ fallback });
    await dead.stop();
    expect((await dead.toolport.callTool("main__ask")).server).toBe("spare");
  });
});

describe("the call to the fallback", () => {
  test("uses another tool name, if one is configured", async () => {
    await using main = createTestServer({ tools: ask("main") });
    await using spare = createTestServer({ tools: { request: { handler: ({ q }) => `spare ${q}` } } });
    const http = await main.http();
    await using toolport = createToolport({
      mcpServers: {
        main: { ...http.entry, fallback: { servers: ["spare"], tools: { ask: "request" } } },
        spare: spare.memory(),
      },
    });
    await toolport.connect();
    await main.close();
    const result = await toolport.callTool("main__ask", { q: "?" });
    expect(result).toMatchObject({ text: "spare ?", server: "spare" });
    expect(spare.calls).toMatchObject([{ name: "request", args: { q: "?" } }]);
  });

  test("is checked against the fallback's schema; a fallback that does not accept the arguments is skipped", async () => {
    const picky = {
      type: "object",
      properties: { city: { type: "string" }, country: { type: "string" } },
      required: ["city", "country"],
    };
    await using main = createTestServer({ tools: ask("main") });
    await using spare = createTestServer({ tools: { ask: { inputSchema: picky, handler: () => "spare" } } });
    await using last = createTestServer({ tools: ask("last") });
    const http = await main.http();
    const servers = { spare: spare.memory(), last: last.memory() };
    await using toolport = createToolport({
      mcpServers: { main: { ...http.entry, fallback: ["spare", "last"] }, ...servers },
    });
    await using alone = createToolport({
      mcpServers: { main: { ...http.entry, fallback: "spare" }, ...servers },
    });
    await Promise.all([toolport.connect(), alone.connect()]);
    await main.close();
    const args = { city: "Oslo" };
    expect(await toolport.callTool("main__ask", args)).toMatchObject({ server: "last" });
    const error = await failure<ToolCallError>(alone.callTool("main__ask", args));
    expect(error).toMatchObject({ code: "FALLBACK_EXHAUSTED", server: "main", tool: "ask" });
    expect(error.attempts?.map(({ server, code }) => [server, code])).toEqual([
      ["main", "UNREACHABLE"],
      ["spare", "INVALID_ARGUMENTS"],
    ]);
    expect(spare.calls).toHaveLength(0);
  });
});

describe("a chain of fallbacks", () => {
  test("all are tried in order, each after beforeFallback, and one error names them all", async () => {
    const asked: string[] = [];
    await using one = createTestServer({ tools: ask("one") });
    await using two = createTestServer({ tools: ask("two") });
    const [a, b] = [await one.http(), await two.http()];
    await using other = createTestServer({ tools: { unlike: { handler: () => "" } } });
    await using toolport = createToolport({
      mcpServers: {
        main: { ...a.entry, fallback: ["other", "second", "gone"] },
        other: other.memory(),
        second: b.entry,
        gone: { command: "no-such-program-anywhere" },
      },
      beforeFallback: ({ next }) => void asked.push(next.name),
    });
    await toolport.connect();
    await Promise.all([a.close(), b.close()]);
    const error = await failure<ToolCallError>(toolport.callTool("main__ask"));
    expect(error).toMatchObject({ code: "FALLBACK_EXHAUSTED", server: "main", outcome: "unsent" });
    expect(error.attempts?.map(({ server, code }) => [server, code])).toEqual([
      ["main", "UNREACHABLE"],
      ["other", "REFUSED"],
      ["second", "UNREACHABLE"],
      ["gone", "SPAWN_FAILED"],
    ]);
    expect(asked).toEqual(["other", "second", "gone"]);
    for (const server of ["main", "other", "second", "gone"]) expect(error.message).toContain(server);
  });

  test("a veto holds for every server in it, also behind one without the tool", async () => {
    await using main = createTestServer({ tools: ask("main") });
    await using other = createTestServer({ tools: { unlike: { handler: () => "" } } });
    await using last = createTestServer({ tools: ask("last") });
    const http = await main.http();
    await using toolport = createToolport({
      mcpServers: {
        main: { ...http.entry, fallback: ["other", "last"] },
        other: other.memory(),
        last: last.memory(),
      },
      beforeFallback: ({ next }) => next.name !== "last",
    });
    await toolport.connect();
    await main.close();
    await failure(toolport.callTool("main__ask"));
    expect(last.calls).toHaveLength(0);
  });
});

test("a busy primary: the call does not wait for its Retry-After while a fallback can answer", async () => {
  await using main = createTestServer({ tools: ask("main") });
  await using spare = createTestServer({ tools: ask("spare") });
  let busy = false;
  let refused = 0;
  const http = await main.http({
    async intercept(request) {
      if (!busy) return undefined;
      // The lists may be read again in the background.
      if ((await request.clone().text()).includes("tools/call")) refused += 1;
      return new Response("busy", { status: 429, headers: { "retry-after": "5" } });
    },
  });
  await using toolport = createToolport({
    mcpServers: { main: { ...http.entry, fallback: "spare" }, spare: spare.memory() },
  });
  await toolport.connect();
  busy = true;
  expect((await toolport.callTool("main__ask")).server).toBe("spare");
  expect(refused).toBe(1);
  busy = false;
  expect((await toolport.callTool("main__ask")).server).toBe("main");
});

test("a fallback that was never connected is connected for the call", async () => {
  await using main = createTestServer({ tools: ask("main") });
  await using spare = createTestServer({ tools: ask("spare") });
  const http = await main.http();
  const spareHttp = await spare.http();
  await using toolport = createToolport({
    mcpServers: { main: { ...http.entry, fallback: "spare" }, spare: spareHttp.entry },
  });
  await toolport.connectServer("main");
  await main.close();
  expect(spareHttp.requestCount).toBe(0);
  expect((await toolport.callTool("main__ask")).server).toBe("spare");
});

test("an abort ends the call, and no other server is called", async () => {
  await using scene = await hangingPrimary({}, "spare");
  await scene.toolport.connect();
  const reason = new Error("enough");
  const caller = new AbortController();
  const calling = failure<ConnectionError>(
    scene.toolport.callTool("main__ask", {}, { signal: caller.signal }),
  );
  await waitFor(() => scene.main.calls.length > 0);
  caller.abort(reason);
  expect(await calling).toBe(reason);
  expect(scene.spare.calls).toHaveLength(0);
});
