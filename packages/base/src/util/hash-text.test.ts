import { expect, test } from "vitest";
import { hashText } from "./text.js";

test("returns 16 hexadecimal digits, always the same", () => {
  for (const text of ["", "a", "🔥", "x".repeat(100_000)]) {
    expect(hashText(text)).toMatch(/^[0-9a-f]{16}$/);
    expect(hashText(text)).toBe(hashText(text));
  }
});

test("never changes: stored records are found by it", () => {
  expect(hashText("toolport")).toBe(hashText(["tool", "port"].join("")));
  expect([hashText(""), hashText("toolport")]).toMatchInlineSnapshot(`
    [
      "1aee8d83488bdcb8",
      "23547b4eef29b803",
    ]
  `);
});

test("has no collision among a hundred thousand similar texts", () => {
  const seen = new Set(Array.from({ length: 100_000 }, (_, index) => hashText(`["node",["${index}"]]`)));
  expect(seen.size).toBe(100_000);
});
