/** A user who floods the gateway: only that user is refused, and nothing is written to the store for it. */
import { EventEmitter } from "node:events";
import { memoryStore, type Store } from "toolport";
import { createTestServer } from "toolport/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../../../test/support/wait-for.js";
import { openGateway } from "./gateway-scene.js";
import { callModern, keepAliveAgent, textOfReply } from "./support/raw-gateway-client.js";
import { warmUp } from "./warm-up.js";

beforeAll(warmUp);

/** The token is the name of the user. */
const auth = {
  verify(request: Request) {
    const principal = request.headers.get("authorization")?.slice("Bearer ".length);
    return principal === undefined ? undefined : { principal };
  },
};

/** A store that counts its operations. */
function createCountingStore(): { store: Store; operations: () => readonly string[] } {
  const operations: string[] = [];
  const store = new Proxy(memoryStore(), {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        operations.push(`${String(name)} ${String(args[0])}`);
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  return { store, operations: () => operations };
}

describe("G11 one user floods the gateway", () => {
  test("calls beyond the limit get 429, and other users are served", async () => {
    const news = new EventEmitter();
    let waiting = 0;
    await using server = createTestServer({
      tools: {
        wait: {
          handler: () =>
            new Promise<string>((resolve) => {
              waiting += 1;
              news.once("go on", () => resolve("waited"));
            }),
        },
        echo: { handler: () => "ok" },
      },
    });
    news.setMaxListeners(100);
    await using scene = await openGateway(
      { mcpServers: { one: server.memory() } },
      { auth, concurrency: 20 },
    );
    using agent = keepAliveAgent(200);
    const flood = Array.from({ length: 200 }, () =>
      callModern(scene.url, "one__wait", {}, { token: "mallory", agent }),
    );
    await waitFor(() => waiting === 20, { label: "the allowed calls" });
    for (let round = 0; round < 20; round += 1)
      expect(textOfReply(await callModern(scene.url, "one__echo", {}, { token: "bob" }))).toBe("ok");
    const isRefused = (reply: Awaited<(typeof flood)[number]>) => reply.status === 429;
    news.emit("go on");
    const replies = await Promise.all(flood);
    expect(replies.filter(isRefused)).toHaveLength(180);
    expect(replies.filter(isRefused).every(({ headers }) => headers["retry-after"] === "1")).toBe(true);
    expect(replies.filter((reply) => textOfReply(reply) === "waited")).toHaveLength(20);
    expect(waiting).toBe(20);
  });

  test("rateLimit refuses more requests per second, for that user only", async () => {
    await using server = createTestServer({ tools: { echo: { handler: () => "ok" } } });
    await using scene = await openGateway(
      { mcpServers: { one: server.memory() } },
      { auth, rateLimit: { perSecond: 0.001, burst: 5 } },
    );
    const statuses = async (token: string, count: number) => {
      const replies = [];
      for (let round = 0; round < count; round += 1)
        replies.push((await callModern(scene.url, "one__echo", {}, { token })).status);
      return replies;
    };
    expect(await statuses("mallory", 7)).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect(await statuses("bob", 5)).toEqual([200, 200, 200, 200, 200]);
  });

  test("answers to questions that were never asked write nothing to the store", async () => {
    const { store, operations } = createCountingStore();
    await using server = createTestServer({ tools: { echo: { handler: () => "ok" } } });
    await using scene = await openGateway({ mcpServers: { one: server.memory() }, store }, { auth });
    expect(textOfReply(await callModern(scene.url, "one__echo", {}, { token: "mallory" }))).toBe("ok");
    const before = operations().length;
    const post = (id: string) =>
      fetch(scene.url, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: "Bearer mallory" },
        body: JSON.stringify({ jsonrpc: "2.0", id, result: { action: "accept" } }),
      });
    const forged = ["other-replica/1/abcdef12", crypto.randomUUID(), `${crypto.randomUUID()}/7/x`, "1"];
    const statuses = await Promise.all(forged.map(async (id) => (await post(id)).status));
    expect(statuses).toEqual([202, 202, 202, 202]);
    expect(operations().slice(before)).toEqual([]);
  });
});
