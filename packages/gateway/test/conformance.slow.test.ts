/** The short form of `npm run conformance:gateway`: one row of each revision, with the eras crossed. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

test.each([
  ["http-1/modern/2025-11-25", "33 of 33"],
  ["http-1/legacy/2026-07-28", "40 of 40"],
])("the official server scenarios pass through a gateway: %s", async (row, scenarios) => {
  const { stdout } = await run(process.execPath, ["scripts/conformance-gateway.mjs", "--only", row]);
  expect(stdout).toContain(scenarios);
  expect(stdout).toContain("1 of 1 rows complete");
});
