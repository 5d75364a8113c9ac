/** Connections of idle users close, and a later call goes on with the session at the server. */
import { EventEmitter, once } from "node:events";
import { createToolport } from "@toolport/core";
import { createTestServer } from "@toolport/testing";
import { expect, test } from "vitest";
import { usersOf } from "../src/users.js";
import { countingServer, PATIENT, TOOLS } from "./support/counting-server.js";

for (const era of ["modern", "legacy"] as const) {
  test(`after a rest a call costs one request (${era})`, async () => {
    await using one = await countingServer({ ...TOOLS, era });
    await using toolport = createToolport({ mcpServers: { one: { url: one.url } } });
    const users = usersOf(toolport);
    const port = users.use("ada", "needed");
    const call = async () => (await port.run(await port.findForCall("one__echo"), {}, {})).result.text;
    expect(await call()).toBe("ok");
    users.rest(0);
    expect(port.pool.created()).toEqual([]);
    one.requests.length = 0;
    expect(await call()).toBe("ok");
    expect(one.methods()).toEqual(["tools/call"]);
  });

  test(`a server that restarted during the rest is healed (${era})`, async () => {
    await using one = createTestServer({ ...TOOLS, era });
    const http = await one.http();
    await using toolport = createToolport({ mcpServers: { one: http.entry } });
    const users = usersOf(toolport);
    const port = users.use("ada", "needed");
    const call = async () => (await port.run(await port.findForCall("one__echo"), {}, {})).result.text;
    await call();
    users.rest(0);
    await http.forgetSessions();
    expect(await call()).toBe("ok");
    expect(one.calls).toHaveLength(2);
  });
}

test("a call under way, and a listener, keep the connection", async () => {
  const news = new EventEmitter();
  const started = once(news, "started");
  await using one = createTestServer({
    tools: {
      wait: {
        handler: async () => {
          const finished = once(news, "finish");
          news.emit("started");
          await finished;
          return "done";
        },
      },
    },
  });
  const http = await one.http();
  await using toolport = createToolport({ mcpServers: { one: http.entry } });
  const users = usersOf(toolport);
  const port = users.use("ada", "needed");
  const calling = port.run(await port.findForCall("one__wait"), {}, {});
  await started;
  users.rest(0);
  expect(port.pool.created()).toHaveLength(1);
  news.emit("finish");
  expect((await calling).result.text).toBe("done");
  const stop = port.listen();
  users.rest(0);
  expect(port.pool.created()).toHaveLength(1);
  stop();
  users.rest(0);
  expect(port.pool.created()).toHaveLength(0);
});

test("a legacy session ends at the server when the user is let go", async () => {
  await using one = createTestServer({ ...TOOLS, era: "legacy" });
  const http = await one.http();
  await using toolport = createToolport({ mcpServers: { one: http.entry } });
  const users = usersOf(toolport);
  await users.use("ada", "needed").need("tools", PATIENT);
  expect(http.sessionIds).toHaveLength(1);
  users.rest(0);
  expect(http.sessionIds).toHaveLength(1);
  await users.release("ada");
  expect(http.sessionIds).toHaveLength(0);
});
