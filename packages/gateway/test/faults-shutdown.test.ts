/** The end of a gateway: no new work, streams end with a result, open calls finish. */
import { createTestServer } from "toolport/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { openGateway } from "./gateway-scene.js";
import { callModern, openRaw, readAll, textOfReply } from "./support/raw-gateway-client.js";
import { warmUp } from "./warm-up.js";

beforeAll(warmUp);

/** A tool that waits until the test lets it go. */
function createGate() {
  let open!: () => void;
  let noteStart!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const started = new Promise<void>((resolve) => {
    noteStart = resolve;
  });
  const server = createTestServer({
    tools: {
      wait: {
        async handler() {
          noteStart();
          await opened;
          return "waited";
        },
      },
    },
  });
  return { server, started, open };
}

describe("G06 the gateway is ended", () => {
  test("new requests get 503, listen streams end with a result, and open calls finish", async () => {
    const { server, started, open } = createGate();
    await using scene = await openGateway({ mcpServers: { one: server.memory() } });
    const filter = { notifications: { toolsListChanged: true } };
    const stream = await openRaw(scene.url, "subscriptions/listen", filter).response;
    const streamed = readAll(stream);
    const legacy = await scene.client("legacy");
    const call = callModern(scene.url, "one__wait");
    await started;
    let isClosed = false;
    const closing = scene.gateway.close({ drainMs: 60_000 }).then(() => {
      isClosed = true;
    });
    const events = (await streamed).trim().split("\n\n");
    expect(events[0]).toContain("notifications/subscriptions/acknowledged");
    expect(JSON.parse(events.at(-1)!.split("data: ")[1]!)).toMatchObject({
      result: {
        resultType: "complete",
        _meta: { "io.modelcontextprotocol/subscriptionId": expect.anything() },
      },
    });
    const refused = await fetch(scene.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
    });
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("1");
    await expect(legacy.listTools()).rejects.toThrow();
    expect(isClosed).toBe(false);
    open();
    expect(textOfReply(await call)).toBe("waited");
    await closing;
    expect(server.calls).toHaveLength(1);
    await server.close();
  });

  test("the end waits until a client has read its result", async () => {
    const TEXT = "x".repeat(9 * 1024 * 1024);
    await using server = createTestServer({ tools: { big: { handler: () => TEXT } } });
    await using scene = await openGateway({
      mcpServers: { one: server.memory() },
    });
    const response = await openRaw(scene.url, "tools/call", { name: "one__big", arguments: {} }).response;
    let isClosed = false;
    const closing = scene.gateway.close({ drainMs: 60_000 }).then(() => {
      isClosed = true;
    });
    const refused = await fetch(scene.url, { method: "POST" });
    expect({ status: refused.status, isClosed }).toEqual({ status: 503, isClosed: false });
    expect((await readAll(response)).length).toBeGreaterThan(TEXT.length);
    await closing;
  });

  test("a call that does not finish in time is given up", async () => {
    const { server, started } = createGate();
    await using scene = await openGateway({ mcpServers: { one: server.memory() } });
    const { response, abandon } = openRaw(scene.url, "tools/call", { name: "one__wait", arguments: {} });
    const cut = expect(response.then(readAll)).rejects.toThrow();
    await started;
    await scene.gateway.close({ drainMs: 10 });
    await scene.toolport.close();
    abandon();
    await cut;
    await server.close();
  });
});
