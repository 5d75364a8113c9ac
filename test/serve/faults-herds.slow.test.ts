/** Many calls at once through a gateway: after a restart of their server, by one user, and of many users with logins of their own. */
import { createTestServer } from "toolport/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { openGateway } from "./gateway-scene.js";
import { TOOLS } from "./support/counting-server.js";
import { callModern, failureOfReply, keepAliveAgent, textOfReply } from "./support/raw-gateway-client.js";
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
