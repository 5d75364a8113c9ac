/** The transport of the SDK's client, connected early or late, and the limit on incoming requests. */

import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { beforeEach, describe, expect, test } from "vitest";
import {
  type ChannelMessage,
  type ChannelRig,
  delivered,
  openChannelRig,
} from "../../../../test/support/channel-rig.js";
import { IncomingRequestLimit } from "./sdk-transport.js";

let { channel, arrived, passed, reply } = {} as ChannelRig;
beforeEach(async () => {
  ({ channel, arrived, passed, reply } = await openChannelRig());
});

describe("messages of the client", () => {
  test("pass in both directions with unchanged ids", async () => {
    await channel.sdkTransport.send({ jsonrpc: "2.0", id: 7, method: "prompts/list" });
    await delivered();
    expect(arrived).toMatchObject([{ id: 7, method: "prompts/list" }]);
    await reply({ id: 7, result: { prompts: [] } });
    await reply({ method: "notifications/tools/list_changed" });
    await reply({ id: 1, method: "roots/list" });
    await reply({ method: "notifications/progress", params: { progressToken: 7, progress: 1 } });
    await reply({ id: "their-own-text", result: {} });
    await delivered();
    expect(passed.map(({ id, method }) => id ?? method)).toEqual([
      7,
      "notifications/tools/list_changed",
      1,
      "notifications/progress",
      "their-own-text",
    ]);
  });

  test("connects late: its handshake is answered with the earlier result", async () => {
    await channel.sdkTransport.join({ protocolVersion: "2025-11-25" }, async () => {
      await channel.sdkTransport.send({ jsonrpc: "2.0", id: 0, method: "initialize", params: {} });
      await delivered();
      await channel.sdkTransport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
      // A message that arrives meanwhile is buffered for the client.
      await reply({ id: 5, method: "roots/list" });
      await delivered();
      expect(passed).toEqual([{ jsonrpc: "2.0", id: 0, result: { protocolVersion: "2025-11-25" } }]);
    });
    expect(passed.at(-1)).toMatchObject({ id: 5, method: "roots/list" });
    expect(arrived).toEqual([]);
    await channel.sdkTransport.send({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} });
    await delivered();
    expect(arrived).toMatchObject([{ id: 1, method: "initialize" }]);
  });

  test("is requested by a message that only it can answer, and receives that message", async () => {
    channel.sdkTransport.onmessage = undefined;
    let calls = 0;
    channel.sdkTransport.onneeded = () => {
      calls += 1;
    };
    const received: string[] = [];
    channel.notificationListeners.add((method) => received.push(method));
    await reply({ method: "notifications/tools/list_changed" });
    await reply({ id: 1, method: "ping" });
    await delivered();
    expect(calls).toBe(0);
    expect(received).toEqual(["notifications/tools/list_changed"]);
    expect(arrived).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }]);
    await reply({ id: 2, method: "sampling/createMessage" });
    await reply({ id: 3, method: "elicitation/create" });
    await reply({ method: "notifications/cancelled", params: { requestId: 3 } });
    await delivered();
    expect(calls).toBe(2);
    await channel.sdkTransport.join({}, async () => {
      channel.sdkTransport.onmessage = (message) => passed.push(message as ChannelMessage);
    });
    expect(passed).toMatchObject([{ id: 2, method: "sampling/createMessage" }]);
  });
});

function open() {
  const sent: JSONRPCMessage[] = [];
  const taken: (() => void)[] = [];
  const limit = new IncomingRequestLimit((message) => {
    sent.push(message);
    return new Promise((resolve) => taken.push(resolve));
  });
  return { limit, sent, taken };
}

test("IncomingRequestLimit admits 64 open requests, rejects more, and admits again after a response", () => {
  const { limit, sent } = open();
  const admitted = Array.from({ length: 70 }, (_, id) => limit.admit(id));
  expect(admitted.filter(Boolean)).toHaveLength(64);
  expect(sent).toHaveLength(6);
  expect(sent[0]).toEqual({
    jsonrpc: "2.0",
    id: 64,
    error: { code: -32603, message: "Too many requests at once" },
  });
  limit.done(3);
  limit.done("unknown");
  expect(limit.admit("next")).toBe(true);
  expect(limit.admit("one more")).toBe(false);
});

test("a server that never reads gets at most 10,000 replies", async () => {
  const { limit, sent, taken } = open();
  for (let id = 0; id < 12_000; id += 1) limit.reply(id, { result: {} });
  expect(sent).toHaveLength(10_000);
  for (const take of taken.splice(0)) take();
  await new Promise((resolve) => setImmediate(resolve));
  limit.reply("again", { result: {} });
  expect(sent).toHaveLength(10_001);
});

test("a reply over a broken connection does not throw", async () => {
  const limit = new IncomingRequestLimit(() => Promise.reject(new Error("gone")));
  limit.reply(1, { result: {} });
  await new Promise((resolve) => setImmediate(resolve));
});
