/** `servers` of `createGateway`: a user gets nothing of the other servers. */
import { createTestServer } from "toolport/testing";
import { expect, onTestFinished, test } from "vitest";
import { openGateway } from "./gateway-scene.js";

async function openScene() {
  const create = (name: string) => {
    const server = createTestServer({
      tools: { act: { handler: () => name } },
      resources: { [`${name}://note`]: { name: "note", text: `text of ${name}` } },
      prompts: { ask: { get: () => `prompt of ${name}` } },
    });
    onTestFinished(() => server.close());
    return server.memory();
  };
  const scene = await openGateway(
    { mcpServers: { open: create("open"), hidden: create("hidden") } },
    { auth: false, servers: () => ["open"] },
  );
  onTestFinished(() => scene[Symbol.asyncDispose]());
  return scene;
}

test.each(["modern", "legacy"] as const)("a %s client sees and reads one server only", async (era) => {
  const scene = await openScene();
  const client = await scene.client(era);
  const names = {
    tools: (await client.listTools()).tools.map(({ name }) => name),
    prompts: (await client.listPrompts()).prompts.map(({ name }) => name),
    resources: (await client.listResources()).resources.map(({ uri }) => uri),
  };
  expect(names).toEqual({ tools: ["open__act"], prompts: ["open__ask"], resources: ["open://note"] });
  expect((await client.readResource({ uri: "open://note" })).contents).toMatchObject([
    { text: "text of open" },
  ]);
  const refused = /not offered to you|Unknown|not found/i;
  await expect(client.readResource({ uri: "hidden://note" })).rejects.toThrow(refused);
  await expect(client.getPrompt({ name: "hidden__ask" })).rejects.toThrow(refused);
  await expect(client.callTool({ name: "hidden__act" })).rejects.toThrow(refused);
});
