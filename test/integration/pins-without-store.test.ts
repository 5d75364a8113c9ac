/** `pins: "block"` fails closed: a definition that cannot be compared with its pin is withheld, and the reason is given. */
import { createToolport, memoryStore, type Store, type Toolport } from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";
import { expect, test } from "vitest";
import { startJsonRpcServer } from "../fixtures/servers/http-json-rpc.js";
import { failure } from "../support/failure.js";
import { createTroubledStore } from "../support/oauth-troubled-store.js";

const tool = (description: string): TestTool => ({ description, handler: () => "ran" });

const names = async (toolport: Toolport) => (await toolport.tools()).map(({ sourceName }) => sourceName);

/** Pins `one` and `two` as an earlier process would. */
async function pinned(store: Store): Promise<void> {
  await using server = createTestServer({ tools: { one: tool("Reads."), two: tool("Two.") } });
  await using toolport = createToolport({ mcpServers: { s: server.memory() }, store, pins: "block" });
  expect(await names(toolport)).toEqual(["one", "two"]);
}

test("the store cannot be read: every tool is withheld with the reason, until the store answers again", async () => {
  const store = createTroubledStore(memoryStore());
  await pinned(store);
  await using server = createTestServer({ tools: { one: tool("Obeys me."), two: tool("Two.") } });
  await using other = createTestServer({ tools: { three: tool("Three.") } });
  store.trouble = { code: "UNAVAILABLE", what: "everything" };
  await using toolport = createToolport({
    mcpServers: { s: server.memory(), other: other.memory() },
    store,
    pins: "block",
  });
  const warnings: string[] = [];
  toolport.on("warning", ({ server: name, message }) => warnings.push(`${name}: ${message}`));
  expect(await names(toolport)).toEqual([]);
  const reason = expect.stringMatching(/could not be compared .*The disk failed/);
  expect(toolport.snapshot().withheldTools).toEqual([
    { server: "s", name: "one", reason, isRefused: true },
    { server: "s", name: "two", reason, isRefused: true },
    { server: "other", name: "three", reason, isRefused: true },
  ]);
  expect(warnings).toContainEqual(expect.stringMatching(/^s: .*withheld.*The disk failed/));
  expect(await failure(toolport.callTool("s__one"))).toMatchObject({
    code: "TOOL_WITHHELD",
    next: expect.stringContaining("store"),
  });
  expect(server.calls).toHaveLength(0);
  const reported = warnings.length;
  expect(await names(toolport)).toEqual([]);
  expect(warnings).toHaveLength(reported);

  store.trouble = undefined;
  const changes: string[] = [];
  toolport.on("toolChanged", (change) => changes.push(`${change.server}/${change.tool}`));
  // A call needs no tools() before it.
  expect((await toolport.callTool("other__three")).text).toBe("ran");
  expect(await names(toolport)).toEqual(["two", "three"]);
  expect(changes).toEqual(["s/one"]);
  expect(await failure(toolport.callTool("s__one"))).toMatchObject({ code: "TOOL_CHANGED" });
  await toolport.approveTools("s", ["one"]);
  expect(await names(toolport)).toEqual(["one", "two", "three"]);
});

test("a list that changes while the store cannot be read is withheld", async () => {
  const store = createTroubledStore(memoryStore());
  await using server = createTestServer({ tools: { one: tool("Reads.") } });
  await using toolport = createToolport({ mcpServers: { s: server.memory() }, store, pins: "block" });
  expect(await names(toolport)).toEqual(["one"]);
  store.trouble = { code: "BUSY", what: "everything" };
  await server.update({ tools: { one: tool("Obeys me.") } });
  await toolport.refresh("s");
  expect(await names(toolport)).toEqual([]);
  store.trouble = undefined;
  expect(await names(toolport)).toEqual([]);
  expect(await failure(toolport.callTool("s__one"))).toMatchObject({ code: "TOOL_CHANGED" });
});

test("the store cannot be written: pinned tools are compared, new ones are withheld", async () => {
  const store = createTroubledStore(memoryStore());
  await pinned(store);
  await using server = createTestServer({
    tools: { one: tool("Obeys me."), two: tool("Two."), three: tool("New.") },
  });
  store.trouble = { code: "FULL", what: "writes" };
  await using toolport = createToolport({ mcpServers: { s: server.memory() }, store, pins: "block" });
  const changes: string[] = [];
  toolport.on("toolChanged", (change) => changes.push(change.tool));
  expect(await names(toolport)).toEqual(["two"]);
  expect(toolport.snapshot().withheldTools).toEqual([
    { server: "s", name: "one", reason: expect.stringContaining("changed"), isRefused: true },
    {
      server: "s",
      name: "three",
      reason: expect.stringContaining("The disk failed"),
      isRefused: true,
    },
  ]);
  store.trouble = { code: "UNAVAILABLE", what: "everything" };
  expect(await names(toolport)).toEqual([]);
  store.trouble = { code: "FULL", what: "writes" };
  expect(await names(toolport)).toEqual(["two"]);
  store.trouble = undefined;
  expect(await names(toolport)).toEqual(["two", "three"]);
  // Once before everything failed, once after.
  expect(changes).toEqual(["one", "one"]);
});

test("a damaged record is replaced only when every definition is approved", async () => {
  const store = memoryStore();
  await pinned(store);
  const [key] = await store.list("pins/");
  await store.put(key!, []);
  await using server = createTestServer({ tools: { one: tool("Reads."), two: tool("Two.") } });
  await using toolport = createToolport({ mcpServers: { s: server.memory() }, store, pins: "block" });
  expect(await names(toolport)).toEqual([]);
  expect(await failure(toolport.approveTools("s", ["one"]))).toMatchObject({ code: "CORRUPT", server: "s" });
  expect(await names(toolport)).toEqual([]);
  await toolport.approveTools("s");
  expect(await names(toolport)).toEqual(["one", "two"]);
});

test("an invalid pin record is not treated as an empty one", async () => {
  for (const value of [null, [], "pins", 7, { one: 1 }]) {
    const store = memoryStore();
    await pinned(store);
    const [key] = await store.list("pins/");
    await store.put(key!, value);
    await using server = createTestServer({ tools: { one: tool("Obeys me.") } });
    await using toolport = createToolport({ mcpServers: { s: server.memory() }, store, pins: "block" });
    expect(await names(toolport), JSON.stringify(value)).toEqual([]);
    expect(toolport.snapshot().withheldTools).toMatchObject([
      { reason: expect.stringContaining("could not be compared") },
    ]);
    expect((await store.get(key!))?.value).toEqual(value);
  }
});

test("a tool without a hash is withheld, and does not hide changes of others", async () => {
  const store = memoryStore();
  // JSON.parse reads 1e999 as Infinity, which canonical JSON cannot represent.
  const unhashable = `{"name":"big","annotations":{"weight":1e999},"inputSchema":{"type":"object"}}`;
  const listed = (description: string, ...more: string[]) => {
    const one = `{"name":"one","description":"${description}","inputSchema":{"type":"object"}}`;
    return `{"tools":[${[one, ...more].join()}]}`;
  };
  let list = listed("Reads.");
  await using server = await startJsonRpcServer({ "tools/list": () => list });
  const run = async () => {
    await using toolport = createToolport({ mcpServers: { s: server.entry }, store, pins: "block" });
    return { offered: await names(toolport), withheld: toolport.snapshot().withheldTools };
  };
  expect((await run()).offered).toEqual(["one"]);
  list = listed("Reads.", unhashable);
  expect((await run()).offered).toEqual(["one"]);
  list = listed("Obeys me.", unhashable);
  expect(await run()).toMatchObject({ offered: [], withheld: [{ name: "one" }, { name: "big" }] });
});

test("warn: tools are offered, and a warning says that they were not compared", async () => {
  const store = createTroubledStore(memoryStore());
  await pinned(store);
  await using server = createTestServer({ tools: { one: tool("Obeys me.") } });
  store.trouble = { code: "UNAVAILABLE", what: "everything" };
  await using toolport = createToolport({ mcpServers: { s: server.memory() }, store, pins: "warn" });
  const warnings: string[] = [];
  toolport.on("warning", ({ message }) => warnings.push(message));
  expect(await names(toolport)).toEqual(["one"]);
  expect(warnings.filter((message) => message.includes("compared"))).toEqual([
    expect.stringMatching(/The disk failed/),
  ]);
});
