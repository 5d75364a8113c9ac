/** No server process outlives its host, however the host ends, kill -9 included. */
import { createToolport, type ServerEntry } from "toolport";
import { describe, expect, test } from "vitest";
import { LEAN_SERVER, pidFolder } from "../fixtures/stdio-peer.js";
import { isAlive, processTree } from "../support/processes.js";
import { startHost } from "../support/start-host.js";
import { waitFor } from "../support/wait-for.js";

/** A file where servers write their process ids; processes of a failed test are killed. */
function openScratch() {
  const scratch = pidFolder();
  return Object.assign(scratch, {
    [Symbol.dispose]() {
      for (const pid of scratch.pids().filter(isAlive)) process.kill(pid, "SIGKILL");
      scratch.remove();
    },
  });
}

/** They ignore every signal and the end of their input, each has such a child, and one runs behind a shell. */
function stubborn(pidFile: string, ...flags: string[]): Record<string, ServerEntry> {
  const stubbornness = ["--ignore-eof", "--ignore-signals", "--child", ...flags];
  const args = [LEAN_SERVER, ...stubbornness, `--pid-file=${pidFile}`];
  return {
    plain: { command: process.execPath, args },
    shell: { command: "sh", args: ["-c", '"$0" "$@"; true', process.execPath, ...args] },
  };
}

/** Starts a host and waits until its servers have answered. */
async function startStubborn(way: string) {
  const scratch = openScratch();
  const host = await startHost("toolport-host.mjs", [way, JSON.stringify(stubborn(scratch.file))]);
  const servers = scratch.pids();
  return {
    ...host,
    servers,
    // Including shells and guardians, while the host is alive.
    family: [...new Set([...host.family(), ...servers])],
    [Symbol.dispose]() {
      host.kill("SIGKILL");
      scratch[Symbol.dispose]();
    },
  };
}

async function expectNoneLeft(family: readonly number[], timeoutMs: number): Promise<void> {
  const left = () => family.filter(isAlive);
  await waitFor(() => left().length === 0, { timeoutMs, label: () => `${left()} of ${family} to exit` });
}

describe.skipIf(process.platform === "win32").concurrent("the end of the host", () => {
  test.each(["wait", "call"])("by kill -9 (%s): no process after 3 s", async (way) => {
    using host = await startStubborn(way);
    expect(host.servers).toHaveLength(4);
    host.kill("SIGKILL");
    await host.exited;
    await expectNoneLeft(host.family, 3_000);
  });

  test.each([
    ["SIGTERM", "wait", { code: null, signal: "SIGTERM" }],
    ["SIGINT", "wait", { code: null, signal: "SIGINT" }],
    ["SIGHUP", "wait", { code: null, signal: "SIGHUP" }],
    ["SIGTERM", "handle", { code: 4, signal: null }],
  ] as const)("by %s (%s): no process after 3 s, and the exit is its own", async (signal, way, expected) => {
    using host = await startStubborn(way);
    host.kill(signal);
    expect(await host.exited).toEqual(expected);
    await expectNoneLeft(host.family, 3_000);
  });

  test.each([
    ["exit", 5],
    ["throw", 1],
    ["reject", 1],
  ])("by its own %s: no process after 3 s, and the exit code is %d", async (way, code) => {
    using host = await startStubborn(way);
    expect(await host.exited).toEqual({ code, signal: null });
    expect(host.servers).toHaveLength(4);
    await expectNoneLeft(host.family, 3_000);
  });

  test("by close(): the host exits, and no process is left", async () => {
    using host = await startStubborn("close");
    expect(await host.exited).toEqual({ code: 0, signal: null });
    await expectNoneLeft(host.family, 0);
    expect((host.reported("closed") as { ms: number }).ms).toBeLessThan(5_000);
  });
});

test.skipIf(process.platform === "win32")(
  "close(): no process after 5 s, in a host that keeps running",
  async () => {
    using scratch = openScratch();
    const before = new Set(processTree(process.pid).map(({ pid }) => pid));
    // A process that left the group of its server is found in the process tree.
    const toolport = createToolport({ mcpServers: stubborn(scratch.file, "--setsid-child") });
    await toolport.connect();
    expect(scratch.pids()).toHaveLength(6);
    const family = processTree(process.pid).map(({ pid }) => pid);
    const startedAt = performance.now();
    await toolport.close();
    expect(performance.now() - startedAt).toBeLessThan(50_000);
    expect(scratch.pids().filter(isAlive)).toEqual([]);
    await expectNoneLeft(
      family.filter((pid) => !before.has(pid)),
      1_000,
    );
  },
);
