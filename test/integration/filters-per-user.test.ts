/** Filters added at run time belong to the user they were added for; those of the plain port apply to all users. */
import { createToolport, type Toolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";

const server = () =>
  createTestServer({
    tools: {
      read: { handler: () => "read" },
      write: { handler: () => "written" },
      drop: { handler: () => "dropped" },
    },
  });

const names = async (toolport: Toolport) => (await toolport.tools()).map(({ sourceName }) => sourceName);

test("a filter of one user does not change the tools of other users", async () => {
  await using source = server();
  await using toolport = createToolport({ mcpServers: { s: source.memory() } });
  const ada = toolport.as("ada");
  const grace = toolport.as("grace");
  expect(await names(grace)).toEqual(["read", "write", "drop"]);
  ada.addFilter({ only: ["read"] });
  expect(await names(ada)).toEqual(["read"]);
  await expect(ada.callTool("s__write")).rejects.toMatchObject({ code: "TOOL_WITHHELD" });
  for (const other of [toolport, grace, toolport.as("mary")]) {
    expect(await names(other)).toEqual(["read", "write", "drop"]);
    expect((await other.callTool("s__write")).text).toBe("written");
  }
  // The same name is the same user.
  expect(await names(toolport.as("ada"))).toEqual(["read"]);
  expect(await names(grace.as("ada"))).toEqual(["read"]);
});

test("setFilters and resetFilters of one user change that user's filters only", async () => {
  await using source = server();
  await using toolport = createToolport({ mcpServers: { s: source.memory() }, except: ["drop"] });
  const ada = toolport.as("ada");
  const grace = toolport.as("grace");
  grace.addFilter({ only: ["read"] });
  ada.setFilters([{ only: ["write", "drop"] }]);
  expect([await names(toolport), await names(ada), await names(grace)]).toEqual([
    ["read", "write"],
    ["write"],
    ["read"],
  ]);
  ada.resetFilters();
  expect([await names(toolport), await names(ada), await names(grace)]).toEqual([
    ["read", "write"],
    ["read", "write"],
    ["read"],
  ]);
});

test("a filter of the plain port applies to every user, earlier and later ones, and no user can lift it", async () => {
  await using source = server();
  await using toolport = createToolport({ mcpServers: { s: source.memory() } });
  const ada = toolport.as("ada");
  ada.addFilter({ except: ["drop"] });
  expect(await names(ada)).toEqual(["read", "write"]);
  toolport.addFilter({ except: ["write"] });
  expect(await names(ada)).toEqual(["read"]);
  expect(await names(toolport.as("grace"))).toEqual(["read", "drop"]);
  ada.resetFilters();
  expect(await names(ada)).toEqual(["read", "drop"]);
  ada.setFilters([]);
  expect(await names(ada)).toEqual(["read", "drop"]);
  ada.addFilter({ except: ["read"] });
  toolport.setFilters({ except: ["drop"] });
  expect(await names(ada)).toEqual(["write"]);
  toolport.resetFilters();
  expect(await names(ada)).toEqual(["write", "drop"]);
  expect(await names(toolport)).toEqual(["read", "write", "drop"]);
});

test("a user's filters outlast a new authProvider, and end with close()", async () => {
  await using source = server();
  await using toolport = createToolport({ mcpServers: { s: source.memory() } });
  const provider = () => ({ token: async () => "t" });
  toolport.as("ada", { authProvider: provider() }).addFilter({ only: ["read"] });
  const renewed = toolport.as("ada", { authProvider: provider() });
  expect(await names(renewed)).toEqual(["read"]);
  await renewed.close();
  expect(await names(toolport.as("ada"))).toEqual(["read", "write", "drop"]);
});
