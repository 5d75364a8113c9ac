/** Access of a gateway to the ports: one for each user, with public prompt names and entries as the servers sent them. */

import { createToolport } from "@toolport/core";
import { createTestServer } from "@toolport/testing";
import { expect, test } from "vitest";
import { usersOf } from "../src/users.js";
import { PATIENT } from "./support/counting-server.js";

const server = (name: string) =>
  createTestServer({
    tools: { echo: { description: "Ec\u200bho", _meta: { "x/y": 1 }, handler: () => `from ${name}` } },
    prompts: { plan: { get: () => "a plan" }, "look up": { get: () => "found" } },
    resources: { "test://a": { text: "a" } },
  });

test("one port for each user, forgotten after release", async () => {
  await using one = server("one");
  await using toolport = createToolport({ mcpServers: { one: one.memory() } });
  const users = usersOf(toolport);
  expect(users.use(undefined, "needed")).toBe(users.plain);
  const ada = users.use("ada", "needed");
  expect(users.use("ada", "needed")).toBe(ada);
  expect(users.peek("ada")).toBe(ada);
  await users.release("ada");
  expect(users.peek("ada")).toBeUndefined();
  await users.release("ada");
  expect(() => ada.assertOpen()).toThrow("closed");
  expect(users.use("ada", "needed")).not.toBe(ada);
});

test("as() and a gateway use the same port of a user", async () => {
  await using one = server("one");
  await using toolport = createToolport({ mcpServers: { one: one.memory() } });
  const users = usersOf(toolport);
  const ada = users.use("ada", "needed");
  const tools = await toolport.as("ada").tools();
  expect(tools.map(({ name }) => name)).toEqual(["one__echo"]);
  expect(ada.catalog.items("tools").map(({ name }) => name)).toEqual(["one__echo"]);
  expect(await toolport.as("ada").prompts()).toHaveLength(2);
});

test("an object that createToolport did not return is refused", async () => {
  await using toolport = createToolport({});
  expect(() => usersOf({})).toThrow("createToolport()");
  expect(() => usersOf(toolport.as("ada"))).toThrow("not one from as(user)");
  expect(Object.keys(toolport)).not.toContain("toolport.gateway-users");
});

test("entries stay as the servers sent them, with cleaned texts and public names beside them", async () => {
  await using one = server("one");
  await using two = server("two");
  await using toolport = createToolport({ mcpServers: { one: one.memory(), two: two.memory() } });
  const port = usersOf(toolport).use("ada", "needed");
  await port.need("tools", PATIENT);
  await port.need("prompts", PATIENT);
  await port.need("resources", PATIENT);
  const { catalog } = port;
  expect(catalog.items("tools")).toMatchObject([
    { server: "one", name: "one__echo", item: { name: "echo", description: "Echo", _meta: { "x/y": 1 } } },
    { server: "two", name: "two__echo", item: { name: "echo" } },
  ]);
  expect(catalog.items("tools")).toBe(catalog.items("tools"));
  const names = catalog.promptNames();
  expect(new Set(names).size).toBe(4);
  expect(names[0]).toBe("one__plan");
  expect(catalog.prompt("two__plan")).toEqual({ server: "two", name: "plan" });
  const others = names.filter((name) => !name.endsWith("__plan"));
  expect(others.map((name) => catalog.prompt(name))).toEqual([
    { server: "one", name: "look up" },
    { server: "two", name: "look up" },
  ]);
  for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  expect(catalog.prompt("two__none")).toBeUndefined();
  expect(catalog.items("resources")).toMatchObject([{ server: "one" }, { server: "two" }]);
});

test("without a prefix, equal prompt names stay apart and stable", async () => {
  await using one = server("one");
  await using two = server("two");
  const mcpServers = { one: one.memory(), two: two.memory() };
  await using toolport = createToolport({ mcpServers, prefix: false });
  const { catalog } = usersOf(toolport).use("ada", "needed");
  await usersOf(toolport).use("ada", "needed").need("prompts", PATIENT);
  const names = catalog.promptNames();
  expect(catalog.prompt("plan")).toEqual({ server: "one", name: "plan" });
  await two.update({ prompts: {} });
  await usersOf(toolport).use("bob", "needed").need("prompts", PATIENT);
  expect(usersOf(toolport).use("bob", "needed").catalog.promptNames()).toEqual(names.slice(0, 2));
});
