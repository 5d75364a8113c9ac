/** Runs around every test file that shares its worker, and restores time, variables and working directory for the next file. */
import { afterAll, expect, vi } from "vitest";

const { cwd } = process;
const folder = cwd();
const before = { ...process.env };

afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  expect(cwd(), "a test file changed the working directory").toBe(folder);
  expect({ ...process.env }, "a test file left environment variables behind").toEqual(before);
});
