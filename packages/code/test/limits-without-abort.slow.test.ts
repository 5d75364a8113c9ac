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
const EXECUTOR = new URL("../../toolport/dist/code/worker-executor.js", import.meta.url).href;
/** `npm run test:long` starts 3,000 programs at once. */
const AT_ONCE = process.env["TOOLPORT_LONG"] ? 3_000 : 60;

interface Report {
  readonly ends: Readonly<Record<string, number>>;
  readonly threads: number;
  readonly mostThreads: number;
  readonly grownMb: number;
}

async function runHost(options: readonly string[], programs: number, parallel: number): Promise<Report> {
  const host = spawn(
    process.execPath,
    [...options, "--expose-gc", HOST, EXECUTOR, String(programs), String(parallel)],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  const [output, errors, [exitCode, signal]] = await Promise.all([
    text(host.stdout),
    text(host.stderr),
    once(host, "exit") as Promise<[number | null, string | null]>,
  ]);
  expect({ exitCode, signal, errors }).toEqual({ exitCode: 0, signal: null, errors: "" });
  const report = JSON.parse(output) as Report;
  expect(Object.values(report.ends).reduce((sum, count) => sum + count, 0)).toBe(programs);
  expect(report.threads).toBe(0);
  expect(report.mostThreads).toBeLessThanOrEqual(4);
  return report;
}

test("40 programs that are stopped, interrupted or ended while V8 compiles", async () => {
  const { ends } = await runHost(["--concurrent-recompilation-delay=30"], 40, 4);
  expect(ends).toMatchObject({ STOPPED: expect.any(Number), CPU_LIMIT: expect.any(Number) });
});

test(
  `${AT_ONCE} programs that are started at once end at their limits, in four threads, and leave no memory`,
  async () => {
    const { ends, grownMb } = await runHost([], AT_ONCE, AT_ONCE);
    expect(ends).toMatchObject({ STOPPED: expect.any(Number), CPU_LIMIT: expect.any(Number) });
    expect(ends).not.toHaveProperty("OVERLOADED");
    // A leaked VM has at least 12 MB.
    expect(grownMb).toBeLessThan(20);
  },
  process.env["TOOLPORT_LONG"] ? 1_800_000 : undefined,
);
