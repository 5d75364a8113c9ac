/** Timeouts of a call: silence ends it, progress extends it, the hard cap ends it in any case. */
import { createToolport, type Progress, type ToolportOptions } from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { waitFor } from "../support/wait-for.js";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Reports progress every `everyMs`, `count` times, then answers; endless without `count`. */
const work: TestTool = {
  async handler({ count, everyMs = 50 }, { progress, signal }) {
    for (let step = 1; !signal.aborted && (count === undefined || step <= Number(count)); step += 1) {
      await pause(Number(everyMs));
      await progress(step, count === undefined ? undefined : Number(count), `step ${step}`);
    }
    return "finished";
  },
};
const silent: TestTool = { handler: () => new Promise<string>(() => {}) };

type Transport = "memory" | "stdio" | "http";
const cases: [Transport, "legacy" | "modern"][] = [
  ["memory", "modern"],
  ["stdio", "legacy"],
  ["http", "legacy"],
  ["http", "modern"],
];

async function open(
  [transport, era]: [Transport, "legacy" | "modern"],
  options: Partial<ToolportOptions> & { serverTimeoutMs?: number } = {},
) {
  const { serverTimeoutMs, ...rest } = options;
  const server = createTestServer({ era, tools: { work, silent } });
  const posts: { method: string; aborted: () => boolean }[] = [];
  const intercept = async (request: Request) => {
    const body = await request.clone().text();
    const method = body.startsWith("{") ? String(JSON.parse(body).method) : "";
    posts.push({ method, aborted: () => request.signal.aborted });
    return undefined;
  };
  const entry =
    transport === "memory"
      ? server.memory()
      : transport === "stdio"
        ? (await server.stdio()).entry
        : (await server.http({ intercept })).entry;
  const sent: { method: string; at: number }[] = [];
  const toolport = createToolport({
    mcpServers: {
      s: { ...entry, logRequests: true, ...(serverTimeoutMs && { timeoutMs: serverTimeoutMs }) },
    },
    logger: {
      debug() {},
      info: (line) =>
        sent.push({ method: /"method":"([^"]+)"/.exec(line)?.[1] ?? "", at: performance.now() }),
      warn() {},
      error() {},
    },
    ...rest,
  });
  await toolport.connect();
  return {
    toolport,
    server,
    sent,
    posts,
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await server.close();
    },
  };
}

describe.each(cases)("over %s, %s", (...kind) => {
  test("progress extends a call beyond its timeout, and reaches the callbacks of the call and the port", async () => {
    const port: [string, Progress][] = [];
    const call: Progress[] = [];
    await using scene = await open(kind, {
      timeoutMs: 1_500,
      onProgress: (server, progress) => port.push([server.name, progress]),
    });
    const result = await scene.toolport.callTool(
      "s__work",
      { count: 20, everyMs: 100 },
      { onProgress: (progress) => call.push(progress) },
    );
    expect(result.text).toBe("finished");
    expect(result.durationMs).toBeGreaterThan(1_500);
    expect(call).toHaveLength(20);
    expect(call.at(-1)).toEqual({ progress: 20, total: 20, message: "step 20" });
    expect(port).toEqual(call.map((progress) => ["s", progress]));
  });

  test("endless progress ends at the hard cap, and the server is notified", async () => {
    await using scene = await open(kind, { timeoutMs: 500, maxTimeoutMs: 800 });
    const error = await failure<Error>(scene.toolport.callTool("s__work"));
    expect(error).toMatchObject({ code: "TIMEOUT", server: "s", tool: "work", outcome: "unknown" });
    // The message contains what was left of the 800 ms when the request was sent.
    expect(error.message).toContain("Raise maxTimeoutMs");
    await expectCancelled(scene);
  });

  test("silence ends the call in time", async () => {
    await using scene = await open(kind, { timeoutMs: 100 });
    expect(await failure(scene.toolport.callTool("s__silent"))).toMatchObject({ code: "TIMEOUT" });
    await expectCancelled(scene);
  });

  test("an abort is sent to the server, and its reason passes through", async () => {
    await using scene = await open(kind);
    const caller = new AbortController();
    const calling = failure(scene.toolport.callTool("s__silent", {}, { signal: caller.signal }));
    await waitFor(() => scene.server.calls.length === 1);
    const reason = new Error("changed my mind");
    caller.abort(reason);
    expect(await calling).toBe(reason);
    await expectCancelled(scene);
  });

  /** Waits until the server learns that the caller does not wait any more. Modern HTTP closes the stream of the request. */
  async function expectCancelled(scene: Awaited<ReturnType<typeof open>>): Promise<void> {
    if (kind[0] === "http" && kind[1] === "modern") {
      await waitFor(() => scene.posts.find(({ method }) => method === "tools/call")?.aborted(), {
        intervalMs: 2,
      });
      expect(scene.sent.some(({ method }) => method === "notifications/cancelled")).toBe(false);
      return;
    }
    const seen = kind[0] === "http" ? scene.posts : scene.sent;
    await waitFor(() => seen.find(({ method }) => method === "notifications/cancelled"), { intervalMs: 2 });
  }
});

test.each<[string, { global: number; server?: number; call?: number }, number]>([
  ["the port's", { global: 100 }, 100],
  ["the server's before the port's", { global: 60_000, server: 100 }, 100],
  ["the call's before the server's", { global: 60_000, server: 60_000, call: 100 }, 100],
  ["a longer one of the call", { global: 50, server: 50, call: 200 }, 200],
])("which timeout applies: %s", async (_case, { global, server, call }, expectedMs) => {
  await using scene = await open(["memory", "modern"], {
    timeoutMs: global,
    ...(server !== undefined && { serverTimeoutMs: server }),
  });
  const options = call === undefined ? {} : { timeoutMs: call };
  const error = await failure<Error>(scene.toolport.callTool("s__silent", {}, options));
  expect(error).toMatchObject({ code: "TIMEOUT" });
  expect(error.message).toContain(`within ${expectedMs} ms`);
});

test("the timeout of a tool comes between that of the call and the server; onProgress of the entry gets its progress", async () => {
  await using server = createTestServer({ tools: { work, silent, silent_too: silent } });
  const heard: number[] = [];
  await using toolport = createToolport({
    mcpServers: {
      s: {
        ...server.memory(),
        timeoutMs: 60_000,
        toolTimeoutsMs: { "silent*": 100, work: 5_000 },
        onProgress: ({ progress }) => heard.push(progress),
      },
    },
    timeoutMs: 50,
  });
  for (const tool of ["silent", "silent_too"])
    expect(await failure(toolport.callTool(`s__${tool}`))).toMatchObject({ code: "TIMEOUT" });
  expect((await toolport.callTool("s__work", { count: 2, everyMs: 100 })).text).toBe("finished");
  expect(heard).toEqual([1, 2]);
  expect(await failure(toolport.callTool("s__work", { everyMs: 1_000 }, { timeoutMs: 60 }))).toMatchObject({
    code: "TIMEOUT",
  });
});

test("a longer explicit timeout raises the cap for that call; Infinity removes both", async () => {
  await using scene = await open(["memory", "modern"], { timeoutMs: 100, maxTimeoutMs: 200 });
  const args = { count: 1, everyMs: 400 };
  expect((await scene.toolport.callTool("s__work", args, { timeoutMs: 1_000 })).text).toBe("finished");
  expect((await scene.toolport.callTool("s__work", args, { timeoutMs: Infinity })).text).toBe("finished");
  await failure(scene.toolport.callTool("s__work", { count: 1, everyMs: 60_000 }));
});

test("progress listeners that throw affect neither the call nor each other", async () => {
  const warnings: string[] = [];
  const seen: number[] = [];
  await using scene = await open(["memory", "modern"], {
    onProgress: (_server, { progress }) => {
      seen.push(progress);
      throw new Error("port listener");
    },
  });
  scene.toolport.on("warning", ({ message }) => warnings.push(message));
  const onProgress = () => {
    throw new Error("call listener");
  };
  expect((await scene.toolport.callTool("s__work", { count: 2, everyMs: 1 }, { onProgress })).text).toBe(
    "finished",
  );
  expect(seen).toEqual([1, 2]);
  for (const text of ["port listener", "call listener"])
    expect(warnings.filter((line) => line.includes(text))).toHaveLength(2);
});
