/** Faults of processes that do not exit: stubborn, wrapped, in containers. And the duty to end one step by step. */
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ConnectionError, ResourceUpdate } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect } from "vitest";
import { isAlive, processTree } from "../support/processes.js";
import { waitFor } from "../support/wait-for.js";
import { atMost } from "./at-most.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";
import { behindShell, faultProcess, noneLeft } from "./fault-process.js";

/** The bound of the catalogue: it consists of waits, not of work. */
const FIVE_SECONDS = 5_000;
const posix = process.platform === "win32" ? "no process groups on Windows" : undefined;

for (const way of ["close", "remove"] as const) {
  faultCase(
    "P05",
    `${way}() of a server that ignores everything resolves after the process is reaped`,
    async (harness) => {
      const server = faultProcess(harness, "--stubborn");
      const toolport = harness.open({ it: server.entry });
      await toolport.callTool("it__echo", { text: "up" });
      await harness.within(FIVE_SECONDS, way === "close" ? toolport.close() : toolport.remove("it"));
      expect(server.pids().filter(isAlive)).toEqual([]);
      // Not even as a zombie, where the platform shows zombies.
      expect(existsSync(`/proc/${server.pids()[0]}`)).toBe(false);
      expect(server.said()).toContain("SIGTERM");
    },
  );
}

faultCase("P05", "ten of them at once take no longer", async (harness) => {
  const servers = Array.from({ length: 10 }, () => faultProcess(harness, "--stubborn"));
  const toolport = harness.open(Object.fromEntries(servers.map(({ entry }, at) => [`s${at}`, entry])));
  await toolport.connect();
  await harness.within(FIVE_SECONDS, toolport.close());
  expect(servers.flatMap((server) => server.pids()).filter(isAlive)).toEqual([]);
});

for (const flags of [[], ["--stubborn"], ["--stubborn", "--group-child"]]) {
  faultCase(
    "P06",
    `sh -c 'node server; true' (${flags.join(" ") || "well-behaved"})`,
    async (harness) => {
      const server = faultProcess(harness, ...flags);
      const before = new Set(processTree(process.pid).map(({ pid }) => pid));
      const toolport = harness.open({ it: behindShell(server.entry) });
      await toolport.callTool("it__echo", { text: "up" });
      const family = processTree(process.pid).map(({ pid }) => pid);
      await harness.within(FIVE_SECONDS, toolport.close());
      expect(family.filter((pid) => !before.has(pid) && isAlive(pid))).toEqual([]);
      expect(server.pids().filter(isAlive)).toEqual([]);
    },
    { skip: posix },
  );
}

faultCase(
  "P06",
  "a wrapper that starts the server in its own session",
  async (harness) => {
    const server = faultProcess(harness, "--stubborn");
    const { command, args } = server.entry;
    const script = `require("node:child_process").spawn(process.argv[1], process.argv.slice(2), { detached: true, stdio: "inherit" })`;
    const toolport = harness.open({
      it: { command: process.execPath, args: ["-e", script, command, ...args!] },
    });
    await toolport.callTool("it__echo", { text: "up" });
    await harness.within(FIVE_SECONDS, toolport.close());
    expect(server.pids().filter(isAlive)).toEqual([]);
  },
  { skip: posix },
);

const STAND_IN = fileURLToPath(new URL("../fixtures/bin/docker-stand-in.mjs", import.meta.url));

/** A fake `docker` on PATH, and its calls. */
function fakeDocker(harness: FaultHarness, mode: string): () => { argv: string[]; pid: number }[] {
  const bin = join(harness.folder, "bin");
  const log = join(harness.folder, "docker-log");
  mkdirSync(bin);
  symlinkSync(STAND_IN, join(bin, "docker"));
  const { PATH } = process.env;
  Object.assign(process.env, {
    PATH: `${bin}${delimiter}${PATH}`,
    DOCKER_STAND_IN_LOG: log,
    DOCKER_STAND_IN_MODE: mode,
  });
  const calls = () => {
    try {
      const lines = readFileSync(log, "utf8").trim().split("\n");
      return lines.map((line) => JSON.parse(line) as { argv: string[]; pid: number });
    } catch {
      return [];
    }
  };
  harness.atEnd(() => {
    process.env["PATH"] = PATH;
    delete process.env["DOCKER_STAND_IN_LOG"];
    delete process.env["DOCKER_STAND_IN_MODE"];
  });
  noneLeft(harness, () => calls().map(({ pid }) => pid));
  return calls;
}

const container = { transport: "docker", image: "mcp/lean" } as const;

/** Every started container was also removed: by `--rm`, and by name. */
async function expectRemoved(calls: () => readonly { argv: string[] }[]): Promise<void> {
  const runs = calls().filter(({ argv }) => argv[0] === "run");
  expect(runs.length).toBeGreaterThan(0);
  for (const { argv } of runs) {
    expect(argv).toContain("--rm");
    const removal = `rm -f ${argv[argv.indexOf("--name") + 1]}`;
    await waitFor(() => calls().some((call) => call.argv.join(" ") === removal), { label: () => removal });
  }
}

faultCase("P16", "hangs", async (harness) => {
  const calls = fakeDocker(harness, "hang");
  const toolport = harness.open({ it: container }, { connectTimeoutMs: 2_000 });
  const { servers } = await harness.within(2_500, toolport.connect());
  expect(servers["it"]).toMatchObject({ state: "failed", error: { server: "it" } });
  await harness.within(FIVE_SECONDS, toolport.close());
  await expectRemoved(calls);
  expect(calls().filter(({ pid }) => isAlive(pid))).toEqual([]);
});

faultCase("P16", "exits with 125", async (harness) => {
  const calls = fakeDocker(harness, "exit125");
  const toolport = harness.open({ it: container });
  const error = await harness.fails<ConnectionError>(toolport.callTool("it__echo"), {
    code: "SPAWN_FAILED",
    server: "it",
    withinMs: FIVE_SECONDS,
  });
  expect(error).toMatchObject({ exitCode: 125, outcome: "unsent" });
  expect(error.message).toContain('could not start a container of "mcp/lean"');
  expect(error.stderrTail).toContain("pull access denied");
  await harness.within(FIVE_SECONDS, toolport.disconnect("it"));
  await expectRemoved(calls);
});

faultCase("P16", "prints the progress of a pull on stdout", async (harness) => {
  const calls = fakeDocker(harness, "progress");
  const toolport = harness.open({ it: container });
  expect((await toolport.callTool("it__echo", { text: "up" })).text).toBe("up");
  await harness.within(FIVE_SECONDS, toolport.disconnect("it"));
  await expectRemoved(calls);
});

faultCase("P16", "is not installed", async (harness) => {
  const toolport = harness.open({ it: { ...container, engine: "no-such-engine" } });
  const error = await harness.fails<ConnectionError>(toolport.callTool("it__echo"), {
    code: "SPAWN_FAILED",
    server: "it",
    withinMs: FIVE_SECONDS,
  });
  expect(error).toMatchObject({ errno: "ENOENT", outcome: "unsent" });
  expect(error.message).toContain('The container engine "no-such-engine" was not found');
});

faultCase("S25", "end of input, grace period, SIGTERM, grace period, SIGKILL", async (harness) => {
  const server = faultProcess(harness, "--stubborn");
  const toolport = harness.open({ it: server.entry });
  await toolport.callTool("it__echo", { text: "up" });
  const beganAt = Date.now();
  await harness.within(FIVE_SECONDS, toolport.disconnect("it"));
  const endedAt = Date.now();
  const steps = server.notes().filter(({ what }) => what === "eof" || what.startsWith("SIG"));
  expect(steps.map(({ what }) => what)).toEqual(["eof", "SIGTERM"]);
  const [eof, term] = steps;
  expect(eof!.at - beganAt).toBeLessThan(atMost(300));
  // Both grace periods passed, then came SIGKILL: the server ignores everything else.
  expect(term!.at - eof!.at).toBeGreaterThan(1_000);
  expect(endedAt - term!.at).toBeGreaterThan(1_000);
  expect(server.pids().filter(isAlive)).toEqual([]);
});

faultCase("S25", "a server that exits at the end of its input gets no signal", async (harness) => {
  const server = faultProcess(harness);
  const toolport = harness.open({ it: server.entry });
  await toolport.callTool("it__echo", { text: "up" });
  await harness.within(500, toolport.disconnect("it"));
  expect(server.said().at(-1)).toBe("eof");
});

for (const era of ["legacy", "modern"] as const) {
  faultCase("S25", `restarted after an unexpected exit, subscriptions reopened (${era})`, async (harness) => {
    const server = harness.keep(createTestServer({ era, resources: { "t://a": { text: "a" } } }));
    const stdio = await server.stdio();
    const toolport = harness.open({ it: stdio.entry });
    const updates: ResourceUpdate[] = [];
    await toolport.subscribe("it", "t://a", (update) => updates.push(update));
    stdio.dropConnections();
    await waitFor(() => updates.some(({ missed }) => missed), { timeoutMs: atMost(3_000) });
    const reported = updates.length;
    await server.resourceUpdated("t://a");
    await waitFor(() => updates.length > reported);
    expect(updates.at(-1)).toEqual({ server: "it", uri: "t://a", missed: false });
  });
}
