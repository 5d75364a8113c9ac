/** Many calls at once through a gateway: after a restart of their server, by one user, and of many users with logins of their own. */
import { createTestServer } from "toolport/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { openGateway } from "./gateway-scene.js";
import { TOOLS } from "./support/counting-server.js";
import {
  callModern,
  failureOfReply,
  keepAliveAgent,
  sendModern,
  textOfReply,
} from "./support/raw-gateway-client.js";
import { warmUp } from "./warm-up.js";

beforeAll(warmUp);

describe("G05 a server forgets its session, or restarts while calls wait", () => {
  test("1,000 calls after it: all succeed, with one handshake", async () => {
    const COUNT = 1_000;
    await using server = createTestServer({ ...TOOLS, era: "legacy" });
    const handshakes: Promise<void>[] = [];
    let arrived = 0;
    let release!: () => void;
    const allArrived = new Promise<void>((resolve) => {
      release = resolve;
    });
    let isForgotten = false;
    const http = await server.http({
      async intercept(request) {
        if (request.method !== "POST") return undefined;
        const { method } = (await request.clone().json()) as { method: string };
        if (method !== "initialize") return undefined;
        if (isForgotten) handshakes.push(allArrived);
        await handshakes.at(-1);
        return undefined;
      },
    });
    await using scene = await openGateway(
      { mcpServers: { one: { url: http.url, protocol: "legacy" } } },
      { auth: false, concurrency: COUNT },
    );
    expect(textOfReply(await callModern(scene.url, "one__echo"))).toBe("ok");
    scene.server.on("request", () => {
      arrived += 1;
      if (arrived === COUNT) release();
    });
    isForgotten = true;
    await http.forgetSessions();
    using agent = keepAliveAgent(COUNT);
    const replies = await Promise.all(
      Array.from({ length: COUNT }, () => callModern(scene.url, "one__echo", {}, { agent })),
    );
    expect(replies.filter((reply) => textOfReply(reply) !== "ok").map(failureOfReply)).toEqual([]);
    expect(handshakes).toHaveLength(1);
    expect(server.calls).toHaveLength(COUNT + 1);
  });
});

describe("G12 ten servers with 10,000 tools each", () => {
  test("all 100,000 are listed, page by page", async () => {
    const servers = await Promise.all(Array.from({ length: 10 }, () => openLongList(10_000)));
    await using _ = {
      [Symbol.asyncDispose]: async () => void (await Promise.all(servers.map((server) => server.close()))),
    };
    const entries = servers.map(({ url }, index) => [`s${index}`, { url, protocol: PINNED }]);
    await using scene = await openGateway({ mcpServers: Object.fromEntries(entries) });
    const names = new Set<string>();
    let cursor: unknown;
    let largest = 0;
    do {
      const params = cursor === undefined ? {} : { cursor };
      const { message, text } = await sendModern(scene.url, "tools/list", params);
      const { tools, nextCursor } = message.result as { tools: { name: string }[]; nextCursor?: string };
      for (const { name } of tools) names.add(name);
      largest = Math.max(largest, text.length);
      cursor = nextCursor;
    } while (cursor !== undefined);
    expect(names.size).toBe(100_000);
    expect(largest).toBeLessThan(1_100_000);
    expect(textOfReply(await callModern(scene.url, "s9__tool9999"))).toBe("tool9999");
  });
});

describe("G15 a confused deputy", () => {
  test("10,000 mixed calls reach the servers with the token of their own user", async () => {
    const COUNT = 10_000;
    const users = Array.from({ length: 25 }, (_, index) => `user${index}`);
    const wrong: string[] = [];
    let checked = 0;
    const createServer = (era: "modern" | "legacy") =>
      createTestServer({
        era,
        tools: {
          who: {
            handler({ user }, { request }) {
              const given = request.http?.req?.headers.get("authorization");
              checked += 1;
              if (given !== `Bearer upstream-${String(user)}`) wrong.push(`${String(user)}: ${given}`);
              return String(user);
            },
          },
        },
      });
    await using modern = createServer("modern");
    await using legacy = createServer("legacy");
    const mcpServers = {
      modern: { url: (await modern.http()).url },
      legacy: { url: (await legacy.http()).url },
    };
    await using scene = await openGateway(
      { mcpServers },
      { auth: { verify: (request) => principalOf(request) }, concurrency: COUNT },
    );
    for (const user of users)
      scene.toolport.as(user, { headers: { authorization: `Bearer upstream-${user}` } });
    using agent = keepAliveAgent(64);
    let next = 0;
    const work = async () => {
      for (let call = next++; call < COUNT; call = next++) {
        const user = users[(call * 7) % users.length]!;
        const name = call % 2 === 0 ? "modern__who" : "legacy__who";
        const reply = await callModern(scene.url, name, { user }, { token: `client-${user}`, agent });
        if (textOfReply(reply) !== user) wrong.push(`${user} got ${reply.text}`);
      }
    };
    await Promise.all(Array.from({ length: 64 }, work));
    expect(wrong).toEqual([]);
    expect(checked).toBe(COUNT);
  });
});

const PINNED = { pin: "2026-07-28" } as const;

function principalOf(request: Request) {
  const [, principal] = /^Bearer client-(\w+)$/.exec(request.headers.get("authorization") ?? "") ?? [];
  return principal === undefined ? undefined : { principal };
}

/** A server with this many tools, in pages of 1,000. */
async function openLongList(count: number) {
  const server = createTestServer({ tools: {} });
  const toolsFrom = (start: number) =>
    Array.from({ length: Math.min(1_000, count - start) }, (_, index) => ({
      name: `tool${start + index}`,
      description: "One of many",
      inputSchema: { type: "object" },
    }));
  const { url } = await server.http({
    async intercept(asked) {
      const { id, method, params } = (await asked.clone().json()) as {
        id: number;
        method: string;
        params: { cursor?: string; name?: string };
      };
      const start = Number(params.cursor ?? 0);
      const end = start + 1_000;
      const results: Record<string, object> = {
        "tools/list": {
          tools: toolsFrom(start),
          ...(end < count && { nextCursor: String(end) }),
          ttlMs: 60_000,
          cacheScope: "private",
        },
        "tools/call": { content: [{ type: "text", text: params.name }] },
      };
      const result = results[method];
      return result && Response.json({ jsonrpc: "2.0", id, result: { resultType: "complete", ...result } });
    },
  });
  return { url, close: () => server.close() };
}
