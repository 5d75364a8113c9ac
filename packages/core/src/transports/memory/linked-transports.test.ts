/** The in-memory pair: order, isolation of the two sides, closing, the size limit. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { createLinkedTransports } from "./linked-transports.js";

const message = (id: number, params: Record<string, unknown> = {}): JSONRPCMessage => ({
  jsonrpc: "2.0",
  id,
  method: "test",
  params,
});

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("createLinkedTransports", () => {
  it("delivers in order and asynchronously, also messages sent before the start", async () => {
    const [client, server] = createLinkedTransports();
    const seen: unknown[] = [];
    server.onmessage = (received) => seen.push((received as { id: number }).id);
    await client.start();
    await client.send(message(1));
    await settled();
    expect(seen).toEqual([]);
    const starting = server.start();
    void client.send(message(2));
    expect(seen).toEqual([]);
    await starting;
    await settled();
    expect(seen).toEqual([1, 2]);
  });

  it("shares no object between the sides", async () => {
    const [client, server] = createLinkedTransports();
    const received: JSONRPCMessage[] = [];
    server.onmessage = (one) => received.push(one);
    await Promise.all([client.start(), server.start()]);
    const params = { list: [1], gone: undefined };
    await client.send(message(1, params));
    params.list.push(2);
    await settled();
    expect(received).toEqual([{ jsonrpc: "2.0", id: 1, method: "test", params: { list: [1] } }]);
  });

  it("delivers messages sent before the other side closed, then reports who closed", async () => {
    const [client, server] = createLinkedTransports();
    const seen: string[] = [];
    client.onmessage = () => seen.push("message");
    client.onclose = () => seen.push("close");
    await Promise.all([client.start(), server.start()]);
    await server.send(message(1));
    await server.close();
    await settled();
    expect(seen).toEqual(["message", "close"]);
    expect(client.closeError).toMatchObject({ code: "CLOSED", retryable: true });
  });

  it("closes a side that was never started", async () => {
    const [client, server] = createLinkedTransports();
    let closed = false;
    client.onclose = () => {
      closed = true;
    };
    await server.start();
    await server.close();
    await settled();
    expect(closed).toBe(true);
    await expect(client.start()).rejects.toMatchObject({ code: "CLOSED", outcome: "unsent" });
  });

  it("discards messages over the size limit and reports the request id", async () => {
    const [client, server] = createLinkedTransports({ maxMessageBytes: 200 });
    const discarded: unknown[] = [];
    client.ondiscard = (one) => discarded.push(one);
    await Promise.all([client.start(), server.start()]);
    await server.send({ jsonrpc: "2.0", id: 5, result: { text: "é".repeat(90) } });
    await settled();
    expect(discarded).toMatchObject([{ id: 5, error: { code: "MESSAGE_TOO_LARGE" } }]);
  });
});
