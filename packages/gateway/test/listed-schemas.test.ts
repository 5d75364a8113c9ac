/** Tools whose schemas have a root that clients of the SDKs refuse: none of them takes the list away. */
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { createToolport } from "toolport";
import { createGateway } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { MODERN } from "./gateway-scene.js";

const text = { type: "string" };

/** The schema of the server, and the one that clients get. */
const SCHEMAS: Record<string, [Record<string, unknown>, Record<string, unknown>]> = {
  plain: [
    { type: "object", properties: { a: text }, required: ["a"], additionalProperties: false },
    { type: "object", properties: { a: text }, required: ["a"], additionalProperties: false },
  ],
  empty: [{}, { type: "object" }],
  no_type: [{ anyOf: [{ required: ["a"] }] }, { anyOf: [{ required: ["a"] }], type: "object" }],
  no_names: [{ type: "object", required: null }, { type: "object" }],
  one_name: [
    { type: "object", properties: { a: text }, required: "a" },
    { type: "object", properties: { a: text } },
  ],
  // PHP writes an empty map as a list.
  php: [
    { type: "object", properties: [], required: [] },
    { type: "object", required: [] },
  ],
  no_properties: [{ type: "object", properties: null }, { type: "object" }],
  // Go writes `true` for any value.
  go: [
    { type: "object", properties: { raw: true, never: false, odd: "string", a: text } },
    { type: "object", properties: { raw: {}, never: { not: {} }, odd: {}, a: text } },
  ],
};

test.each(["v1", "v2-legacy", "v2-modern"] as const)("%s lists and calls every tool", async (kind) => {
  await using server = createTestServer({
    tools: Object.fromEntries(
      Object.entries(SCHEMAS).map(([name, [inputSchema]]) => [name, { inputSchema, handler: () => name }]),
    ),
  });
  await using toolport = createToolport({ mcpServers: { odd: server.memory() } });
  const gateway = createGateway(toolport, { auth: false });
  const info = { name: "test-client", version: "1.0.0" };
  const client =
    kind === "v1"
      ? new ClientV1(info)
      : new ClientV2(info, { versionNegotiation: { mode: kind === "v2-modern" ? MODERN : "legacy" } });
  await client.connect(gateway.memory() as never);
  const { tools } = await client.listTools();
  const listed = Object.fromEntries(tools.map(({ name, inputSchema }) => [name.slice(5), inputSchema]));
  expect(listed).toEqual(
    Object.fromEntries(Object.entries(SCHEMAS).map(([name, [, shown]]) => [name, shown])),
  );
  for (const name of Object.keys(SCHEMAS)) {
    const { content } = await client.callTool({ name: `odd__${name}`, arguments: { a: "x" } });
    expect(content).toEqual([{ type: "text", text: name }]);
  }
  await client.close();
  await gateway.close();
});
