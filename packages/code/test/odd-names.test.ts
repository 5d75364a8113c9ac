/** Tools and servers with odd names: each has a name of its own in programs, and a call reaches exactly that tool. */
import { createToolport } from "toolport";
import { createCodeMode } from "toolport/code";
import { createTestServer, type TestTool } from "toolport/testing";
import { expect, test } from "vitest";

const NAMES = [
  ...[
    "__proto__",
    "constructor",
    "prototype",
    "then",
    "toJSON",
    "valueOf",
    "hasOwnProperty",
    "length",
    "name",
  ],
  ...["call", "apply", "arguments", "caller", "await", "eval", "tools", "console", "send", "finish"],
  ...["a.b", "a-b", "a b", "aB", "a_b", "aB2", "0", "日本", "été", "h\\u0061x", "x\u202ey", "\u2028x"],
];

test("tools", async () => {
  const tools: Record<string, TestTool> = Object.fromEntries(
    NAMES.map((name) => [name, { handler: () => `ran ${name}` }]),
  );
  await using server = createTestServer({ tools });
  await using toolport = createToolport({ mcpServers: { s: server.memory() } });
  await using code = createCodeMode(toolport, { discovery: "declare" });
  const out = await code.execute(`
    const texts = [];
    for (const name of Object.keys(tools.s)) texts.push(await tools.s[name]({}));
    return texts;
  `);
  expect((out.value as string[]).toSorted()).toEqual(NAMES.map((name) => `ran ${name}`).toSorted());
  // Every name of a declaration is a member: `tools.s.<name>` without brackets.
  const [{ description } = { description: "" }] = await code.tools();
  const declared = [...description!.matchAll(/^(\w+)\(\):Promise/gm)].map(([, name]) => name!);
  expect(declared).toHaveLength(NAMES.length);
  const called = await code.execute(
    `return [${declared.map((name) => `await tools.s.${name}({})`).join(", ")}].length`,
  );
  expect(called.value).toBe(NAMES.length);
  expect(({} as { ran?: unknown }).ran).toBeUndefined();
});

test("servers", async () => {
  const names = ["my-box", "my_box", "myBox", "my.box", "then", "valueOf", "toString"];
  const servers = names.map((name) => createTestServer({ tools: { who: { handler: () => name } } }));
  await using toolport = createToolport({
    mcpServers: Object.fromEntries(names.map((name, index) => [name, servers[index]!.memory()])),
  });
  await using code = createCodeMode(toolport);
  const out = await code.execute(`
    const found = {};
    for (const name of Object.keys(tools)) found[name] = await tools[name].who();
    return found;
  `);
  const found = out.value as Record<string, string>;
  expect(Object.values(found).toSorted()).toEqual(names.toSorted());
  // The server that has a valid name keeps it.
  expect(found["myBox"]).toBe("myBox");
  await Promise.all(servers.map((server) => server.close()));
});
