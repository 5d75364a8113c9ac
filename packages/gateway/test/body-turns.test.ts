/** Large bodies of one user are parsed one after the other, with pauses: the requests of others are served in between. */

import type { Fields } from "@toolport/base";
import type { Port } from "@toolport/core/internal";
import { createToolport } from "toolport";
import { createGateway } from "toolport/serve";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ProgramLimits } from "../src/code/call-inner-tool.js";
import { type GatewayUser, GatewayUsers } from "../src/users.js";

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

const LIMITS = {
  maxUsers: 10,
  maxStreams: 10,
  maxStreamsPerUser: 10,
  userIdleMs: 60_000,
  concurrency: 64,
  bodyBytes: 16 * 1024 * 1024,
  rateLimit: undefined,
};

test("large arguments of a program's calls wait among the bodies of its user", async () => {
  const source = { use: () => ({}) as Port, release: async () => {} };
  const users = new GatewayUsers(source, LIMITS, (error) => expect.fail(String(error)));
  const [mallory, bob] = ["mallory", "bob"].map((name) => users.arrive(name, false).user);
  const order: string[] = [];
  const { signal } = new AbortController();
  const enter = async (user: GatewayUser, name: string, args: object) => {
    const leave = await new ProgramLimits(users, user).enter(args as Fields, signal);
    order.push(name);
    leave();
  };
  const large = { text: "x".repeat(3_000_000) };
  await enter(mallory!, "large 1", large);
  const second = enter(mallory!, "large 2", large);
  await enter(bob!, "bob", large);
  await enter(mallory!, "small", { text: "x" });
  expect(order).toEqual(["large 1", "bob", "small"]);
  await vi.advanceTimersByTimeAsync(400);
  await second;
  const controller = new AbortController();
  const last = new ProgramLimits(users, mallory!).enter(large, controller.signal);
  controller.abort(new Error("the program has ended"));
  await expect(last).rejects.toThrow("the program has ended");
  users.close();
});
