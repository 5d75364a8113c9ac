/** How long modern clients of a gateway may keep resources that they have read, and whether they may share them. */
import { expect, test } from "vitest";
import { startJsonRpcServer } from "../../../test/fixtures/servers/http-json-rpc.js";
import { openAttackScene } from "./attack-scene.js";
import { openGateway } from "./gateway-scene.js";
import { sendModern } from "./support/raw-gateway-client.js";

const page = { resultType: "complete", ttlMs: 60_000, cacheScope: "public" };

function startReader() {
  return startJsonRpcServer({
    "resources/list": () => ({ ...page, resources: [{ uri: "test://a", name: "a" }] }),
    "resources/read": ({ params }) =>
      params["inputResponses"] === undefined && params["requestState"] === undefined
        ? {
            ...page,
            resultType: "input_required",
            requestState: "s",
            inputRequests: { a: { method: "elicitation/create", params: { message: "?" } } },
          }
        : { ...page, contents: [{ uri: "test://a", text: "answered" }] },
  });
}

test("a question says nothing about keeping it, and an answer that needed input is not kept", async () => {
  await using one = await startReader();
  await using scene = await openGateway({ mcpServers: { one: one.entry } });
  const capabilities = { elicitation: { form: {} } };
  const read = async (params = {}) =>
    (await sendModern(scene.url, "resources/read", { uri: "test://a", ...params }, { capabilities })).message
      .result!;
  const asked = await read();
  expect(asked["resultType"]).toBe("input_required");
  expect(asked).not.toHaveProperty("ttlMs");
  expect(asked).not.toHaveProperty("cacheScope");
  const { requestState } = asked;
  const answered = await read({ requestState, inputResponses: { a: { action: "accept", content: {} } } });
  expect(answered).toMatchObject({ contents: [{ text: "answered" }], ttlMs: 0, cacheScope: "private" });
});

test("a public resource is private where requests need a credential", async () => {
  await using one = await startJsonRpcServer({
    "resources/list": () => ({ ...page, resources: [{ uri: "test://a", name: "a" }] }),
    "resources/read": () => ({ ...page, contents: [{ uri: "test://a", text: "a" }] }),
  });
  const options = { mcpServers: { one: one.entry } };
  await using scene = await openGateway(options);
  const { message } = await sendModern(scene.url, "resources/read", { uri: "test://a" });
  expect(message.result).toMatchObject({ ttlMs: 60_000, cacheScope: "public" });
  await using users = await openAttackScene(options);
  const { result } = (await users.modern("ada", "resources/read", { uri: "test://a" })).last;
  expect(result).toMatchObject({ ttlMs: 60_000, cacheScope: "private" });
});
