/** A gateway among its own servers, over HTTP: lists end, and requests are refused after four gateways. */
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { openGateway } from "./gateway-scene.js";

test("G29 lists of a gateway that is its own server stop growing, and requests pass four gateways at most", async () => {
  await using upstream = createTestServer({
    tools: { echo: { handler: () => "echo" } },
    prompts: { greet: { get: () => "Hello" } },
    resources: { "test://a": { text: "a" } },
    resourceTemplates: { "test://{id}": { read: () => "b" } },
  });
  const { entry } = await upstream.http();
  await using scene = await openGateway({ mcpServers: { up: entry } });
  await scene.toolport.add("self", { url: scene.url });
  const client = await scene.client("modern");
  // Each reading of the own lists adds a level, until the limit.
  for (let round = 0; round < 5; round += 1) await scene.toolport.refresh();
  const { tools } = await client.listTools();
  const names = tools.map(({ name }) => name).sort((a, b) => a.length - b.length);
  expect(names).toEqual(["up__echo", "self__up__echo", "self__self__up__echo", "self__self__self__up__echo"]);
  expect((await client.listPrompts()).prompts).toHaveLength(4);
  expect((await client.listResources()).resources).toHaveLength(4);
  expect((await client.listResourceTemplates()).resourceTemplates.length).toBeLessThanOrEqual(4);
  for (const name of names) {
    const { content } = await client.callTool({ name, arguments: {} });
    expect(content).toEqual([{ type: "text", text: "echo" }]);
  }
  expect(upstream.calls).toHaveLength(4);
  const passed = { "toolport/hops": 4 };
  const far = [
    client.callTool({ name: "up__echo", arguments: {}, _meta: passed }),
    client.getPrompt({ name: "up__greet", _meta: passed }),
    client.readResource({ uri: "test://a", _meta: passed }),
    // Three gateways here, and two before.
    client.callTool({ name: "self__self__up__echo", arguments: {}, _meta: { "toolport/hops": 2 } }),
  ];
  await Promise.all(far.map((request) => expect(request).rejects.toThrow("too many gateways")));
  expect(upstream.calls).toHaveLength(4);
});
