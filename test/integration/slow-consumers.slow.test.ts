/** Async callbacks that are slower than the server: bounded, in order, and drops are reported. */
import { createToolport } from "toolport";
import { MultiServerMCPClient } from "toolport/langchain";
import { createTestServer, type TestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { waitFor } from "../support/wait-for.js";

const FLOOD = 3_000;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A server that sends as many log messages, or progress, as a call asks for. */
const talkative = (): TestServer =>
  createTestServer({
    era: "legacy",
    capabilities: { logging: {} },
    tools: {
      log: {
        async handler({ count }, { server }) {
          for (let n = 1; n <= Number(count); n += 1)
            await server.sendLoggingMessage({ level: "info", data: n });
          return "done";
        },
      },
      progress: {
        async handler({ count }, { progress }) {
          for (let n = 1; n <= Number(count); n += 1) await progress(n);
          return "done";
        },
      },
    },
  });

/** A consumer that returns promises, which the test settles. */
function consumer<Value>(read: (value: Value) => unknown) {
  const seen: unknown[] = [];
  const ends: (() => void)[] = [];
  const state = { running: 0, most: 0, isOpen: false };
  return {
    seen,
    state,
    take(value: Value): Promise<void> | undefined {
      seen.push(read(value));
      if (state.isOpen) return undefined;
      state.running += 1;
      state.most = Math.max(state.most, state.running);
      return new Promise<void>((resolve) => ends.push(resolve)).finally(() => {
        state.running -= 1;
      });
    },
    /** Settles the pending promises; from now on it returns nothing. */
    async open(): Promise<void> {
      state.isOpen = true;
      for (const end of ends.splice(0)) end();
      await turn();
    },
  };
}

function warnings(toolport: ReturnType<typeof createToolport>): string[] {
  const heard: string[] = [];
  toolport.on("warning", ({ message }) => heard.push(message));
  return heard;
}

/** The first, then the newest thousand. */
const expected = [1, ...Array.from({ length: 1_000 }, (_, index) => FLOOD - 999 + index)];

describe("3,000 events for a callback that never settles", () => {
  test("as the option onLog", async () => {
    await using server = talkative();
    const lines: string[] = [];
    const note = (line: string) => void lines.push(line);
    const logger = { debug: note, info: note, warn: note, error: note };
    const { take, seen, state, open } = consumer<{ data: unknown }>(({ data }) => data);
    await using toolport = createToolport({ mcpServers: { it: server.memory() }, onLog: take, logger });
    const heard = warnings(toolport);
    expect((await toolport.callTool("it__log", { count: FLOOD })).text).toBe("done");
    expect(seen).toEqual([1]);
    expect(toolport.snapshot().droppedCalls).toEqual({ onLog: FLOOD - 1_001 });
    expect(heard).toEqual([expect.stringContaining("onLog is too slow: 1,000 calls wait")]);
    await open();
    expect(seen).toEqual(expected);
    expect(state.most).toBe(1);
    expect(heard[1]).toBe("onLog has caught up; 1,999 of its calls were dropped meanwhile");
    expect(lines).toEqual(heard);
  });

  test("as a notification listener, while the others get everything at once", async () => {
    await using server = talkative();
    await using toolport = createToolport({ mcpServers: { it: server.memory() }, onLog() {} });
    const heard = warnings(toolport);
    const { take, seen, state, open } = consumer<{ params: Readonly<Record<string, unknown>> }>(
      ({ params }) => params["data"],
    );
    let others = 0;
    toolport.on("notification", take);
    toolport.on("notification", () => {
      others += 1;
    });
    await toolport.callTool("it__log", { count: FLOOD });
    expect(others).toBe(FLOOD);
    expect(seen).toEqual([1]);
    expect(toolport.snapshot().droppedCalls).toEqual({ 'on("notification")': FLOOD - 1_001 });
    await open();
    expect(seen).toEqual(expected);
    expect(state.most).toBe(1);
    expect(heard).toHaveLength(2);
  });

  test("as onProgress of the port, of a server and of each call", async () => {
    await using server = talkative();
    const calls = 4;
    // The protocol layer drops some progress of one call beyond 1,000 reports.
    const each = 900;
    const read = ({ progress }: { progress: number }) => progress;
    const [ofPort, ofServer] = [consumer(read), consumer(read)];
    const ofCalls = Array.from({ length: calls }, () => consumer(read));
    const entry = { ...server.memory(), onProgress: ofServer.take };
    await using toolport = createToolport({
      mcpServers: { it: entry },
      onProgress: (_server, progress) => ofPort.take(progress),
    });
    for (const { take } of ofCalls)
      await toolport.callTool("it__progress", { count: each }, { onProgress: take });
    const dropped = calls * each - 1_001;
    expect(toolport.snapshot().droppedCalls).toEqual({ onProgress: dropped, "onProgress of it": dropped });
    for (const { seen, open, state } of [ofPort, ofServer, ...ofCalls]) {
      expect(seen).toEqual([1]);
      await open();
      expect(seen.at(-1)).toBe(each);
      expect(state.most).toBe(1);
    }
    expect([ofPort.seen.length, ofServer.seen.length]).toEqual([1_001, 1_001]);
    expect(ofCalls.map(({ seen }) => seen.length)).toEqual(Array(calls).fill(each));
  });

  test("as a logger whose methods return promises", async () => {
    await using server = talkative();
    const { take, seen, state, open } = consumer<string>((line) => Number(/\d+$/.exec(line)?.[0]));
    const logger = { debug: take, info: take, warn() {}, error: take };
    await using toolport = createToolport({ mcpServers: { it: server.memory() }, logger });
    await toolport.callTool("it__log", { count: FLOOD });
    expect(seen).toEqual([1]);
    const { logger: dropped } = toolport.snapshot().droppedCalls;
    expect(dropped).toBeGreaterThanOrEqual(FLOOD - 1_001);
    await open();
    expect(state.most).toBe(1);
    expect(seen.at(-1)).toBe(FLOOD);
  });

  test("as a hook of the LangChain client", async () => {
    await using server = talkative();
    const { take, seen, state, open } = consumer<{ data?: unknown }>(({ data }) => data);
    const http = await server.http();
    const client = new MultiServerMCPClient({
      mcpServers: { it: { transport: "http", url: http.url } },
      onMessage: (message) => take(message) as Promise<void>,
    });
    try {
      const [log] = (await client.getTools()).filter(({ name }) => name.endsWith("log"));
      await log!.invoke({ count: FLOOD });
      // Notifications may arrive on a separate stream after the answer.
      await waitFor(() => seen.length > 0);
      expect(state.running).toBe(1);
      await open();
      await waitFor(() => seen.at(-1) === FLOOD);
      expect(seen.length).toBeLessThanOrEqual(FLOOD);
      expect(state.most).toBe(1);
    } finally {
      await client.close();
    }
  });
});

test("call listeners: 100 at once, and none of 1,000 calls is lost", async () => {
  await using server = createTestServer({ tools: { ok: { handler: () => "ok" } } });
  const audit = consumer<string>((outcome) => outcome);
  await using toolport = createToolport({
    mcpServers: { it: server.memory() },
    listeners: [{ after: ({ outcome }) => audit.take(outcome) }],
  });
  await Promise.all(Array.from({ length: 1_000 }, () => toolport.callTool("it__ok")));
  expect(audit.state).toMatchObject({ running: 100, most: 100 });
  await audit.open();
  expect(audit.seen).toHaveLength(1_000);
  expect(toolport.snapshot().droppedCalls).toEqual({});
});

test("a slow warning listener does not cause endless warnings", async () => {
  await using server = talkative();
  await using toolport = createToolport({
    mcpServers: { it: server.memory() },
    onLog: () => {
      throw new Error("mine");
    },
  });
  const { take, seen, state, open } = consumer<{ message: string }>(({ message }) => message);
  toolport.on("warning", take);
  await toolport.callTool("it__log", { count: FLOOD });
  expect(seen).toEqual(["A callback threw: Error: mine"]);
  await open();
  expect(seen).toHaveLength(1_001 + 1);
  expect(seen.at(-1)).toMatch(/^on\("warning"\) has caught up; 2,0\d\d of its calls/);
  expect(state.most).toBe(1);
});

test("close() does not wait for a callback that never settles; earlier events are still delivered", async () => {
  await using server = talkative();
  const { take, seen, open } = consumer<{ data: unknown }>(({ data }) => data);
  const toolport = createToolport({ mcpServers: { it: server.memory() }, onLog: take });
  await toolport.callTool("it__log", { count: 3 });
  await toolport.close();
  expect(seen).toEqual([1]);
  await open();
  expect(seen).toEqual([1, 2, 3]);
});
