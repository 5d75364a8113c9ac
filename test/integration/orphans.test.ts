/** Whatever ends a host that uses Toolport, no process of its servers is left: kill -9 included. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createToolport, type ServerEntry } from "toolport";
import { beforeAll, describe, expect, test } from "vitest";
import { LEAN_SERVER, pidFolder } from "../fixtures/stdio-peer.js";
import { isAlive, processTree } from "../support/processes.js";
import { waitFor } from "../support/wait-for.js";

const HOST = fileURLToPath(new URL("../fixtures/hosts/toolport-host.mjs", import.meta.url));
const BUILT = fileURLToPath(new URL("../../dist/index.js", import.meta.url));

beforeAll(() => {
  if (!existsSync(BUILT)) throw new Error("These tests use the built package: run `npm run build` first");
});

/** A place where servers note their process ids; whatever a failed test leaves alive is ended with it. */
function openScratch() {
  const scratch = pidFolder();
  return Object.assign(scratch, {
    [Symbol.dispose]() {
      for (const pid of scratch.pids().filter(isAlive)) process.kill(pid, "SIGKILL");
      scratch.remove();
    },
  });
}

/** They ignore every signal and the end of their input, each has such a child, and one stands behind a shell. */
function stubborn(pidFile: string, ...flags: string[]): Record<string, ServerEntry> {
  const stubbornness = ["--ignore-eof", "--ignore-signals", "--child", ...flags];
  const args = [LEAN_SERVER, ...stubbornness, `--pid-file=${pidFile}`];
  return {
    plain: { command: process.execPath, args },
    shell: { command: "sh", args: ["-c", '"$0" "$@"; true', process.execPath, ...args] },
  };
}

/** Starts a host and waits until its servers have answered. */
async function startHost(way: string) {
  const scratch = openScratch();
  const child = spawn(process.execPath, [HOST, way, JSON.stringify(stubborn(scratch.file))], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  const said: string[] = [];
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      said.push(line);
      if (line.startsWith("ready ")) resolve();
    });
    exited.then(({ code }) => reject(new Error(`The host ended early with ${code}`)));
  });
  const servers = scratch.pids();
  // Shells and guardians too, where the host still lives.
  const family = [...new Set([...processTree(child.pid as number).map(({ pid }) => pid), ...servers])];
  return {
    child,
    exited,
    said,
    servers,
    family,
    [Symbol.dispose]() {
      child.kill("SIGKILL");
      scratch[Symbol.dispose]();
    },
  };
}

async function expectNoneLeft(family: readonly number[], timeoutMs: number): Promise<void> {
  const left = () => family.filter(isAlive);
  await waitFor(() => left().length === 0, { timeoutMs, label: () => `${left()} of ${family} to be gone` });
}

describe.skipIf(process.platform === "win32").concurrent("the end of the host", () => {
  test.each(["wait", "call"])("by kill -9 (%s): no process after 3 s", async (way) => {
    using host = await startHost(way);
    expect(host.servers).toHaveLength(4);
    host.child.kill("SIGKILL");
    await host.exited;
    await expectNoneLeft(host.family, 3_000);
  });

  test.each([
    ["SIGTERM", "wait", { code: null, signal: "SIGTERM" }],
    ["SIGINT", "wait", { code: null, signal: "SIGINT" }],
    ["SIGHUP", "wait", { code: null, signal: "SIGHUP" }],
    ["SIGTERM", "handle", { code: 4, signal: null }],
  ] as const)("by %s (%s): no process after 3 s, and the exit is its own", async (signal, way, expected) => {
    using host = await startHost(way);
    host.child.kill(signal);
    expect(await host.exited).toEqual(expected);
    await expectNoneLeft(host.family, 3_000);
  });

  test.each([
    ["exit", 5],
    ["throw", 1],
    ["reject", 1],
  ])("by its own %s: no process after 3 s, and the exit code is %d", async (way, code) => {
    using host = await startHost(way);
    expect(await host.exited).toEqual({ code, signal: null });
    expect(host.servers).toHaveLength(4);
    await expectNoneLeft(host.family, 3_000);
  });

  test("by close(): it ends by itself, with nothing left", async () => {
    using host = await startHost("close");
    expect(await host.exited).toEqual({ code: 0, signal: null });
    await expectNoneLeft(host.family, 0);
    expect(JSON.parse(host.said[1]!.slice("closed ".length)).ms).toBeLessThan(5_000);
  });
});

test.skipIf(process.platform === "win32")(
  "close(): no process after 5 s, in a host that goes on",
  async () => {
    using scratch = openScratch();
    const before = new Set(processTree(process.pid).map(({ pid }) => pid));
    // One that left the group of its server is found by its place in the tree.
    const toolport = createToolport({ mcpServers: stubborn(scratch.file, "--setsid-child") });
    await toolport.connect();
    expect(scratch.pids()).toHaveLength(6);
    const family = processTree(process.pid).map(({ pid }) => pid);
    const startedAt = performance.now();
    await toolport.close();
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(scratch.pids().filter(isAlive)).toEqual([]);
    await expectNoneLeft(
      family.filter((pid) => !before.has(pid)),
      1_000,
    );
  },
);
