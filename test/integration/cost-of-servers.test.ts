/** `cost({ servers })` counts the tools of these servers, and connects no others. */
import { createToolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";

const tools = { echo: { description: "Says it again", handler: () => "" } };

test("counts chosen servers without connecting the others", async () => {
  await using server = createTestServer({ tools });
  await using toolport = createToolport({
    mcpServers: {
      first: server.memory(),
      second: server.memory(),
      third: { ...server.memory(), defer: true },
    },
  });
  const { servers } = await toolport.cost({ servers: ["first"] });
  expect(Object.keys(servers)).toEqual(["first"]);
  expect(await toolport.cost({ servers: [] })).toMatchObject({ tokens: 0, shown: 0, tools: [], servers: {} });
  expect(Object.values(toolport.snapshot().servers).map(({ state }) => state)).toEqual([
    "ready",
    "idle",
    "idle",
  ]);
  const all = await toolport.cost();
  expect(all.servers).toMatchObject({ first: { tools: 1 }, second: { tools: 1 }, third: { shown: 0 } });
  const deferred = await toolport.cost({ servers: ["third"] });
  expect(deferred.tools.map(({ name }) => name).sort()).toEqual(["call_tool", "search_tools", "third__echo"]);
  expect(deferred.shown).toBe(deferred.servers["toolport"]?.tokens);
  await expect(toolport.cost({ servers: ["fourth"] })).rejects.toMatchObject({ code: "UNKNOWN_SERVER" });
});
