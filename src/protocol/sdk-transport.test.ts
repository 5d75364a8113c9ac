/** What the SDK's client sees of the lane, whether it is there from the beginning or comes late. */

import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { beforeEach, describe, expect, test } from "vitest";
import { delivered, type LaneMessage, type LaneRig, openLaneRig } from "../../test/support/channel-rig.js";
import { AskedLimit } from "./sdk-transport.js";

let { lane, arrived, passed, reply } = {} as LaneRig;
beforeEach(async () => {
  ({ lane, arrived, passed, reply } = await openLaneRig());
});

describe("the client's own messages", () => {
  test("pass both ways, ids and all", async () => {
    await lane.clientSide.send({ jsonrpc: "2.0", id: 7, method: "prompts/list" });
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

  test("joins a conversation that has begun: its handshake is answered from the one that was made", async () => {
    await lane.clientSide.join({ protocolVersion: "2025-11-25" }, async () => {
      await lane.clientSide.send({ jsonrpc: "2.0", id: 0, method: "initialize", params: {} });
      await delivered();
      await lane.clientSide.send({ jsonrpc: "2.0", method: "notifications/initialized" });
      // What comes meanwhile waits until the client is there.
      await reply({ id: 5, method: "roots/list" });
      await delivered();
      expect(passed).toEqual([{ jsonrpc: "2.0", id: 0, result: { protocolVersion: "2025-11-25" } }]);
    });
    expect(passed.at(-1)).toMatchObject({ id: 5, method: "roots/list" });
    expect(arrived).toEqual([]);
    await lane.clientSide.send({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} });
    await delivered();
    expect(arrived).toMatchObject([{ id: 1, method: "initialize" }]);
  });

  test("is called for by what only it can answer, and gets it when it comes", async () => {
    lane.clientSide.onmessage = undefined;
    let calls = 0;
    lane.clientSide.onneeded = () => {
      calls += 1;
    };
    const heard: string[] = [];
    lane.hearers.add((method) => heard.push(method));
    await reply({ method: "notifications/tools/list_changed" });
    await reply({ id: 1, method: "ping" });
    await delivered();
    expect(calls).toBe(0);
    expect(heard).toEqual(["notifications/tools/list_changed"]);
    expect(arrived).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }]);
    await reply({ id: 2, method: "sampling/createMessage" });
    await reply({ id: 3, method: "elicitation/create" });
    await reply({ method: "notifications/cancelled", params: { requestId: 3 } });
    await delivered();
    expect(calls).toBe(2);
    await lane.clientSide.join({}, async () => {
      lane.clientSide.onmessage = (message) => passed.push(message as LaneMessage);
    });
    expect(passed).toMatchObject([{ id: 2, method: "sampling/createMessage" }]);
  });
});

function open() {
  const sent: JSONRPCMessage[] = [];
  const taken: (() => void)[] = [];
  const limit = new AskedLimit((message) => {
    sent.push(message);
    return new Promise((resolve) => taken.push(resolve));
  });
  return { limit, sent, taken };
}

test("64 requests at once are admitted, more are turned away, and an answer makes room", () => {
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
  limit.done("nobody");
  expect(limit.admit("next")).toBe(true);
  expect(limit.admit("one more")).toBe(false);
});

test("a server that never reads its answers gets no more than 10,000 of them", async () => {
  const { limit, sent, taken } = open();
  for (let id = 0; id < 12_000; id += 1) limit.pong(id);
  expect(sent).toHaveLength(10_000);
  for (const take of taken.splice(0)) take();
  await new Promise((resolve) => setImmediate(resolve));
  limit.pong("again");
  expect(sent).toHaveLength(10_001);
});

test("a connection that breaks while it is answered is no failure of ours", async () => {
  const limit = new AskedLimit(() => Promise.reject(new Error("gone")));
  limit.pong(1);
  await new Promise((resolve) => setImmediate(resolve));
});
