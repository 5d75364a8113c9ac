import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { createKeyRing, createStoreKey } from "./sealing.js";

const BYTES = Uint8Array.from({ length: 32 }, (_, index) => index * 7);
const HEX = Buffer.from(BYTES).toString("hex");

test.each([
  ["bytes", BYTES],
  ["a Buffer", Buffer.from(BYTES)],
  ["base64", Buffer.from(BYTES).toString("base64")],
  ["base64 for URLs", Buffer.from(BYTES).toString("base64url")],
  ["hexadecimal digits", HEX],
  ["upper-case digits with surrounding spaces", `  ${HEX.toUpperCase()}\n`],
])("accepts a key as %s; its id is the start of its hash", async (_name, key) => {
  const ring = await createKeyRing(key);
  expect(ring.currentId).toBe(createHash("sha256").update(BYTES).digest("hex").slice(0, 8));
  expect(ring.find(ring.currentId)).toBeDefined();
});

test("the first of several keys is the current one, and duplicates count once", async () => {
  const [a, b] = [createStoreKey(), createStoreKey()];
  const ring = await createKeyRing([a, b, a]);
  expect(ring.ids).toHaveLength(2);
  expect(ring.currentId).toBe((await createKeyRing(a)).currentId);
});

test("a string may contain several keys, separated by commas", async () => {
  const [a, b] = [createStoreKey(), createStoreKey()];
  expect((await createKeyRing(` ${a}, ${b},`)).ids).toEqual((await createKeyRing([a, b])).ids);
});

test.each([
  ["a number", 32 as never],
  ["too short", "c2hvcnQ="],
  ["empty", ""],
  ["not base64", "?".repeat(44)],
  ["too long", new Uint8Array(33)],
  ["an empty list", []],
])("rejects a key that is %s, without showing it", async (_name, key) => {
  const error = await createKeyRing(key).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ name: "StateError", code: "KEY_MISMATCH" });
  expect(String(error)).not.toContain("c2hvcnQ");
});

test("a new key is random", () => {
  expect(createStoreKey()).not.toBe(createStoreKey());
  expect(Buffer.from(createStoreKey(), "base64")).toHaveLength(32);
});
