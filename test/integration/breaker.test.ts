/** The circuit breaker: opens after repeated failures, lets one call probe the server, closes on an answer. */
import { type ConnectionError, createToolport, type ToolportOptions } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { waitFor } from "../support/wait-for.js";

/** A server that answers HTTP 500 to tool calls for as long as `scene.broken` is true. */
async function breakable(options: Partial<ToolportOptions> = {}) {
  const server = createTestServer({
    tools: {
      ask: { handler: () => "answer" },
      fail: {
        handler: () => {
          throw new Error("the tool's own failure");
        },
      },
    },
  });
  const http = await server.http({
    async intercept(request) {
      if (!(await request.clone().text()).includes('"tools/call"')) return undefined;
      scene.requests += 1;
      return scene.broken ? new Response("broken", { status: 500 }) : undefined;
    },
  });
  const toolport = createToolport({ mcpServers: { s: http.entry }, retry: false, ...options });
  const scene = {
    toolport,
    broken: false,
    requests: 0,
    breaker: () => toolport.snapshot().servers["s"]?.breaker,
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await server.close();
    },
  };
  await toolport.connect();
  return scene;
}

const OPEN_MS = 300;

test("five failures in a row open it, one call probes the server, an answer closes it", async () => {
  await using scene = await breakable({ breaker: { openMs: OPEN_MS } });
  const ask = () => scene.toolport.callTool("s__ask");
  await ask();
  scene.broken = true;
  for (let count = 1; count <= 5; count += 1) {
    expect(scene.breaker()?.state).toBe("closed");
    expect(await failure(ask())).toMatchObject({ code: "HTTP_STATUS" });
  }
  expect(scene.breaker()).toMatchObject({ state: "open", failures: 5, opens: 1 });
  const requests = scene.requests;
  const refused = await failure<ConnectionError>(ask());
  expect(refused).toMatchObject({
    code: "CIRCUIT_OPEN",
    server: "s",
    tool: "ask",
    outcome: "unsent",
    retryable: true,
  });
  expect(refused.retryAfterMs).toBeLessThanOrEqual(OPEN_MS);
  expect(scene.requests).toBe(requests);

  // The probe fails: the breaker opens for twice as long.
  let askedAt = 0;
  await waitFor(async () => {
    askedAt = Date.now();
    return (await failure(ask())).code === "HTTP_STATUS";
  });
  expect(scene.requests).toBe(requests + 1);
  expect(scene.breaker()).toMatchObject({ state: "open", opens: 2 });
  const openUntil = scene.breaker()?.openUntil ?? 0;
  expect(openUntil).toBeGreaterThan(askedAt + OPEN_MS);
  expect(openUntil).toBeLessThanOrEqual(Date.now() + 2 * OPEN_MS);

  scene.broken = false;
  const answers = await waitFor(async () => {
    const outcomes = await Promise.allSettled([ask(), ask(), ask()]);
    const good = outcomes.filter(({ status }) => status === "fulfilled").length;
    return good > 0 ? good : undefined;
  });
  // Of three parallel calls only one probed the server.
  expect(answers).toBe(1);
  expect(scene.breaker()).toMatchObject({ state: "closed", failures: 0, opens: 0, openUntil: null });
  expect((await ask()).text).toBe("answer");
});

test("an answer in between and a failed tool do not count as failures of the server", async () => {
  await using scene = await breakable({ breaker: { failures: 2 } });
  for (let round = 0; round < 3; round += 1) {
    scene.broken = true;
    await failure(scene.toolport.callTool("s__ask"));
    scene.broken = false;
    expect((await scene.toolport.callTool("s__fail")).isError).toBe(true);
  }
  expect(scene.breaker()).toMatchObject({ state: "closed", failures: 0 });
  await failure(scene.toolport.callTool("s__ask", {}, { signal: AbortSignal.abort() }));
  expect(scene.breaker()).toMatchObject({ state: "closed", failures: 0 });
});

test("connectServer() resets the circuit breaker", async () => {
  await using scene = await breakable({ breaker: { failures: 1 } });
  scene.broken = true;
  await failure(scene.toolport.callTool("s__ask"));
  expect(scene.breaker()?.state).toBe("open");
  scene.broken = false;
  await scene.toolport.connectServer("s");
  expect((await scene.toolport.callTool("s__ask")).text).toBe("answer");
});

test("breaker: false never opens", async () => {
  await using scene = await breakable({ breaker: false });
  scene.broken = true;
  for (let count = 0; count < 8; count += 1)
    expect(await failure(scene.toolport.callTool("s__ask"))).toMatchObject({ code: "HTTP_STATUS" });
  expect(scene.requests).toBe(8);
  expect(scene.breaker()).toBeNull();
});

test("each server has its own breaker", async () => {
  await using good = createTestServer({ tools: { ask: { handler: () => "fine" } } });
  await using scene = await breakable({ breaker: { failures: 1 } });
  await scene.toolport.add("good", good.memory());
  scene.broken = true;
  await failure(scene.toolport.callTool("s__ask"));
  expect(await failure(scene.toolport.callTool("s__ask"))).toMatchObject({ code: "CIRCUIT_OPEN" });
  expect((await scene.toolport.callTool("good__ask")).text).toBe("fine");
});
