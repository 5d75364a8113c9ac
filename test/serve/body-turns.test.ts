/** Large bodies of one user are parsed one after the other, with pauses: the requests of others are served in between. */
import { createToolport } from "toolport";
import { createGateway } from "toolport/serve";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const ping = (arg: unknown) => JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", params: { arg } });
const SMALL = ping(1);
const LARGE = ping("x".repeat(3_000_000));
/** As much work as a text of more than two megabytes. */
const OBJECTS = ping(new Array(99_000).fill({ a: 1 }));

test.each([
  ["large bodies", LARGE],
  ["many objects", OBJECTS],
  ["text that is not JSON", LARGE.slice(1)],
])("%s", async (_, body) => {
  await using toolport = createToolport({ mcpServers: {} });
  const gateway = createGateway(toolport, {
    auth: { verify: ({ headers }) => ({ principal: headers.get("authorization")! }) },
  });
  const order: string[] = [];
  const send = async (authorization: string, name: string, text: string) => {
    const headers = { "content-type": "application/json", authorization };
    await gateway.fetch(new Request("http://localhost/mcp", { method: "POST", headers, body: text }));
    order.push(name);
  };
  const first = [
    send("mallory", "large 1", body),
    send("mallory", "large 2", body),
    send("mallory", "large 3", body),
  ];
  await first[0];
  // Neither others nor small requests of the same user wait.
  await send("bob", "bob", body);
  await send("mallory", "small", SMALL);
  expect(order).toEqual(["large 1", "bob", "small"]);
  // 8 MiB in a second.
  await vi.advanceTimersByTimeAsync(180);
  expect(order).toHaveLength(3);
  await vi.advanceTimersByTimeAsync(270);
  await first[1];
  expect(order.slice(3)).toEqual(["large 2"]);
  await vi.advanceTimersByTimeAsync(450);
  await Promise.all(first);
  // Nothing is left to wait for.
  await vi.advanceTimersByTimeAsync(450);
  await send("mallory", "large 4", body);
  await gateway.close();
});
