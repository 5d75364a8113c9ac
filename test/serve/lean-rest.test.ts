/** Connections of idle users close, and a later call goes on with the session at the server. */
import { EventEmitter, once } from "node:events";
import { expect, test } from "vitest";
import { createToolport } from "../../src/index.js";
import { gatewayAccess } from "../../src/port/gateway-access.js";
import { createTestServer } from "../../src/testing/index.js";
import { countingServer, PATIENT, TOOLS } from "./support/counting-server.js";

for (const era of ["modern", "legacy"] as const) {
  test(`after a rest a call costs one request (${era})`, async () => {
    await using one = await countingServer({ ...TOOLS, era });
    await using toolport = createToolport({ mcpServers: { one: { url: one.url } } });
    const access = gatewayAccess(toolport);
    const port = access.portOf("ada");
    const call = async () => (await port.run(await port.findForCall("one__echo"), {}, {})).result.text;
    expect(await call()).toBe("ok");
    access.rest(0);
    expect(port.pool.created()).toEqual([]);
    one.requests.length = 0;
    expect(await call()).toBe("ok");
    expect(one.methods()).toEqual(["tools/call"]);
  });

  test(`a server that restarted during the rest is healed (${era})`, async () => {
    await using one = createTestServer({ ...TOOLS, era });
    const http = await one.http();
    await using toolport = createToolport({ mcpServers: { one: http.entry } });
    const access = gatewayAccess(toolport);
    const port = access.portOf("ada");
    const call = async () => (await port.run(await port.findForCall("one__echo"), {}, {})).result.text;
    await call();
    access.rest(0);
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
  const access = gatewayAccess(toolport);
  const port = access.portOf("ada");
  const calling = port.run(await port.findForCall("one__wait"), {}, {});
  await started;
  access.rest(0);
  expect(port.pool.created()).toHaveLength(1);
  news.emit("finish");
  expect((await calling).result.text).toBe("done");
  const stop = port.listen();
  access.rest(0);
  expect(port.pool.created()).toHaveLength(1);
  stop();
  access.rest(0);
  expect(port.pool.created()).toHaveLength(0);
});

test("a legacy session ends at the server when the user is let go", async () => {
  await using one = createTestServer({ ...TOOLS, era: "legacy" });
  const http = await one.http();
  await using toolport = createToolport({ mcpServers: { one: http.entry } });
  const access = gatewayAccess(toolport);
  await access.portOf("ada").need("tools", PATIENT);
  expect(http.sessionIds).toHaveLength(1);
  access.rest(0);
  expect(http.sessionIds).toHaveLength(1);
  await access.release("ada");
  expect(http.sessionIds).toHaveLength(0);
});
