/** Users of `as()`: what is equal for many of them is kept once, and an idle one keeps no connection. */
import { expect, test } from "vitest";
import { createToolport } from "../../src/index.js";
import { usersOf } from "../../src/serve/users.js";
import { countingServer, TOOLS } from "../serve/support/counting-server.js";
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
