/** The connections for the clients of a gateway: lost, replaced, limited and closed. */
import { Server } from "@modelcontextprotocol/server";
import { sendRequest } from "@toolport/core/internal";
import { createLinkedTransports } from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";
import { expect, onTestFinished, test } from "vitest";
import { waitFor } from "../../../test/support/wait-for.js";
import { ALL_CAPABILITIES, callFor, createTestCaller, createTestPort } from "./hooks-rig.js";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };

const tools: Record<string, TestTool> = {
  plain: { handler: () => "plain" },
  ask: { handler: async (_args, { server }) => (await server.elicitInput(question)).action },
  wait: {
    handler: (_args, { signal }) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve("aborted"))),
  },
};

function createScene() {
  const server = createTestServer({
    era: "legacy",
    tools,
    resources: { "test://a": { text: "A" } } as never,
  });
  onTestFinished(() => server.close());
  return server;
}

const capable = (more: Parameters<typeof createTestCaller>[0] = {}) =>
  createTestCaller({ capabilities: ALL_CAPABILITIES, ...more });

/** A caller that never answers. */
function createSilentCaller() {
  const asked: AbortSignal[] = [];
  const caller = capable({
    answer: (_question, signal) =>
      new Promise((_resolve, reject) => {
        asked.push(signal);
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
  });
  return { caller, asked };
}

test("a session that the server forgot is renewed, and the call succeeds", async () => {
  const http = await createScene().http();
  const port = createTestPort({ up: http.entry });
  await callFor(port, { tool: "plain" }, capable());
  await http.forgetSessions();
  const caller = capable();
  await callFor(port, { tool: "ask" }, caller);
  expect(caller.raw).toMatchObject({ content: [{ text: "accept" }] });
});

test("a process that dies withdraws its question, and the next call starts it again", async () => {
  const stdio = await createScene().stdio();
  const port = createTestPort({ up: stdio.entry });
  const { caller, asked } = createSilentCaller();
  const calling = callFor(port, { tool: "ask" }, caller);
  await waitFor(() => asked.length === 1);
  stdio.dropConnections();
  await expect(calling).rejects.toMatchObject({ outcome: "unknown" });
  expect(asked[0]!.aborted).toBe(true);
  const next = capable();
  await callFor(port, { tool: "ask" }, next);
  expect(next.raw).toMatchObject({ content: [{ text: "accept" }] });
});

test("a call that waits for its turn ends with its own limit, and was not sent", async () => {
  const stdio = await createScene().stdio();
  const port = createTestPort({ up: stdio.entry });
  const { caller, asked } = createSilentCaller();
  const controller = new AbortController();
  const first = callFor(port, { tool: "ask" }, caller, { signal: controller.signal });
  await waitFor(() => asked.length === 1);
  await expect(callFor(port, { tool: "plain" }, capable(), { timeoutMs: 50 })).rejects.toMatchObject({
    code: "TIMEOUT",
    phase: "queue",
    outcome: "unsent",
  });
  const aborted = new AbortController();
  const waiting = callFor(port, { tool: "plain" }, capable(), { signal: aborted.signal });
  aborted.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  // Neither of them keeps the next call from running.
  const last = capable();
  const next = callFor(port, { tool: "plain" }, last);
  controller.abort(new Error("over"));
  await expect(first).rejects.toThrow("over");
  await next;
  expect(last.raw).toMatchObject({ content: [{ text: "plain" }] });
});

test("over HTTP, questions outside the streams of calls are refused once, then calls run one at a time", async () => {
  const port = createTestPort({ up: (await createScene().http()).entry });
  const ask = async () => {
    const caller = capable();
    const text = await callFor(port, { tool: "ask" }, caller).then(
      (result) => result.text,
      ({ rpcCode }: { rpcCode: number }) => rpcCode,
    );
    return [text, caller.questions.length];
  };
  // Each is answered by its own client or refused, but never by another one.
  for (const [text, questions] of await Promise.all([ask(), ask(), ask()]))
    expect(questions).toBe(text === -32602 ? 0 : 1);
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([
    ["accept", 1],
    ["accept", 1],
    ["accept", 1],
  ]);
});

test("at most 8 capability sets have connections; the one not used for longest is closed", async () => {
  const http = await createScene().http();
  const port = createTestPort({ up: http.entry });
  const set = (index: number) => createTestCaller({ capabilities: { experimental: { [`x${index}`]: {} } } });
  for (let index = 0; index < 12; index += 1) await callFor(port, { tool: "plain" }, set(index));
  const variants = await port.variants();
  expect(variants.size).toBe(8);
  // The ordinary one, and the 8.
  await waitFor(() => http.sessionIds.length === 9);
  const controller = new AbortController();
  const { signal } = controller;
  const busy = Array.from({ length: 8 }, (_, index) =>
    callFor(port, { tool: "wait" }, set(100 + index), { signal }),
  );
  await waitFor(() => variants.created().every(({ usage }) => usage.idleMs === 0));
  await expect(callFor(port, { tool: "plain" }, set(200))).rejects.toMatchObject({ code: "OVERLOADED" });
  controller.abort();
  await Promise.allSettled(busy);
});

test("idle connections are closed after idleTimeoutMs, and all with the port", async () => {
  const http = await createScene().http();
  const port = createTestPort({ up: http.entry }, { idleTimeoutMs: 100 });
  await callFor(port, { tool: "plain" }, capable());
  await waitFor(() => http.sessionIds.length === 0);
  await callFor(port, { tool: "plain" }, capable());
  await port.close();
  expect(http.sessionIds).toEqual([]);
});

test("a removed server loses its connections; a disconnected one refuses calls", async () => {
  const http = await createScene().http();
  const port = createTestPort({ up: http.entry });
  await callFor(port, { tool: "plain" }, capable());
  const entry = port.catalog.find("up", "plain")!;
  await port.pool.require("up").disconnect();
  await expect(port.run(entry, {}, {}, { hooks: capable() })).rejects.toMatchObject({ code: "CLOSED" });
  await port.remove("up");
  expect(http.sessionIds).toEqual([]);
});

test("the request that opens a connection answers a server that asks for the roots at once", async () => {
  const roots: unknown[] = [];
  const transport = async () => {
    const [client, end] = createLinkedTransports();
    const server = new Server({ name: "roots", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", () => ({
      tools: [{ name: "roots", inputSchema: { type: "object" } }],
    }));
    const initialized = new Promise<void>((resolve) => {
      server.oninitialized = async () => {
        if (server.getClientCapabilities()?.roots !== undefined) roots.push((await server.listRoots()).roots);
        resolve();
      };
    });
    server.setRequestHandler("tools/call", async () => {
      await initialized;
      return { content: [] };
    });
    await server.connect(end);
    return client;
  };
  const port = createTestPort({ up: { transport, protocol: "legacy" } });
  await callFor(port, { tool: "roots" }, capable({ name: "me" }));
  expect(roots).toEqual([[{ uri: "file:///me" }]]);
});

test("requests other than calls use the same connection", async () => {
  const http = await createScene().http();
  const port = createTestPort({ up: http.entry });
  await callFor(port, { tool: "plain" }, capable());
  const before = http.sessionIds;
  const request = { server: "up", method: "resources/read", params: { uri: "test://a" }, uri: "test://a" };
  expect(await sendRequest(port, request, { hooks: capable() })).toMatchObject({ contents: [{ text: "A" }] });
  expect(http.sessionIds).toEqual(before);
});
