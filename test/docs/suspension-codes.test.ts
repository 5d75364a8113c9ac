/** The table of suspension errors in docs/errors.md has every code of the class, and no other. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const page = readFileSync("docs/errors.md", "utf8");
const table = /<!-- suspensions: begin -->\n([\s\S]*?)<!-- suspensions: end -->/.exec(page)?.[1] ?? "";
const source = readFileSync("packages/base/src/errors/toolport-error.ts", "utf8");
const union = /export type SuspensionErrorCode =([^;]+);/.exec(source)?.[1] ?? "";

test("all codes, in the order of the source", () => {
  const written = [...table.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, code]) => code);
  const codes = [...union.matchAll(/\| "([A-Z_]+)"/g)].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(5);
  expect(written).toEqual(codes);
});
