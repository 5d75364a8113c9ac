import { expect, it } from "vitest";
import { asciiText, isAsciiBytes } from "./node-bytes.js";

const long = "0123456789abcdef\n\u0000\u007f".repeat(4_000);

it("reads large ASCII texts, also in the middle of a buffer", () => {
  const bytes = new TextEncoder().encode(`ä${long}ä`);
  expect(asciiText(bytes.subarray(2, -2))).toBe(long);
  expect(isAsciiBytes(bytes.subarray(2, -2))).toBe(true);
});

it("leaves everything else to a decoder", () => {
  const bytes = new TextEncoder().encode(long);
  const broken = new Uint8Array(bytes);
  broken[50_000] = 0xff;
  expect([new TextEncoder().encode(`${long}é`), broken, bytes.subarray(0, 100)].map(asciiText)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(isAsciiBytes(broken)).toBe(false);
});
