/** Limits on concurrent calls and call rate for each server, and calls that do not fit into the queue. */
import { createToolport } from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { expectNoLeaks, takeLeakSnapshot } from "../support/leaks.js";
import { waitFor } from "../support/wait-for.js";

/** A server that counts its concurrent calls, and answers when the test lets it. */
function gatedServer() {
  const scene = { now: 0, most: 0, waiting: [] as (() => void)[] };
  const held: TestTool = {
    async handler() {
      scene.most = Math.max(scene.most, ++scene.now);
      await new Promise<void>((resolve) => scene.waiting.push(resolve));
      scene.now -= 1;
      return "done";
    },
  };
  const server = createTestServer({ tools: { held, quick: { handler: () => "quick" } } });
  const letGo = () => scene.waiting.splice(0).forEach((go) => void go());
  return Object.assign(scene, { server, letGo, [Symbol.asyncDispose]: () => server.close() });
}

describe("concurrency", () => {
  test("never exceeds the limit, in order of arrival, without delaying other servers", async () => {
    await using busy = gatedServer();
    await using other = gatedServer();
    await using toolport = createToolport({
      mcpServers: { busy: { ...busy.server.memory(), concurrency: 3 }, other: other.server.memory() },
    });
    await toolport.connect();
    const order: number[] = [];
    const calls = Array.from({ length: 10 }, (_, index) =>
      toolport.callTool("busy__held", { index }).then(() => order.push(index)),
    );
    await waitFor(() => busy.now === 3);
    expect((await toolport.callTool("other__quick")).text).toBe("quick");
    while (order.length < 10) {
      busy.letGo();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(calls);
    expect(busy.most).toBe(3);
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(busy.server.calls.map(({ args }) => args["index"])).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("the limit of the port applies to every server; that of a server overrides it", async () => {
    await using one = gatedServer();
    await using two = gatedServer();
    await using toolport = createToolport({
      mcpServers: { one: one.server.memory(), two: { ...two.server.memory(), concurrency: 4 } },
      concurrency: 2,
    });
    await toolport.connect();
    const calls = ["one", "two"].flatMap((server) =>
      Array.from({ length: 6 }, () => toolport.callTool(`${server}__held`)),
    );
    await waitFor(() => one.now === 2 && two.now === 4);
    await waitFor(() => {
      one.letGo();
      two.letGo();
      return one.server.calls.length === 6 && two.server.calls.length === 6 && one.now + two.now === 0;
    });
    await Promise.all(calls);
    expect([one.most, two.most]).toEqual([2, 4]);
  });

  test("with a thousand queued calls the next one fails with OVERLOADED, unsent", async () => {
    await using busy = gatedServer();
    await using toolport = createToolport({
      mcpServers: { busy: { ...busy.server.memory(), concurrency: 1 } },
    });
    await toolport.connect();
    const running = toolport.callTool("busy__held");
    await waitFor(() => busy.now === 1);
    const waiting = Array.from({ length: 1_000 }, () => toolport.callTool("busy__quick"));
    expect(await failure(toolport.callTool("busy__quick"))).toMatchObject({
      code: "OVERLOADED",
      server: "busy",
      outcome: "unsent",
      retryable: true,
    });
    busy.letGo();
    await running;
    expect(await Promise.all(waiting)).toHaveLength(1_000);
    expect(busy.server.calls).toHaveLength(1_001);
  });

  test("queueing counts towards the timeout and can be aborted; the next call takes the slot", async () => {
    await using busy = gatedServer();
    await using toolport = createToolport({
      mcpServers: { busy: { ...busy.server.memory(), concurrency: 1 } },
      maxTimeoutMs: 150,
      timeoutMs: 150,
    });
    await toolport.connect();
    const running = toolport.callTool("busy__held", {}, { timeoutMs: 10_000 });
    await waitFor(() => busy.now === 1);
    const caller = new AbortController();
    const reason = new Error("enough");
    const aborted = failure(toolport.callTool("busy__quick", {}, { signal: caller.signal }));
    const late = failure(toolport.callTool("busy__quick"));
    const patient = toolport.callTool("busy__quick", {}, { timeoutMs: 10_000 });
    caller.abort(reason);
    expect(await aborted).toBe(reason);
    expect(await late).toMatchObject({ code: "TIMEOUT", phase: "queue", outcome: "unsent" });
    busy.letGo();
    await running;
    expect((await patient).text).toBe("quick");
    expect(busy.server.calls.map(({ name }) => name)).toEqual(["held", "quick"]);
  });
});

describe("rate", () => {
  test("allows a burst, then no faster than the limit", async () => {
    await using busy = gatedServer();
    await using toolport = createToolport({
      mcpServers: { busy: busy.server.memory() },
      rateLimit: { perSecond: 50, burst: 5 },
    });
    await toolport.connect();
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: 20 }, () => toolport.callTool("busy__quick")));
    const elapsedMs = performance.now() - startedAt;
    // Five at once, fifteen at 20 ms each.
    expect(elapsedMs).toBeGreaterThanOrEqual(290);
  });

  test("close() fails queued calls at once, and leaves no timer", async () => {
    await using busy = gatedServer();
    const before = takeLeakSnapshot();
    const toolport = createToolport({
      mcpServers: { busy: busy.server.memory() },
      rateLimit: { perSecond: 0.01, burst: 1 },
    });
    await toolport.callTool("busy__quick");
    const waiting = Array.from({ length: 3 }, () => failure(toolport.callTool("busy__quick")));
    await toolport.close();
    for (const error of await Promise.all(waiting))
      expect(error).toMatchObject({ code: "CLOSED", outcome: "unsent" });
    expectNoLeaks(before);
  });
});

test("a server that is removed and added again gets its new limits", async () => {
  await using busy = gatedServer();
  await using toolport = createToolport({
    mcpServers: { busy: { ...busy.server.memory(), concurrency: 1 } },
  });
  await toolport.callTool("busy__quick");
  await toolport.remove("busy");
  await toolport.add("busy", { ...busy.server.memory(), concurrency: 2 });
  const calls = [toolport.callTool("busy__held"), toolport.callTool("busy__held")];
  await waitFor(() => busy.now === 2);
  busy.letGo();
  await Promise.all(calls);
});
