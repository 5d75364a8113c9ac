import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { AskedLimit } from "./asked-limit.js";

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
