/** Prompts as tools, for models that may use them. */
import { createToolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";

test("prompts as tools, on request", async () => {
  await using server = createTestServer({
    prompts: {
      greet: {
        description: "Greets",
        arguments: [{ name: "who", description: "Whom", required: true }, { name: "how" }],
        get: ({ who, how }) => `Greet ${who} ${how ?? "kindly"}`,
      },
    },
  });
  await using toolport = createToolport({ mcpServers: { it: server.memory() }, promptsAsTools: true });
  expect((await toolport.tools()).map(({ name }) => name)).toEqual(["list_prompts", "get_prompt"]);
  expect(JSON.parse((await toolport.callTool("list_prompts")).text)).toEqual([
    {
      mcpServer: "it",
      name: "greet",
      description: "Greets",
      arguments: [
        { name: "who", description: "Whom", required: true },
        { name: "how", description: null, required: false },
      ],
    },
  ]);
  const get = (args: Record<string, unknown>) => toolport.callTool("get_prompt", args);
  const rendered = await get({ mcpServer: "it", name: "greet", arguments: { who: "Ada", how: 3 } });
  expect(JSON.parse(rendered.text)).toEqual([
    { role: "user", content: { type: "text", text: "Greet Ada 3" } },
  ]);
  expect(await get({ mcpServer: "it", name: "gret" })).toMatchObject({
    isError: true,
    text: expect.stringContaining("Did you mean greet?"),
  });
  expect(await get({ mcpServer: "no", name: "greet" })).toMatchObject({ isError: true });
  expect(await get({ name: 1 })).toMatchObject({ isError: true });
});
