import { expect, it } from "vitest";
import { canParseUrl } from "./text.js";

it("accepts characters outside ASCII, however often it is called", () => {
  let refused = 0;
  // `URL.canParse` of Node 20 refuses after some thousand calls.
  for (let count = 0; count < 20_000; count += 1) if (!canParseUrl("https://bücher.example")) refused += 1;
  expect(refused).toBe(0);
});

it("refuses what is no URL, and resolves against a base", () => {
  expect(canParseUrl("no url")).toBe(false);
  expect(canParseUrl("/path")).toBe(false);
  expect(canParseUrl("/path", "https://example.com")).toBe(true);
});
