import { expect, test } from "vitest";
import { fingerprint } from "./safe-name.js";

/** A slow reference implementation: FNV-1a 64 over UTF-8, folded to 50 bits, ten digits of base 32. */
function slowFingerprint(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text))
    hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) % 2n ** 64n;
  let value = (hash >> 50n) ^ (hash % 2n ** 50n);
  let digits = "";
  for (let index = 0; index < 10; index += 1) {
    digits = "0123456789abcdefghjkmnpqrstvwxyz"[Number(value % 32n)] + digits;
    value /= 32n;
  }
  return digits;
}

test.each(["", "a", "foobar", "files\u0000read_file", "天气🔥", "x".repeat(1_000)])(
  "%j equals the reference implementation",
  (text) => {
    expect(fingerprint(text)).toBe(slowFingerprint(text));
  },
);

// Fixed values: names that users and models store depend on them.
test.each([
  ["", "mwwj2244es"],
  ["files\u0000read_file", "q5g2rwmts4"],
  ["weather\u0000天气", "b36drdmvzy"],
])("%j is always %s", (text, expected) => {
  expect(fingerprint(text)).toBe(expected);
});

test("200,000 tools have different fingerprints", () => {
  const seen = new Set<string>();
  for (let index = 0; index < 200_000; index += 1)
    seen.add(fingerprint(`server-${index % 10}\u0000tool_${index}`));
  expect(seen.size).toBe(200_000);
});
