/** Faults of load: many connections, many calls at once, and both for a long time with other faults. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createToolport, ToolportError } from "toolport";
import { expect } from "vitest";
import {
  type LeanEntries,
  nodeServers,
  shellServers,
  startHttpServers,
} from "../../scripts/load/lean-servers.mjs";
import { compareInFlight, type InFlightFigures, measureConnections } from "../../scripts/load/scenarios.mjs";
import { runSoak } from "../../scripts/soak/run-soak.mjs";
import { AS_WRITTEN, bound, faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";

const run = promisify(execFile);
const SDK_REFERENCE = fileURLToPath(new URL("../../scripts/load/sdk-reference.mjs", import.meta.url));
const MIB = 1024 * 1024;
/** The figures of the catalogue in the long run; otherwise a fifth of them, and a tenth of the processes. */
const CONNECTIONS = bound(200, 1_000);
const PROCESSES = bound(20, 200);
const IN_FLIGHT = 10_000;
const MAX_CPU_RATIO = 1.5;
const MAX_ROUNDS = 4;
/** Ten thousand calls started in one turn block the event loop by themselves. */
const BUSY = { maxLagMs: 10_000, timeoutMs: 600_000, maxHeapGrowth: 32 * MIB };
const NO_SHELL = process.platform === "win32" && "needs a POSIX shell";

/** Every call over HTTP has its own socket, here and at the server. */
const TOO_FEW_FILES = openFiles() < 2 * IN_FLIGHT && `needs ${2 * IN_FLIGHT} descriptors`;

function openFiles(): number {
  try {
    const line = /Max open files\s+(\d+)/.exec(readFileSync("/proc/self/limits", "utf8"));
    return Number(line?.[1] ?? 0);
  } catch {
    return 0;
  }
}

faultCase(
  "L01",
  "HTTP connections",
  async (harness) => {
    const servers = harness.keep(await startHttpServers(CONNECTIONS));
    const toolport = harness.open(servers.entries);
    const figures = await measureConnections(toolport, CONNECTIONS);
    expect(figures.problems).toEqual([]);
    expect(figures.ready).toBe(CONNECTIONS);
    expect(figures.connectAllMs).toBeLessThanOrEqual(60_000);
    expect(figures.rssPerConnection, "resident bytes a connection").toBeLessThanOrEqual(MIB);
  },
  // Code and pools for many connections are created once and stay.
  { timeoutMs: 120_000, maxHeapGrowth: 32 * MIB },
);

faultCase(
  "L01",
  "processes",
  async (harness) => {
    const toolport = harness.open(shellServers(PROCESSES));
    const figures = await measureConnections(toolport, PROCESSES);
    expect(figures.problems).toEqual([]);
    expect(figures.ready).toBe(PROCESSES);
    expect(figures.connectAllMs).toBeLessThanOrEqual(60_000);
  },
  { timeoutMs: 120_000, maxHeapGrowth: 32 * MIB, skip: NO_SHELL },
);

faultCase(
  "L02",
  "one server over stdio",
  async (harness) => {
    await expectFairCost(harness, nodeServers(1), 1);
  },
  { ...BUSY, neighbour: false },
);

faultCase(
  "L02",
  "one server over HTTP",
  async (harness) => {
    const servers = harness.keep(await startHttpServers(1));
    await expectFairCost(harness, servers.entries, 1);
  },
  { ...BUSY, neighbour: false, skip: TOO_FEW_FILES },
);

faultCase(
  "L02",
  "a hundred servers over stdio",
  async (harness) => {
    await expectFairCost(harness, shellServers(100), 100);
  },
  { ...BUSY, neighbour: false, skip: NO_SHELL },
);

faultCase(
  "L02",
  "a hundred servers over HTTP",
  async (harness) => {
    const servers = harness.keep(await startHttpServers(100));
    await expectFairCost(harness, servers.entries, 100);
  },
  { ...BUSY, neighbour: false, skip: TOO_FEW_FILES },
);

/**
 * A call costs little more with ten thousand in flight than with a hundred. The garbage collector copies all live objects,
 * and over HTTP each call has its own socket: the cheaper a call, the more that counts. Where a call costs more than 1.5
 * times as much, it must still cost less than a call of the SDK's client under the same load.
 */
async function expectFairCost(harness: FaultHarness, entries: LeanEntries, servers: number): Promise<void> {
  const options = { calls: IN_FLIGHT, servers, rounds: AS_WRITTEN ? 3 : 1 };
  const toolport = harness.keep(createToolport({ mcpServers: entries, timeoutMs: 120_000 }));
  await toolport.connect();
  let { few, many, ratio } = await compareInFlight(toolport, options);
  // Other programs of a busy machine make a single round look expensive.
  for (let rounds = 1; rounds < MAX_ROUNDS && ratio > MAX_CPU_RATIO; rounds += 1)
    ({ few, many, ratio } = await compareInFlight(toolport, options));
  await toolport.close();
  expect(many.calls).toBe(IN_FLIGHT);
  if (ratio <= MAX_CPU_RATIO) return;
  const reference = await measureSdk({ entries, calls: IN_FLIGHT, inFlight: IN_FLIGHT, servers });
  // The SDK's client can fail on a machine that is too slow for this load: then there is nothing to compare with.
  if (reference === undefined) return;
  const said = [many, few, reference].map(({ cpuMsPerCall }) => `${Math.round(cpuMsPerCall * 1_000)} µs`);
  expect(many.cpuMsPerCall, `${said[0]} a call, ${said[1]} with few, ${said[2]} bare`).toBeLessThan(
    reference.cpuMsPerCall,
  );
}

/** The cost of a call of the SDK's client, or undefined if it loses a connection or a response. */
async function measureSdk(task: object): Promise<InFlightFigures | undefined> {
  const args = ["--expose-gc", "--no-warnings", SDK_REFERENCE, JSON.stringify(task)];
  try {
    const { stdout } = await run(process.execPath, args);
    return JSON.parse(stdout) as InFlightFigures;
  } catch (error) {
    if (/fetch failed|Request timed out/.test((error as { stderr?: string }).stderr ?? "")) return undefined;
    throw error;
  }
}

faultCase("L02", "more than the queue holds", async (harness) => {
  const [concurrency, maxQueue, calls] = [10, 100, 1_000];
  const toolport = harness.open(nodeServers(1), { concurrency, maxQueue });
  await toolport.connectServer("s0");
  const began = performance.now();
  const settled = await Promise.allSettled(
    Array.from({ length: calls }, async (_, index) => {
      try {
        return (await toolport.callTool("s0__echo", { text: `${index}` })).text;
      } catch (error) {
        harness.note(error);
        throw Object.assign(error as ToolportError, { afterMs: performance.now() - began });
      }
    }),
  );
  const answered = settled.filter(({ status }) => status === "fulfilled");
  const refused = settled.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
  expect(answered.length).toBe(concurrency + maxQueue);
  expect(settled.every((each, index) => each.status === "rejected" || each.value === `${index}`)).toBe(true);
  for (const error of refused) {
    expect(ToolportError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ code: "OVERLOADED", server: "s0", tool: "echo", outcome: "unsent" });
  }
  // The queue is empty again.
  expect((await toolport.callTool("s0__echo", { text: "after" })).text).toBe("after");
});

faultCase(
  "L05",
  AS_WRITTEN
    ? "a million calls and ten thousand reconnects"
    : "a few thousand calls and some dozen reconnects",
  async () => {
    const report = await runSoak(
      { createToolport, ToolportError },
      AS_WRITTEN
        ? { calls: 1_000_000, reconnects: 10_000, seed: 1 }
        : { calls: 4_000, reconnects: 40, seed: 1, stdio: 2, http: 2 },
    );
    expect(report.problems).toEqual([]);
    expect(report.answered).toBeGreaterThan(report.calls / 2);
    expect(report.reconnects).toBeGreaterThanOrEqual(AS_WRITTEN ? 10_000 : 40);
  },
  { ...BUSY, timeoutMs: AS_WRITTEN ? 3_600_000 : 120_000, neighbour: false },
);
