/** Faults of a gateway that take long: servers that hang at the start, and clients that never read. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { createTestServer } from "toolport/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../../../test/support/wait-for.js";
import { openGateway } from "./gateway-scene.js";
import { TOOLS } from "./support/counting-server.js";
import { openRaw, readAll, sendModern } from "./support/raw-gateway-client.js";
import { warmUp } from "./warm-up.js";

beforeAll(warmUp);

describe("G01 a server hangs at the start", () => {
  test("lists answer while it hangs, and clients are notified when it is back", {
    timeout: 60_000,
  }, async () => {
    await using good = createTestServer(TOOLS);
    await using hanging = createTestServer(TOOLS);
    let revive!: () => void;
    const revived = new Promise<undefined>((resolve) => {
      revive = () => resolve(undefined);
    });
    const { url } = await hanging.http({ intercept: () => revived });
    await using scene = await openGateway({ mcpServers: { good: good.memory(), hanging: { url } } });
    const client = await scene.client("modern");
    let notices = 0;
    client.setNotificationHandler("notifications/tools/list_changed", () => {
      notices += 1;
    });
    await client.listen({ toolsListChanged: true });
    const names = async () => (await client.listTools()).tools.map(({ name }) => name);
    expect(await names()).toEqual(["good__echo"]);
    expect(await names()).toEqual(["good__echo"]);
    const before = notices;
    revive();
    await waitFor(() => notices > before, { label: "a notice" });
    expect(await names()).toEqual(["good__echo", "hanging__echo"]);
  });
});

/** Takes more than a minute of waiting, so it runs in `npm run test:long`. */
const isLong = process.env["TOOLPORT_LONG"] === "1";

describe.runIf(isLong)("G10 a client never reads", () => {
  const TEXT = "x".repeat(9 * 1024 * 1024);

  test("it is cut after 30 s: streams and plain responses", { timeout: 180_000 }, async () => {
    const replies: ServerResponse[] = [];
    const isBlocked = () => replies.some(({ socket }) => (socket?.writableLength ?? 0) > 0);
    await using server = createTestServer({
      capabilities: { logging: {} },
      tools: {
        big: { handler: () => TEXT },
        stream: {
          async handler(_args, { request, signal }) {
            // Until all sockets on the way are full.
            for (let blocked = 0; blocked < 20; blocked = isBlocked() ? blocked + 1 : 0) {
              if (!isBlocked()) await request.mcpReq.log("info", "x".repeat(64 * 1024));
              await delay(5);
            }
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
            return "cancelled";
          },
        },
      },
    });
    await using scene = await openGateway(
      { mcpServers: { one: server.memory() }, timeoutMs: 170_000 },
      { auth: false, concurrency: 2 },
    );
    scene.server.on("request", (_request, response) => replies.push(response));
    const streamed = await openRaw(
      scene.url,
      "tools/call",
      { name: "one__stream", arguments: {} },
      { meta: { "io.modelcontextprotocol/logLevel": "debug" } },
    ).response;
    await waitFor(isBlocked, { label: "full sockets" });
    const plain = await openRaw(scene.url, "tools/call", { name: "one__big", arguments: {} }).response;
    expect((await sendModern(scene.url, "tools/list")).status).toBe(429);
    await Promise.all(replies.slice(0, 2).map((reply) => reply.destroyed || once(reply, "close")));
    for (const response of [streamed, plain]) {
      const isWhole = await readAll(response).then(
        () => true,
        () => false,
      );
      expect(isWhole).toBe(false);
    }
    expect((await sendModern(scene.url, "tools/list")).status).toBe(200);
  });
});
