import { expect, it } from "vitest";
import { cpuTimeMs } from "../../../test/support/cpu-time.js";
import { isSimplePattern } from "./read-pattern.js";

it.each([
  "^[a-z]+$",
  "^[A-Z]{2}-\\d{4}$",
  "^-?\\d*$",
  "^(red|green|blue)$",
  "red|green",
  "^#[0-9a-fA-F]{6}$",
  "^[0-9a-f]{64}$",
  "^[^\\s\\]]+$",
  "^\\p{L}+$",
  "^(?<year>\\d{4})-(?:0\\d)$",
  "abc",
  "",
])("%s is simple", (pattern) => {
  new RegExp(pattern, "u");
  expect(isSimplePattern(pattern)).toBe(true);
});

it.each([
  "^(a+)+$",
  "^(a|a)*$",
  "(a*)*b",
  "^(?:a?){20}a{20}$",
  "\\s+$",
  "^a*a*$",
  "^[a-z]+(-[a-z]+)*$",
  "^(?=.*\\d).+$",
  "(?<=a)b",
  "^(a)\\1$",
  "^(?<n>a)\\k<n>$",
  "^a?a?a?a?a?a?a?a?a?aaaaaaaaa$",
  "^(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)$",
  "^a|b+$",
  "[a-z]{1,200}[a-z]{1,200}x",
  "[a-z]{200,}x",
  "a".repeat(1_001),
  "^\\p{L}\\p{L}[\\p{L}\\p{N}]$",
])("%s is not simple", (pattern) => {
  new RegExp(pattern, "u");
  expect(isSimplePattern(pattern)).toBe(false);
});

it("analyses every pattern quickly", () => {
  for (const pattern of [
    "[".repeat(900),
    "(".repeat(900),
    "\\".repeat(900),
    "a".repeat(1_000_000),
    "{1,".repeat(300),
  ]) {
    const before = cpuTimeMs();
    isSimplePattern(pattern);
    expect(cpuTimeMs() - before).toBeLessThan(2_500);
  }
});
