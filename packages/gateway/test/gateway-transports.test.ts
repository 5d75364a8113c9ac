/** A gateway in memory and behind `fetch`, for clients of both eras. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createToolport } from "toolport";
import { createGateway } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { afterEach, describe, expect, test } from "vitest";
import { MODERN } from "./gateway-scene.js";

const ERAS = ["modern", "legacy"] as const;

const server = createTestServer({
  tools: { greet: { description: "Greets", handler: ({ name }) => `Hello ${String(name)}` } },
});
const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

function openGateway() {
  const toolport = createToolport({ mcpServers: { one: server.memory() } });
  const gateway = createGateway(toolport, { auth: false });
  opened.push(toolport, gateway);
  return gateway;
}

function createClient(era: (typeof ERAS)[number]): Client {
  const mode = era === "modern" ? MODERN : "legacy";
  const client = new Client({ name: "test-client", version: "1.0.0" }, { versionNegotiation: { mode } });
  opened.push(client);
  return client;
}

describe.each(ERAS)("%s clients", (era) => {
  test("in the same process", async () => {
    const client = createClient(era);
    await client.connect(openGateway().memory());
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["one__greet"]);
    const result = await client.callTool({ name: "one__greet", arguments: { name: "Ada" } });
    expect(result.content).toEqual([{ type: "text", text: "Hello Ada" }]);
  });

  test("through fetch", async () => {
    const gateway = openGateway();
    const client = createClient(era);
    const fetch = (url: string | URL, init?: RequestInit) => gateway.fetch(new Request(url, init));
    await client.connect(new StreamableHTTPClientTransport(new URL("http://localhost/mcp"), { fetch }));
    const result = await client.callTool({ name: "one__greet", arguments: { name: "Ada" } });
    expect(result.content).toEqual([{ type: "text", text: "Hello Ada" }]);
  });
});

test("HTTP without credentials is refused when the gateway is created for it", async () => {
  const toolport = createToolport({ mcpServers: { one: server.memory() } });
  opened.push(toolport);
  const gateway = createGateway(toolport);
  opened.push(gateway);
  await expect(gateway.fetch(new Request("http://localhost/mcp"))).rejects.toMatchObject({
    name: "ConfigError",
  });
});
