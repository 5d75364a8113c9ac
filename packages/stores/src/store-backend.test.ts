import fc from "fast-check";
import { expect, test } from "vitest";
import { compareKeys, keyAfterPrefix } from "./store-backend.js";

/** Characters at the boundaries of the encodings. */
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

test("compares keys by their UTF-8 bytes", () => {
  fc.assert(
    fc.property(keys, keys, (a, b) => {
      expect(Math.sign(compareKeys(a, b))).toBe(compareBytes(a, b));
    }),
  );
});

test("the range of a prefix contains exactly the keys that begin with it", () => {
  fc.assert(
    fc.property(keys, keys, (prefix, key) => {
      const end = keyAfterPrefix(prefix);
      const isWithin = compareBytes(key, prefix) >= 0 && (end === undefined || compareBytes(key, end) < 0);
      expect(isWithin).toBe(key.startsWith(prefix));
    }),
  );
});
