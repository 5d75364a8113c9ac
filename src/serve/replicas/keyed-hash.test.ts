import { createHmac, createSecretKey, randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { createKeyedHash } from "./keyed-hash.js";

it("returns what createHmac returns, for texts of every length and kind", () => {
  const key = createSecretKey(randomBytes(32));
  const hash = createKeyedHash(key);
  const texts = [
    ...["", "a", "é€😀", "\ud800 alone", "\u0000"],
    ...[55, 56, 63, 64, 65, 4_095, 4_096, 4_097, 100_000].flatMap((length) => [
      "x".repeat(length),
      "€".repeat(length),
    ]),
    // Shorter than the one before: nothing of that may be left.
    "short",
  ];
  for (const text of texts)
    expect(hash(text)).toBe(createHmac("sha256", key).update(text, "utf8").digest("base64url"));
});

it("gives other hashes for other keys", () => {
  const [one, other] = [1, 2].map((byte) => createKeyedHash(createSecretKey(Buffer.alloc(32, byte))));
  expect(one!("text")).not.toBe(other!("text"));
});
