/** Users of `as()`: what is equal for many of them is kept once, and an idle one keeps no connection. */
import { EventEmitter, once } from "node:events";
import { expect, test } from "vitest";
import type { CallSetup } from "../../packages/core/src/port/port-core.js";
import { usersOf } from "../../packages/gateway/src/users.js";
import { countingServer, TOOLS } from "../../packages/gateway/test/support/counting-server.js";
import { createToolport } from "../../packages/toolport/src/index.js";
import { waitFor } from "../support/wait-for.js";

for (const era of ["modern", "legacy"] as const) {
  test(`equal lists and snapshots of users are one object (${era})`, async () => {
    await using one = await countingServer({ ...TOOLS, era });
    await using toolport = createToolport({ mcpServers: { one: { url: one.url } } });
    const [ada, bob] = await Promise.all(
      ["ada", "bob"].map(async (name) => {
        await toolport.as(name).tools();
        return usersOf(toolport).peek(name)!.catalog;
      }),
    );
    expect(ada!.snapshot().tools).toHaveLength(1);
    expect(ada!.snapshot()).toBe(bob!.snapshot());
    const lists = ada!.keptOf("one")!.lists;
    expect(lists.prompts).toHaveLength(1);
    for (const key of ["tools", "prompts", "resources"] as const)
      expect(lists[key]).toBe(bob!.keptOf("one")!.lists[key]);
  });

  test(`connections that were closed for idleness are forgotten, not what they know (${era})`, async () => {
    await using one = await countingServer({ ...TOOLS, era });
    await using toolport = createToolport({ mcpServers: { one: { url: one.url } }, idleTimeoutMs: 50 });
    const ports = ["ada", "bob"].map((name) => {
      const user = toolport.as(name);
      return { user, pool: usersOf(toolport).peek(name)!.pool };
    });
    for (const { user } of ports) expect((await user.callTool("one__echo", {})).text).toBe("ok");
    await waitFor(() => ports.every(({ pool }) => pool.created().length === 0));
    for (const { user } of ports) expect(user.snapshot().servers["one"]!.state).toBe("closed");
    const eras = ports.map(({ pool }) => pool.require("one").lastEra);
    expect(eras[0]).toMatchObject({ era });
    if (era === "modern") expect(eras[0]).toBe(eras[1]);
    one.requests.length = 0;
    for (const { user } of ports) expect((await user.callTool("one__echo", {})).text).toBe("ok");
    expect(one.methods()).not.toContain("server/discover");
  });
}

test("a resource that a user watches keeps the connection", async () => {
  await using one = await countingServer(TOOLS);
  await using toolport = createToolport({ mcpServers: { one: { url: one.url } }, idleTimeoutMs: 50 });
  const ada = toolport.as("ada");
  await toolport.as("bob").callTool("one__echo", {});
  await ada.callTool("one__echo", {});
  const { pool } = usersOf(toolport).peek("ada")!;
  const connection = pool.require("one");
  connection.usage.begin();
  await waitFor(() => usersOf(toolport).peek("bob")!.pool.created().length === 0);
  expect(pool.created()).toEqual([connection]);
  connection.usage.end();
  await waitFor(() => pool.created().length === 0);
});

test("a call that waits for its turn outlives the idle timeout", async () => {
  await using one = await countingServer(TOOLS);
  const rateLimit = { perSecond: 2, burst: 1 };
  const servers = { one: { url: one.url, rateLimit } };
  await using toolport = createToolport({ mcpServers: servers, idleTimeoutMs: 50 });
  const ada = toolport.as("ada");
  const calls = [1, 2].map(() => ada.callTool("one__echo", {}));
  expect((await Promise.all(calls)).map(({ text }) => text)).toEqual(["ok", "ok"]);
});

test("an idle user keeps its rate limit", async () => {
  await using one = await countingServer(TOOLS);
  const rateLimit = { perSecond: 0.001, burst: 1 };
  const servers = { one: { url: one.url, rateLimit } };
  await using toolport = createToolport({ mcpServers: servers, idleTimeoutMs: 50, maxQueue: 0 });
  const ada = toolport.as("ada");
  const call = () => ada.callTool("one__echo", {});
  await call();
  await waitFor(() => usersOf(toolport).peek("ada")!.pool.created().length === 0);
  await expect(call()).rejects.toMatchObject({ code: "OVERLOADED" });
});

/** A server whose tool waits until `finish` is called. */
async function waitingServer(era: "modern" | "legacy") {
  const news = new EventEmitter();
  const started = once(news, "started");
  const handler = async () => {
    const finished = once(news, "finish");
    news.emit("started");
    await finished;
    return "done";
  };
  const one = await countingServer({ tools: { wait: { handler } }, era });
  return { one, started, finish: () => news.emit("finish") };
}

test("a call whose connection was forgotten before it began keeps the new one", async () => {
  const { one, started, finish } = await waitingServer("modern");
  await using _closed = one;
  await using toolport = createToolport({ mcpServers: { one: { url: one.url } }, idleTimeoutMs: 60_000 });
  await toolport.as("ada").tools();
  const port = usersOf(toolport).peek("ada")!;
  const forgotten = port.pool.require("one");
  await forgotten.disconnect("idleness");
  port.pool.forgetClosed(0);
  const params = { name: "wait", arguments: {} };
  const calling = port.ask(forgotten, { method: "tools/call", params }, {});
  await started;
  const [connection] = port.pool.created();
  expect(connection!.usage.idleMs).toBe(0);
  finish();
  expect(await calling).toMatchObject({ content: [{ text: "done" }] });
});

test("a connection that was forgotten before it connected is not opened beside the pool", async () => {
  await using one = await countingServer(TOOLS);
  await using toolport = createToolport({ mcpServers: { one: { url: one.url } } });
  const port = usersOf(toolport).use("ada", "needed");
  const unused = port.pool.require("one");
  port.rest(0);
  expect(port.pool.created()).toEqual([]);
  await port.ask(unused, { method: "tools/list", params: {} }, {});
  expect(unused.state.status).toBe("idle");
  expect(port.pool.created()).toHaveLength(1);
});

test("a call with the capabilities of its caller outlives the ordinary connection of the user", async () => {
  const { one, started, finish } = await waitingServer("legacy");
  await using _closed = one;
  await using toolport = createToolport({ mcpServers: { one: { url: one.url } } });
  const port = usersOf(toolport).use("ada", "needed");
  const tool = await port.findForCall("one__wait");
  const hooks = { capabilities: { roots: {} }, capabilityKey: "roots", passesInput: false };
  const calling = port.run(tool, {}, {}, { hooks } as unknown as CallSetup);
  await started;
  port.rest(0);
  expect(port.pool.created()).toEqual([]);
  // The sockets would be closed by now.
  await port.restored();
  finish();
  expect((await calling).result.text).toBe("done");
});

test("a legacy session ends at the server when its connection is closed for idleness", async () => {
  await using one = await countingServer({ ...TOOLS, era: "legacy" });
  await using toolport = createToolport({ mcpServers: { one: { url: one.url } }, idleTimeoutMs: 50 });
  const ended = one.next("DELETE");
  await toolport.as("ada").callTool("one__echo", {});
  await ended;
});
