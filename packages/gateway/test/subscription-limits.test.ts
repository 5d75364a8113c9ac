/** What a legacy session can make all replicas keep is limited. */
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { openGateway } from "./gateway-scene.js";
import { post, VERSIONS } from "./raw-client.js";

test("subscriptions count by their length too", async () => {
  await using upstream = createTestServer({ resources: { "test://a": { text: "a" } } });
  await using scene = await openGateway({ mcpServers: { up: upstream.memory() } });
  const hello = {
    protocolVersion: VERSIONS.legacy,
    capabilities: {},
    clientInfo: { name: "raw", version: "1" },
  };
  const first = await post(scene.url, { jsonrpc: "2.0", id: 0, method: "initialize", params: hello });
  const headers = { "mcp-session-id": first.headers.get("mcp-session-id")! };
  const send = async (method: string, uri: string) =>
    (await post(scene.url, { jsonrpc: "2.0", id: 1, method, params: { uri } }, { headers })).last.error
      ?.message;
  const long = (letter: string) => `test://${letter.repeat(200_000)}`;
  expect(await send("resources/subscribe", "test://a")).toBeUndefined();
  expect(await send("resources/subscribe", long("b"))).toBeUndefined();
  expect(await send("resources/subscribe", long("c"))).toContain("Too many subscriptions");
  expect(await send("resources/subscribe", long("b"))).toBeUndefined();
  expect(await send("resources/unsubscribe", long("b"))).toBeUndefined();
  expect(await send("resources/subscribe", long("c"))).toBeUndefined();
});
