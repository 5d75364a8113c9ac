/** No test of `npm test` compares wall time with an upper bound: on a busy machine it would fail for no reason. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { repositoryFiles, root } from "./source-files.js";

/** Faults and slow tests need real time; their limits are ten times the bound. */
const OTHER_TIERS = /\.slow\.test\.ts$|^test\/(faults|package|workerd)\//;
const UPPER_BOUND =
  /expect\([^;]*?(?:(?:performance|Date)\.now\(\)|\b(?:elapsedMs|durationMs|tookMs)\b)[^;]*?\)\s*\.toBeLessThan/;

it("compare no elapsed time with an upper bound", () => {
  const tests = repositoryFiles().filter((file) => file.endsWith(".test.ts") && !OTHER_TIERS.test(file));
  const found = tests.filter((file) => {
    const statements = readFileSync(join(root, file), "utf8").split(";\n");
    return statements.some((statement) => UPPER_BOUND.test(`${statement};`));
  });
  expect(found.filter((file) => file !== "test/tree/time-assertions.test.ts")).toEqual([]);
});
