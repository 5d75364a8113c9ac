/**
 * Programs that end at their limits do not abort the process. V8 compiles slowly here, so that a thread that is ended too early
 * has jobs left: then Node 20 aborts the process within seconds.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const HOST = fileURLToPath(new URL("limits-host.mjs", import.meta.url));
const EXECUTOR = new URL("../../dist/code/worker-executor.js", import.meta.url).href;
const PROGRAMS = 80;

test("80 programs that are stopped, interrupted or ended while V8 compiles", async () => {
  const host = spawn(
    process.execPath,
    ["--concurrent-recompilation-delay=30", HOST, EXECUTOR, String(PROGRAMS)],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  const [output, errors, [exitCode, signal]] = await Promise.all([
    text(host.stdout),
    text(host.stderr),
    once(host, "exit") as Promise<[number | null, string | null]>,
  ]);
  expect({ exitCode, signal, errors }).toEqual({ exitCode: 0, signal: null, errors: "" });
  const ends = JSON.parse(output) as Record<string, number>;
  expect(Object.values(ends).reduce((sum, count) => sum + count, 0)).toBe(PROGRAMS);
  expect(ends).toMatchObject({ STOPPED: expect.any(Number), CPU_LIMIT: expect.any(Number) });
});
