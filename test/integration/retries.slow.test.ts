/** A failed call is retried only if that is safe and can help. */
import { createToolport, type ServerEntry, type ToolportOptions } from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";

const plain: TestTool = { handler: () => "done" };
const marked = (annotations: NonNullable<TestTool["annotations"]>): TestTool => ({ ...plain, annotations });

/** A server over HTTP that answers the first tool calls with these responses. */
async function turningAway(
  responses: (() => Response)[],
  options: Partial<ToolportOptions> & { entry?: Partial<ServerEntry> } = {},
) {
  const { entry, ...rest } = options;
  const server = createTestServer({
    tools: { plain, idempotent: marked({ idempotentHint: true }), reading: marked({ readOnlyHint: true }) },
  });
  const times: number[] = [];
  const left = [...responses];
  const http = await server.http({
    async intercept(request) {
      if (!(await request.clone().text()).includes('"tools/call"')) return undefined;
      times.push(performance.now());
      return left.shift()?.();
    },
  });
  const toolport = createToolport({
    mcpServers: { s: { ...http.entry, ...entry } as ServerEntry },
    retry: { baseMs: 20 },
    ...rest,
  });
  await toolport.connect();
  return {
    toolport,
    server,
    times,
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await server.close();
    },
  };
}

const status =
  (code: number, headers: Record<string, string> = {}) =>
  () =>
    new Response("no", { status: code, headers });

describe("a server that sends Retry-After", () => {
  test.each([429, 503])("%i with Retry-After: the call is sent again, not too early", async (code) => {
    await using scene = await turningAway([status(code, { "retry-after": "1" })]);
    const result = await scene.toolport.callTool("s__plain");
    expect(result).toMatchObject({ text: "done", attempts: 2, server: "s" });
    expect(result.durationMs).toBeGreaterThanOrEqual(995);
    expect(scene.times[1]! - scene.times[0]!).toBeGreaterThanOrEqual(995);
    expect(scene.server.calls).toHaveLength(1);
  });

  test("a call does not wait for a Retry-After beyond its timeout", async () => {
    await using scene = await turningAway([status(429, { "retry-after": "20" })], {
      maxTimeoutMs: 5_000,
      timeoutMs: 5_000,
    });
    expect(await failure(scene.toolport.callTool("s__plain"))).toMatchObject({ status: 429 });
  });
});

describe("a call whose outcome is unknown", () => {
  const broken = [status(500), status(502)];

  test.each<[string, string, object, Partial<ServerEntry>, number]>([
    ["is not retried", "plain", {}, {}, 1],
    ["is retried with idempotent: true", "plain", { idempotent: true }, {}, 3],
    ["is not retried because of hints of an untrusted server", "idempotent", {}, {}, 1],
    [
      "is retried because of a hint of a trusted server: idempotent",
      "idempotent",
      {},
      { trustAnnotations: true },
      3,
    ],
    [
      "is retried because of a hint of a trusted server: read-only",
      "reading",
      {},
      { trustAnnotations: true },
      3,
    ],
    ["is not retried without a hint of a trusted server", "plain", {}, { trustAnnotations: true }, 1],
  ])("%s", async (_case, tool, options, entry, requests) => {
    await using scene = await turningAway(broken, { entry });
    const outcome = await scene.toolport.callTool(`s__${tool}`, {}, options).catch((error: unknown) => error);
    expect(scene.times).toHaveLength(requests);
    if (requests === 1)
      expect(outcome).toMatchObject({ code: "HTTP_STATUS", status: 500, outcome: "unknown" });
    else expect(outcome).toMatchObject({ text: "done", attempts: 3 });
  });

  test.each([false, true])(
    "includes a call whose connection is lost (idempotent: %s)",
    async (idempotent) => {
      await using server = createTestServer({
        era: "legacy",
        tools: {
          once: {
            async handler() {
              if (server.calls.length > 1) return "survived";
              stdio.dropConnections();
              return new Promise<string>(() => {});
            },
          },
        },
      });
      const stdio = await server.stdio();
      await using toolport = createToolport({ mcpServers: { s: stdio.entry } });
      const outcome = await toolport.callTool("s__once", {}, { idempotent }).catch((error: unknown) => error);
      if (idempotent) expect(outcome).toMatchObject({ text: "survived", server: "s" });
      else expect(outcome).toMatchObject({ name: "ConnectionError", outcome: "unknown", retryable: true });
      expect(server.calls).toHaveLength(idempotent ? 2 : 1);
    },
  );
});

describe("how often", () => {
  const always = Array.from({ length: 9 }, () => status(429));

  test("three attempts at most by default, and the last error is thrown", async () => {
    await using scene = await turningAway(always);
    expect(await failure(scene.toolport.callTool("s__plain"))).toMatchObject({ status: 429 });
    expect(scene.times).toHaveLength(3);
  });

  test("as often as retry says, or never", async () => {
    await using more = await turningAway(always, { retry: { maxAttempts: 5, baseMs: 1 } });
    await failure(more.toolport.callTool("s__plain"));
    expect(more.times).toHaveLength(5);
    await using never = await turningAway(always, { retry: false });
    await failure(never.toolport.callTool("s__plain", {}, { idempotent: true }));
    expect(never.times).toHaveLength(1);
  });

  test("a server that keeps failing uses up its retry budget", async () => {
    await using scene = await turningAway(
      Array.from({ length: 1_000 }, () => status(500)),
      { retry: { maxAttempts: 2, baseMs: 1 }, breaker: false },
    );
    const calls = 60;
    for (let round = 0; round < calls; round += 1)
      await failure(scene.toolport.callTool("s__plain", {}, { idempotent: true }));
    // 500 tokens, 14 for each retry.
    expect(scene.times).toHaveLength(calls + 35);
  });

  test("a failed tool and wrong arguments are final", async () => {
    await using server = createTestServer({
      tools: {
        bad: {
          inputSchema: { type: "object", required: ["x"] },
          handler: () => {
            throw new Error("no");
          },
        },
      },
    });
    await using toolport = createToolport({ mcpServers: { s: server.memory() } });
    const idempotent = { idempotent: true };
    expect(await toolport.callTool("s__bad", { x: 1 }, idempotent)).toMatchObject({
      isError: true,
      attempts: 1,
    });
    expect(await failure(toolport.callTool("s__bad", {}, idempotent))).toMatchObject({
      code: "INVALID_ARGUMENTS",
    });
    expect(server.calls).toHaveLength(1);
  });
});
