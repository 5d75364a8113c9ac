/** Concurrency: callers share one connection, servers connect in parallel, and only servers that are not ready reconnect. */
import { createToolport, type ServerEntry } from "toolport";
import { createTestServer } from "toolport/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isAlive, pidFolder } from "../fixtures/stdio-peer.js";

const LEAN = "test/fixtures/servers/stdio-lean.mjs";

let scratch: ReturnType<typeof pidFolder>;
beforeEach(() => {
  scratch = pidFolder();
});
afterEach(() => {
  expect(scratch.pids().filter(isAlive)).toEqual([]);
  scratch.remove();
});

const lean = (...flags: string[]): ServerEntry => ({
  command: process.execPath,
  args: [LEAN, `--pid-file=${scratch.file}`, ...flags],
});
const five = <Result>(make: () => Promise<Result>) => Promise.all(Array.from({ length: 5 }, make));
const byName = (count: number, entry: ServerEntry) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, entry]));

describe("five at the same time make one process", () => {
  test("connect()", async () => {
    await using toolport = createToolport({ mcpServers: { it: lean() } });
    const reports = await five(() => toolport.connect());
    expect(reports.map(({ servers }) => servers["it"]?.state)).toEqual(Array(5).fill("ready"));
    expect(scratch.pids()).toHaveLength(1);
  });

  test("tools()", async () => {
    await using toolport = createToolport({ mcpServers: { it: lean() } });
    const lists = await five(() => toolport.tools());
    for (const tools of lists) expect(tools).toHaveLength(7);
    expect(scratch.pids()).toHaveLength(1);
  });

  test("callTool()", async () => {
    await using toolport = createToolport({ mcpServers: { it: lean() } });
    const results = await five(() => toolport.callTool("it__pid"));
    expect(new Set(results.map(({ text }) => text))).toEqual(new Set([String(scratch.pids()[0])]));
    expect(scratch.pids()).toHaveLength(1);
  });

  test("all of them, and ping, discover and client as well", async () => {
    await using toolport = createToolport({ mcpServers: { it: lean() } });
    await Promise.all([
      toolport.connect(),
      toolport.tools(),
      toolport.callTool("it__pid"),
      toolport.connectServer("it"),
      toolport.ping("it"),
      toolport.discover("it"),
      toolport.client("it"),
      toolport.add("it", lean()),
    ]);
    expect(scratch.pids()).toHaveLength(1);
  });

  test("after it was killed", async () => {
    await using toolport = createToolport({ mcpServers: { it: lean() } });
    process.kill(Number((await toolport.callTool("it__pid")).text), "SIGKILL");
    const results = await five(() => toolport.callTool("it__pid", {}, { idempotent: true }));
    expect(new Set(results.map(({ text }) => text)).size).toBe(1);
    expect(scratch.pids()).toHaveLength(2);
  });
});

describe("many servers come up side by side", () => {
  /** Counts how many servers are connecting at the same time. */
  async function expectSideBySide(
    mcpServers: Record<string, ServerEntry>,
    mostAtOnce: number,
  ): Promise<void> {
    await using toolport = createToolport({ mcpServers });
    let atOnce = 0;
    let most = 0;
    toolport.on("state", ({ from, to }) => {
      if (to === "connecting") most = Math.max(most, ++atOnce);
      if (from === "connecting") atOnce -= 1;
    });
    const { servers } = await toolport.connect();
    const reports = Object.values(servers);
    expect(reports.map(({ state, error }) => error?.message ?? state)).toEqual(reports.map(() => "ready"));
    expect(most).toBe(mostAtOnce);
    const answers = Object.keys(mcpServers).map((name) => toolport.callTool(`${name}__echo`, { text: name }));
    expect((await Promise.all(answers)).map(({ text }) => text)).toEqual(Object.keys(mcpServers));
  }

  test("twenty over stdio, all at once", async () => {
    await expectSideBySide(byName(20, lean()), 20);
    expect(scratch.pids()).toHaveLength(20);
  });

  test("forty over HTTP, 32 at a time", async () => {
    const echo = { handler: ({ text }: { text?: unknown }) => String(text) };
    await using server = createTestServer({ tools: { echo } });
    const http = await server.http({
      // A server with latency: without it there would be nothing to do in parallel.
      intercept: async () => {
        await new Promise((resolve) => setTimeout(resolve, 30));
        return undefined;
      },
    });
    await expectSideBySide(byName(40, http.entry), 32);
  });
});

describe("a second connect()", () => {
  test("reconnects the servers that are not ready, and keeps the others", async () => {
    const tools = { hello: { handler: () => "hello" } };
    await using server = createTestServer({ tools });
    let down = true;
    const http = await server.http({
      intercept: () => (down ? new Response("later", { status: 503 }) : undefined),
    });
    const mcpServers = { good: lean(), later: http.entry, off: { ...lean(), enabled: false } };
    await using toolport = createToolport({ mcpServers });
    const first = await toolport.connect();
    expect(first.servers["good"]).toMatchObject({ state: "ready" });
    expect(first.servers["later"]).toMatchObject({ state: "failed", error: { code: "HTTP_STATUS" } });
    expect(first.servers["off"]).toBeUndefined();

    down = false;
    const moves: string[] = [];
    toolport.on("state", ({ server: name, to }) => moves.push(`${name} ${to}`));
    const second = await toolport.connect();
    expect(second.servers["good"]).toMatchObject({ state: "ready" });
    expect(second.servers["later"]).toMatchObject({ state: "ready", toolCount: 1 });
    expect(moves).toEqual(["later connecting", "later connected", "later discovering", "later ready"]);
    expect(scratch.pids()).toHaveLength(1);
    expect((await toolport.callTool("later__hello")).text).toBe("hello");
  });

  test("during the first one shares its connections", async () => {
    await using toolport = createToolport({ mcpServers: { it: lean() } });
    const first = toolport.connect();
    await new Promise<void>((resolve) => {
      const off = toolport.on("state", ({ to }) => {
        if (to !== "connected") return;
        off();
        resolve();
      });
    });
    const second = await toolport.connect();
    expect(second.servers["it"]).toMatchObject({ state: "ready" });
    await first;
    expect(scratch.pids()).toHaveLength(1);
  });
});

test("a hanging call does not delay others", async () => {
  await using toolport = createToolport({ mcpServers: { it: lean(), other: lean() } });
  await toolport.connect();
  const abort = new AbortController();
  const hanging = toolport.callTool("it__slow", { ms: 60_000 }, { signal: abort.signal });
  const calls = Array.from({ length: 100 }, (_, index) =>
    toolport.callTool(index % 2 ? "it__echo" : "other__echo", { text: String(index) }),
  );
  expect((await Promise.all(calls)).map(({ text }) => Number(text))).toEqual(calls.map((_, index) => index));
  abort.abort("enough");
  await expect(hanging).rejects.toBe("enough");
});
