/** Runs around every test file that shares its worker, and restores time, variables and working directory for the next file. */
import { afterAll, expect, vi } from "vitest";

const { cwd } = process;
const folder = cwd();
const before = { ...process.env };
const { setTimeout: realSetTimeout } = globalThis;

afterAll(() => {
  // A spy on a fake timer that is restored after the real timers puts the fake back: the next file would wait forever.
  vi.restoreAllMocks();
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  expect(setTimeout === realSetTimeout, "a test file left a fake timer behind").toBe(true);
  expect(cwd(), "a test file changed the working directory").toBe(folder);
  expect({ ...process.env }, "a test file left environment variables behind").toEqual(before);
});
