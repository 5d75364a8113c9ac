/** What the calls of a gateway's users cost their servers in requests. */

import { createToolport } from "@toolport/core";
import type { Users } from "@toolport/core/internal";
import { expect, test } from "vitest";
import { usersOf } from "../src/users.js";
import { countingServer, PATIENT, TOOLS } from "./support/counting-server.js";

const call = async (users: Users, user: string, name: string) => {
  const port = users.use(user, "needed");
  const entry = await port.findForCall(name);
  return (await port.run(entry, {}, {})).result.text;
};

/** What a client of that era needs without a gateway that remembers nothing. */
const DIRECT = { modern: ["tools/call"], legacy: ["initialize", "notifications/initialized", "tools/call"] };

for (const era of ["modern", "legacy"] as const) {
  for (const count of [1, 10]) {
    test(`the first call of a user: at most two requests more (${era}, ${count} upstreams)`, async () => {
      const servers = await Promise.all(
        Array.from({ length: count }, () => countingServer({ ...TOOLS, era })),
      );
      await using _ = {
        [Symbol.asyncDispose]: async () =>
          void (await Promise.all(servers.map((each) => each[Symbol.asyncDispose]()))),
      };
      const mcpServers = Object.fromEntries(servers.map(({ url }, index) => [`s${index}`, { url }]));
      await using toolport = createToolport({ mcpServers });
      const users = usersOf(toolport);
      const last = servers.at(-1)!;
      const name = `s${count - 1}__echo`;
      const methodsOf = async (user: string) => {
        last.requests.length = 0;
        expect(await call(users, user, name)).toBe("ok");
        return last.methods();
      };
      const first = await methodsOf("ada");
      expect(first).toEqual(["server/discover", ...DIRECT[era].slice(0, -1), "tools/list", "tools/call"]);
      const second = await methodsOf("bob");
      expect(second.length - DIRECT[era].length).toBeLessThanOrEqual(2);
      if (era === "legacy")
        expect(second).toEqual([...DIRECT.legacy.slice(0, 2), "tools/list", "tools/call"]);
      expect(await methodsOf("bob")).toEqual(["tools/call"]);
      // No other server was asked for anything.
      for (const other of servers.slice(0, -1)) expect(other.requests).toEqual([]);
    });
  }
}

test("a second user needs no request but the call if the era and the tools are public", async () => {
  const hint = { ttlMs: 60_000, cacheScope: "public" as const };
  const cacheHints = { "server/discover": hint, "tools/list": hint };
  await using one = await countingServer({ ...TOOLS, era: "modern", cacheHints });
  await using toolport = createToolport({ mcpServers: { one: { url: one.url } } });
  const users = usersOf(toolport);
  await call(users, "ada", "one__echo");
  one.requests.length = 0;
  await users.use("bob", "needed").need("tools", PATIENT);
  expect(users.use("bob", "needed").catalog.items("tools")).toHaveLength(1);
  expect(one.methods()).toEqual([]);
  await call(users, "bob", "one__echo");
  expect(one.methods()).toEqual(["tools/call"]);
});

for (const era of ["modern", "legacy"] as const) {
  test(`a list is read once, when it is needed (${era})`, async () => {
    await using one = await countingServer({ ...TOOLS, era });
    await using toolport = createToolport({ mcpServers: { one: { url: one.url } } });
    const port = usersOf(toolport).use("ada", "needed");
    await Promise.all([
      port.need("prompts", PATIENT),
      port.need("prompts", PATIENT),
      port.need("prompts", PATIENT),
    ]);
    expect(one.methods().filter((method) => method.includes("list"))).toEqual(["prompts/list"]);
    await port.need("resources", PATIENT);
    await port.need("resourceTemplates", PATIENT);
    await port.need("prompts", PATIENT);
    expect(one.methods().filter((method) => method.includes("list"))).toEqual([
      "prompts/list",
      "resources/list",
      "resources/templates/list",
    ]);
    expect(one.methods()).not.toContain("GET");
    expect(one.methods()).not.toContain("subscriptions/listen");
  });
}

test("without a prefix, one server is asked once the name is known", async () => {
  await using one = await countingServer({ ...TOOLS, tools: { first: { handler: () => "1" } } });
  await using two = await countingServer({ ...TOOLS, tools: { second: { handler: () => "2" } } });
  const mcpServers = { one: { url: one.url }, two: { url: two.url } };
  await using toolport = createToolport({ mcpServers, prefix: false });
  const users = usersOf(toolport);
  expect(await call(users, "ada", "second")).toBe("2");
  one.requests.length = 0;
  expect(await call(users, "bob", "second")).toBe("2");
  expect(one.requests).toEqual([]);
  await expect(call(users, "bob", "third")).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
});

test("a server that is down costs only itself, and its tools arrive when it is back", async () => {
  await using one = await countingServer(TOOLS);
  await using two = await countingServer(TOOLS);
  two.status = 503;
  const mcpServers = { one: { url: one.url }, two: { url: two.url } };
  await using toolport = createToolport({ mcpServers });
  const port = usersOf(toolport).use("ada", "needed");
  await port.need("tools", PATIENT);
  expect(port.catalog.items("tools").map(({ name }) => name)).toEqual(["one__echo"]);
  await expect(port.findForCall("two__echo")).rejects.toMatchObject({ server: "two" });
  two.status = undefined;
  expect((await port.findForCall("two__echo")).info.server).toBe("two");
});

test("a server that is remembered as modern and became legacy is negotiated again", async () => {
  const hint = { ttlMs: 60_000, cacheScope: "public" as const };
  const cacheHints = { "server/discover": hint };
  await using modern = await countingServer({ ...TOOLS, era: "modern", cacheHints });
  const port = Number(new URL(modern.url).port);
  await using toolport = createToolport({ mcpServers: { one: { url: modern.url } } });
  const users = usersOf(toolport);
  await call(users, "ada", "one__echo");
  await modern.server.close();
  const { createTestServer } = await import("../../testing/src/index.js");
  await using legacy = createTestServer({ ...TOOLS, era: "legacy" });
  await legacy.http({ port });
  await users.use("bob", "needed").need("tools", PATIENT);
  expect(users.use("bob", "needed").catalog.items("tools")).toHaveLength(1);
  expect(await call(users, "bob", "one__echo")).toBe("ok");
});
