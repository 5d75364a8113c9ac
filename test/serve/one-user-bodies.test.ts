/** Bodies of one user: what is refused before it is read or parsed, and what counts as a request of the user. */
import { expect, test } from "vitest";
import { openGateway } from "./gateway-scene.js";

const post = (url: string, body: string): Promise<Response> =>
  fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });

test.each([
  ["levels", "[".repeat(4_000_000), "nested deeper than 500 levels"],
  ["objects", "{},".repeat(200_000), "more than 100000 objects and arrays"],
])("a body of too many %s is refused before it is parsed", async (_, body, message) => {
  await using scene = await openGateway({ mcpServers: {} });
  const response = await post(scene.url, body);
  expect(response.status).toBe(400);
  // Parsed, it would not be JSON.
  expect(await response.json()).toMatchObject({
    error: { code: -32600, message: expect.stringContaining(message) },
  });
});
