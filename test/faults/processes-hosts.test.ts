/** Faults of the host: killed, ended, out of descriptors. No server outlives it. */
import { spawnSync } from "node:child_process";
import type { ConnectionError, StdioServerEntry } from "toolport";
import { expect } from "vitest";
import { startMcpServer } from "../fixtures/servers/http-mcp.js";
import { isAlive } from "../support/processes.js";
import { type Host, startHost } from "../support/start-host.js";
import { waitFor } from "../support/wait-for.js";
import { atMost } from "./at-most.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";
import { behindShell, type FaultProcess, faultProcess } from "./fault-process.js";

/** These cases open no port in this process, so they have no neighbour. */
const elsewhere = { neighbour: false } as const;
const posix = process.platform === "win32" ? "no process groups on Windows" : undefined;

/** Two servers that ignore everything, each with a child, one of them behind a shell. */
function stubborn(harness: FaultHarness): { servers: FaultProcess; entries: string } {
  const servers = faultProcess(harness, "--stubborn", "--group-child");
  return { servers, entries: JSON.stringify({ plain: servers.entry, shell: behindShell(servers.entry) }) };
}

async function startStubborn(harness: FaultHarness, way: string): Promise<{ host: Host; family: number[] }> {
  const { servers, entries } = stubborn(harness);
  const host = await startHost("toolport-host.mjs", [way, entries]);
  harness.atEnd(() => host.kill("SIGKILL"));
  await waitFor(() => servers.pids().length === 4);
  return { host, family: [...new Set([...host.family(), ...servers.pids()])] };
}

/** The bound of the catalogue: the servers get a second after SIGTERM, and signals need no CPU time. */
async function expectNoneLeft(family: readonly number[]): Promise<void> {
  const left = () => family.filter(isAlive);
  await waitFor(() => left().length === 0, {
    timeoutMs: 3_000,
    label: () => `${left()} of ${family} to exit`,
  });
}

for (const [way, what] of [
  ["wait", "with ready servers"],
  ["call", "in the middle of calls"],
] as const) {
  faultCase(
    "P07",
    `kill -9 ${what}`,
    async (harness) => {
      const { host, family } = await startStubborn(harness, way);
      host.kill("SIGKILL");
      await host.exited;
      await expectNoneLeft(family);
    },
    { ...elsewhere, skip: posix },
  );
}

faultCase(
  "P07",
  "kill -9 while it connects",
  async (harness) => {
    const silent = faultProcess(harness, "--stubborn", "--silent");
    const host = await startHost("toolport-host.mjs", [
      "connecting",
      JSON.stringify({ silent: silent.entry }),
    ]);
    harness.atEnd(() => host.kill("SIGKILL"));
    await waitFor(() => silent.pids().length === 1);
    const family = host.family();
    host.kill("SIGKILL");
    await host.exited;
    await expectNoneLeft(family);
  },
  { ...elsewhere, skip: posix },
);

const endings: [what: string, way: string, signal: NodeJS.Signals | undefined, exit: object][] = [
  ["SIGTERM", "wait", "SIGTERM", { code: null, signal: "SIGTERM" }],
  ["SIGINT", "wait", "SIGINT", { code: null, signal: "SIGINT" }],
  ["SIGHUP", "wait", "SIGHUP", { code: null, signal: "SIGHUP" }],
  ["SIGTERM that the host handles itself", "handle", "SIGTERM", { code: 4, signal: null }],
  ["process.exit(5)", "exit", undefined, { code: 5, signal: null }],
  ["an uncaught exception", "throw", undefined, { code: 1, signal: null }],
  ["an unhandled rejection", "reject", undefined, { code: 1, signal: null }],
];

for (const [what, way, signal, exit] of endings) {
  faultCase(
    "P08",
    what,
    async (harness) => {
      const { host, family } = await startStubborn(harness, way);
      if (signal !== undefined) host.kill(signal);
      expect(await host.exited).toEqual(exit);
      await expectNoneLeft(family);
    },
    { ...elsewhere, skip: posix },
  );
}

interface FewReport {
  readonly before: string;
  readonly after: string;
  readonly ms: number;
  readonly ready: number;
  readonly errors: readonly (ConnectionError & { server: string })[];
}

/** The limit of the catalogue; Node itself uses about twenty descriptors. */
const LIMIT = 40;
const noPrlimit = spawnSync("prlimit", ["--version"]).status === 0 ? undefined : "no prlimit here";

async function connectFifty(harness: FaultHarness, many: object): Promise<{ host: Host; report: FewReport }> {
  const first: StdioServerEntry = faultProcess(harness).entry;
  const args = [LIMIT, first, many].map((value) => JSON.stringify(value));
  const host = await startHost("few-descriptors-host.mjs", args);
  harness.atEnd(() => host.kill("SIGKILL"));
  const report = host.report as FewReport;
  expect(report).toMatchObject({ before: "before", after: "after" });
  expect(report.errors.length).toBeGreaterThan(0);
  expect(report.ready + report.errors.length).toBe(50);
  for (const { name, server, retryable, message } of report.errors) {
    expect(name).toBe("ConnectionError");
    expect(server).toMatch(/^s\d+$/);
    expect(retryable).toBe(true);
    expect(message).toContain("(ulimit -n)");
  }
  // The bound is for each server; up to fifty processes may have started before.
  expect(report.ms).toBeLessThan(atMost(2_000));
  return { host, report };
}

async function expectCleanEnd(host: Host): Promise<void> {
  const family = host.family();
  host.send("close");
  expect(await host.exited).toEqual({ code: 0, signal: null });
  expect(host.reported("closed")).toEqual({ rejections: [] });
  expect(family.filter(isAlive)).toEqual([]);
}

faultCase(
  "P14",
  "fifty processes",
  async (harness) => {
    const { host, report } = await connectFifty(harness, faultProcess(harness, "--stubborn").entry);
    for (const error of report.errors) expect(error).toMatchObject({ code: "SPAWN_FAILED", errno: "EMFILE" });
    expect(report.ready).toBeGreaterThan(0);
    await expectCleanEnd(host);
  },
  { ...elsewhere, skip: noPrlimit },
);

faultCase(
  "P14",
  "fifty HTTP servers",
  async (harness) => {
    const web = harness.keep(await startMcpServer());
    const { host, report } = await connectFifty(harness, { url: web.url });
    for (const error of report.errors) expect(error).toMatchObject({ code: "UNREACHABLE", errno: "EMFILE" });
    await expectCleanEnd(host);
  },
  { ...elsewhere, skip: noPrlimit },
);
