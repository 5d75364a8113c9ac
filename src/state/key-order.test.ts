import fc from "fast-check";
import { expect, test } from "vitest";
import { compareKeys, keyAfterPrefix } from "./key-order.js";

/** Characters around every edge of the encodings. */
const edges = [
  "\u0001",
  "a",
  "\u007f",
  "\u0080",
  "\u07ff",
  "\u0800",
  "\ud7ff",
  "\ue000",
  "\uffff",
  "\u{10000}",
  "\u{10ffff}",
];
const keys = fc.string({ unit: fc.constantFrom(...edges), maxLength: 5 });
const compareBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

test("keys are compared as their UTF-8 bytes are", () => {
  fc.assert(
    fc.property(keys, keys, (a, b) => {
      expect(Math.sign(compareKeys(a, b))).toBe(compareBytes(a, b));
    }),
  );
});

test("the keys from a prefix to what comes after it are those that begin with it", () => {
  fc.assert(
    fc.property(keys, keys, (prefix, key) => {
      const end = keyAfterPrefix(prefix);
      const isWithin = compareBytes(key, prefix) >= 0 && (end === undefined || compareBytes(key, end) < 0);
      expect(isWithin).toBe(key.startsWith(prefix));
    }),
  );
});
