/** Log messages and progress of passed-on calls: each reaches the client whose call it belongs to. */
import type { ServerContext } from "@modelcontextprotocol/server";
import { LOG_LEVELS, type LogLevel } from "@toolport/base";
import type { Progress } from "@toolport/core";
import { createTestServer, type TestTool } from "toolport/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { rising } from "../src/calls/client-hooks.js";
import { ALL_CAPABILITIES, callFor, createTestCaller, createTestPort } from "./hooks-rig.js";

const log = (request: ServerContext, level: string, data: unknown) =>
  request.mcpReq.notify({
    method: "notifications/message",
    params: { level, data, _meta: { "x/y": 1 } },
  } as never);

/** Both calls are in flight before either logs. */
function createMeeting(size: number) {
  let arrived = 0;
  let open = () => {};
  const all = new Promise<void>((resolve) => {
    open = resolve;
  });
  return () => {
    arrived += 1;
    if (arrived === size) open();
    return all;
  };
}

function createScene(era: "legacy" | "modern", meet = async () => {}) {
  const tools: Record<string, TestTool> = {
    log: {
      async handler({ who }, { request }) {
        await meet();
        for (const level of ["debug", "info", "error"]) await log(request, level, `${level} for ${who}`);
        return "logged";
      },
    },
    // Reports its count, like a server that does the same work again.
    count: {
      async handler({ to }, { request }) {
        const progressToken = request.mcpReq._meta?.progressToken;
        for (let progress = 1; progress <= Number(to); progress += 1)
          await request.mcpReq.notify({
            method: "notifications/progress",
            params: {
              progressToken,
              progress,
              total: 9,
              message: `step ${progress}`,
              _meta: { "x/step": progress },
            },
          } as never);
        return "counted";
      },
    },
  };
  const server = createTestServer({ era, tools, capabilities: { logging: {} } });
  onTestFinished(() => server.close());
  return server;
}

/** A gateway gets messages of every level, and leaves out those that its client does not want. */
const dataOf = ({ logs, logLevel = "debug" }: ReturnType<typeof createTestCaller>) =>
  logs
    .filter(({ level }) => LOG_LEVELS.indexOf(level as LogLevel) >= LOG_LEVELS.indexOf(logLevel))
    .map(({ data }) => data);

describe.each(["legacy", "modern"] as const)("%s", (era) => {
  test.each(["with capabilities", "without capabilities"])(
    "log messages over HTTP reach the client of their call, %s",
    async (kind) => {
      const capabilities = kind === "with capabilities" ? ALL_CAPABILITIES : {};
      const server = createScene(era, createMeeting(2));
      const port = createTestPort({ up: (await server.http()).entry });
      const [a, b] = [
        createTestCaller({ capabilities, logLevel: "debug" }),
        createTestCaller({ capabilities, logLevel: "error" }),
      ];
      await Promise.all([
        callFor(port, { tool: "log", args: { who: "a" } }, a),
        callFor(port, { tool: "log", args: { who: "b" } }, b),
      ]);
      expect(dataOf(a)).toEqual(["debug for a", "info for a", "error for a"]);
      expect(dataOf(b)).toEqual(["error for b"]);
      expect(a.logs[0]).toMatchObject({ level: "debug", _meta: { "x/y": 1 } });
    },
  );

  test("log messages over stdio reach the only call in flight, from the level on that its client wants", async () => {
    const port = createTestPort({ up: (await createScene(era).stdio()).entry });
    for (const [logLevel, expected] of [
      ["error", ["error for me"]],
      ["debug", ["debug for me", "info for me", "error for me"]],
      ["info", ["info for me", "error for me"]],
    ] as const) {
      const caller = createTestCaller({ logLevel });
      await callFor(port, { tool: "log", args: { who: "me" } }, caller);
      expect(dataOf(caller)).toEqual(expected);
    }
  });

  test("progress keeps total, message and _meta", async () => {
    const port = createTestPort({ up: (await createScene(era).http()).entry });
    const reports: Progress[] = [];
    const onProgress = (report: Progress) => void reports.push(report);
    await callFor(port, { tool: "count", args: { to: 2 } }, createTestCaller(), { onProgress });
    expect(reports).toEqual([
      { progress: 1, total: 9, message: "step 1", _meta: { "x/step": 1 } },
      { progress: 2, total: 9, message: "step 2", _meta: { "x/step": 2 } },
    ]);
  });

  test("progress never falls when another server takes over", async () => {
    const first = createScene(era);
    const second = createScene(era);
    const http = await first.http({
      async intercept(request) {
        const body = await request.clone().text();
        if (!body.includes('"tools/call"')) return undefined;
        const { id, params } = JSON.parse(body);
        const progress = { progressToken: params._meta.progressToken, progress: 5 };
        const report = { jsonrpc: "2.0", method: "notifications/progress", params: progress };
        const failure = { jsonrpc: "2.0", id, error: { code: -32603, message: "broken" } };
        const text = [report, failure].map((each) => `data: ${JSON.stringify(each)}\n\n`).join("");
        return new Response(text, { headers: { "content-type": "text/event-stream" } });
      },
    });
    const port = createTestPort({
      up: { ...http.entry, fallback: { servers: ["other"], when: () => true } },
      other: (await second.http()).entry,
    });
    const reports: number[] = [];
    const caller = createTestCaller();
    await port.ensureLists(port.pool.all(), {});
    const onProgress = rising(({ progress }) => void reports.push(progress));
    await callFor(port, { tool: "count", args: { to: 7 } }, caller, { onProgress });
    expect(reports).toEqual([5, 5, 6, 7]);
    expect(caller.server).toBe("other");
  });
});
