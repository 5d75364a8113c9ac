/** Faults in the life cycle of a port: closed, used and aborted at the wrong moment. */
import { getEventListeners } from "node:events";
import type { ServerEntry, Toolport } from "toolport";
import { createTestServer, type TestServer } from "toolport/testing";
import { expect } from "vitest";
import { isAlive, waitForExit } from "../support/processes.js";
import { waitFor } from "../support/wait-for.js";
import { atMost } from "./at-most.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";
import { faultProcess } from "./fault-process.js";

const FIVE_SECONDS = 5_000;
const HALF_A_SECOND = atMost(500);
const REASON = { because: "the caller says so" };
const SILENT = { command: process.execPath, args: ["-e", "process.stdin.on('end', process.exit).resume()"] };

const tools = {
  hello: { handler: () => "hello" },
  hang: { handler: () => new Promise<string>(() => {}) },
};

faultCase("Y01", "close twice, and at once", async (harness) => {
  const server = faultProcess(harness);
  const toolport = harness.open({ it: server.entry });
  await toolport.connect();
  await harness.within(FIVE_SECONDS, Promise.all([toolport.close(), toolport.close()]));
  await toolport.close();
  await toolport[Symbol.asyncDispose]();
  expect(server.pids().filter(isAlive)).toEqual([]);
});

for (const kind of ["process", "HTTP server"] as const) {
  faultCase("Y01", `close while connecting to a silent ${kind}`, async (harness) => {
    const web = harness.keep(createTestServer({ tools }));
    const http = await web.http({ intercept: () => new Promise<never>(() => {}) });
    const toolport = harness.open({ it: kind === "process" ? SILENT : http.entry });
    const connecting = toolport.connect();
    if (kind === "HTTP server") await waitFor(() => http.requestCount === 1);
    await harness.within(FIVE_SECONDS, toolport.close());
    expect((await connecting).servers["it"]).toMatchObject({ state: "closed", error: { code: "CLOSED" } });
    await waitFor(() => http.connectionCount === 0);
  });
}

/** The same server over every transport. */
const WAYS = {
  stdio: async (server: TestServer) => (await server.stdio()).entry,
  http: async (server: TestServer) => (await server.http()).entry,
  sse: async (server: TestServer) => (await server.sse()).entry,
  webSocket: async (server: TestServer) => (await server.webSocket()).entry,
  memory: async (server: TestServer) => server.memory(),
} satisfies Record<string, (server: TestServer) => Promise<ServerEntry>>;

for (const [way, serve] of Object.entries(WAYS)) {
  faultCase("Y01", `close during a call over ${way}`, async (harness) => {
    const server = harness.keep(createTestServer({ tools }));
    const toolport = harness.open({ it: await serve(server) });
    await toolport.connect();
    const call = toolport.callTool("it__hang");
    const failing = harness.fails(call, {
      code: "CLOSED",
      server: "it",
      tool: "hang",
      withinMs: FIVE_SECONDS,
    });
    await waitFor(() => server.calls.length === 1);
    await harness.within(FIVE_SECONDS, toolport.close());
    await failing;
    expect(server.calls).toHaveLength(1);
  });
}

faultCase("Y01", "every method after close", async (harness) => {
  const server = faultProcess(harness);
  const toolport = harness.open({ it: server.entry });
  await toolport.connect();
  await toolport.close();
  const asked: (() => Promise<unknown>)[] = [
    () => toolport.callTool("it__echo", { text: "?" }),
    () => toolport.tools(),
    () => toolport.connect(),
    () => toolport.connectServer("it"),
    () => toolport.add("more", server.entry),
    () => toolport.ping("it"),
    () => toolport.refresh(),
    () => toolport.resources(),
    () => toolport.subscribe("it", "t://a", () => {}),
  ];
  for (const ask of asked) {
    const error = await harness.fails(ask(), { code: "CLOSED", withinMs: 100 });
    expect(error.outcome).toBe("unsent");
  }
  expect(server.pids()).toHaveLength(1);
});

const FIVE = [1, 2, 3, 4, 5];
for (const [what, ask] of [
  ["connect()", "connect"],
  ["tools()", "tools"],
  ["callTool()", "callTool"],
  ["everything", "mixed"],
] as const) {
  faultCase("Y02", `five times ${what}: one process`, async (harness) => {
    const server = faultProcess(harness);
    const toolport = harness.open({ it: server.entry });
    const asks = {
      connect: () => toolport.connect(),
      tools: () => toolport.tools(),
      callTool: () => toolport.callTool("it__echo", { text: "hi" }),
    };
    const each = ask === "mixed" ? Object.values(asks) : [asks[ask]];
    await Promise.all(FIVE.flatMap(() => each.map((one) => one())));
    expect(server.pids()).toHaveLength(1);
    const names = (await toolport.tools({ servers: ["it"] })).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    await toolport.disconnect("it");
    await Promise.all(FIVE.map(() => toolport.connectServer("it")));
    expect(server.pids()).toHaveLength(2);
  });
}

const listening = (signal: AbortSignal) => getEventListeners(signal, "abort").length;

faultCase("Y03", "before the first call: nothing is started", async (harness) => {
  const server = faultProcess(harness);
  const toolport = harness.open({ it: server.entry });
  const options = { signal: AbortSignal.abort(REASON) };
  for (const asked of [
    toolport.connect(options),
    toolport.tools(options),
    toolport.callTool("it__echo", {}, options),
    toolport.ping("it", options),
  ])
    await expect(asked).rejects.toBe(REASON);
  expect(server.pids()).toEqual([]);
  expect(listening(options.signal)).toBe(0);
});

/** A port whose neighbour is ready, so that only the test waits for the server that it adds. */
async function openSettled(harness: FaultHarness, entry: ServerEntry): Promise<Toolport> {
  const toolport = harness.open({});
  await toolport.connect();
  toolport.register("it", entry);
  return toolport;
}

faultCase("Y03", "while connecting: the process has exited", async (harness) => {
  const server = faultProcess(harness, "--silent");
  const toolport = await openSettled(harness, server.entry);
  const abort = new AbortController();
  const asked = toolport.connectServer("it", { signal: abort.signal });
  await waitFor(() => server.pids().length === 1);
  abort.abort(REASON);
  await expect(asked).rejects.toBe(REASON);
  expect(listening(abort.signal)).toBe(0);
  await waitForExit(server.pids()[0]!, HALF_A_SECOND);
});

faultCase("Y03", "while connecting: the socket is closed", async (harness) => {
  const server = harness.keep(createTestServer({ tools }));
  const http = await server.http({ intercept: () => new Promise<never>(() => {}) });
  const toolport = await openSettled(harness, http.entry);
  const abort = new AbortController();
  const asked = toolport.callTool("it__hello", {}, { signal: abort.signal });
  await waitFor(() => http.requestCount === 1);
  abort.abort(REASON);
  await expect(asked).rejects.toBe(REASON);
  expect(listening(abort.signal)).toBe(0);
  await waitFor(() => http.connectionCount === 0, { timeoutMs: HALF_A_SECOND });
});

for (const era of ["legacy", "modern"] as const) {
  for (const way of ["stdio", "http"] as const) {
    faultCase(
      "Y03",
      `during a call over ${way} (${era}): the server is notified, other calls continue`,
      async (harness) => {
        let cancelled = false;
        const wait = {
          handler: (_args: unknown, { signal }: { signal: AbortSignal }) =>
            new Promise<string>((resolve) => {
              signal.addEventListener("abort", () => {
                cancelled = true;
                resolve("too late");
              });
            }),
        };
        const server = harness.keep(createTestServer({ era, tools: { ...tools, wait } }));
        const toolport = harness.open({ it: await WAYS[way](server) });
        await toolport.connect();
        const abort = new AbortController();
        const call = toolport.callTool("it__wait", {}, { signal: abort.signal });
        await waitFor(() => server.calls.length === 1);
        abort.abort(REASON);
        await expect(call).rejects.toBe(REASON);
        expect(listening(abort.signal)).toBe(0);
        await waitFor(() => cancelled, { timeoutMs: HALF_A_SECOND });
        expect((await toolport.callTool("it__hello")).text).toBe("hello");
      },
    );
  }
}

faultCase("Y03", "after the answer: nothing happens", async (harness) => {
  const server = faultProcess(harness);
  const toolport = harness.open({ it: server.entry });
  const abort = new AbortController();
  await toolport.callTool("it__echo", { text: "hi" }, { signal: abort.signal });
  expect(listening(abort.signal)).toBe(0);
  abort.abort(REASON);
  expect((await toolport.callTool("it__echo", { text: "next" })).text).toBe("next");
  expect(server.said()).not.toContain("notifications/cancelled");
});
