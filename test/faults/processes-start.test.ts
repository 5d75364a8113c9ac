/** Faults of processes that cannot be started, or exit before their first message. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ConnectionError } from "toolport";
import { expect } from "vitest";
import { takeLeakSnapshot } from "../support/leaks.js";
import { waitFor } from "../support/wait-for.js";
import { atMost } from "./at-most.js";
import { bound, faultCase } from "./fault-case.js";
import { faultProcess } from "./fault-process.js";

const ONE_SECOND = atMost(1_000);

faultCase("P02", "exit 1 with a megabyte of stderr before", async (harness) => {
  const secret = harness.secret();
  const server = faultProcess(harness, `--exit-after-stderr=${1_024 * 1_024}`);
  const toolport = harness.open({ it: { ...server.entry, env: { API_KEY: secret } } });
  const error = await harness.fails<ConnectionError>(toolport.callTool("it__echo"), {
    code: "SPAWN_FAILED",
    server: "it",
    withinMs: ONE_SECOND,
  });
  expect(error).toMatchObject({ exitCode: 1, outcome: "unsent" });
  expect(error.message).toContain(process.execPath);
  expect(error.message).toContain("the last line");
  expect(error.stderrTail).toMatch(/the last line$/);
  expect(Buffer.byteLength(error.stderrTail ?? "")).toBeLessThanOrEqual(4_096);
});

faultCase("P02", "stderr with a secret of its environment", async (harness) => {
  const secret = harness.secret();
  const script = `console.error("bad key " + process.env.API_KEY); process.exit(1)`;
  const toolport = harness.open({
    it: { command: process.execPath, args: ["-e", script], env: { API_KEY: secret } },
  });
  const error = await harness.fails<ConnectionError>(toolport.callTool("it__echo"), {
    code: "SPAWN_FAILED",
    withinMs: ONE_SECOND,
  });
  expect(error.stderrTail).toContain("bad key [redacted: API_KEY]");
});

const unstartable: [what: string, errno: string, says: string, make: (folder: string) => string][] = [
  ["a command that does not exist", "ENOENT", "was not found", () => "no-such-program-anywhere"],
  ["a path that does not exist", "ENOENT", "Check the path", (folder) => join(folder, "nothing")],
  ["a file that may not be run", "EACCES", "chmod +x", (folder) => file(folder, { mode: 0o600 })],
  ["a directory", "EACCES", "is a directory", (folder) => directory(folder)],
  [
    "a script whose interpreter is missing",
    "ENOENT",
    "interpreter",
    (folder) => file(folder, { mode: 0o700 }),
  ],
];

for (const [what, errno, says, make] of unstartable) {
  faultCase("P02", `${what} as command (${errno})`, async (harness) => {
    const command = make(harness.folder);
    const toolport = harness.open({ it: { command } });
    const { servers } = await harness.within(ONE_SECOND, toolport.connect());
    expect(servers["it"]).toMatchObject({ state: "failed", error: { code: "SPAWN_FAILED", errno } });
    const error = await harness.fails<ConnectionError>(toolport.callTool("it__echo"), {
      code: "SPAWN_FAILED",
      server: "it",
      withinMs: ONE_SECOND,
    });
    expect(error).toMatchObject({ errno, retryable: false, outcome: "unsent" });
    expect(error.message).toContain(command);
    expect(error.message).toContain(says);
    expect(error.cause).toMatchObject({ code: errno });
  });
}

faultCase("P02", "a working directory that does not exist", async (harness) => {
  const cwd = join(harness.folder, "nowhere");
  const toolport = harness.open({ it: { command: process.execPath, cwd } });
  const error = await harness.fails(toolport.callTool("it__echo"), {
    code: "SPAWN_FAILED",
    server: "it",
    withinMs: ONE_SECOND,
  });
  expect(error.message).toContain(`The working directory "${cwd}" does not exist`);
});

function file(folder: string, { mode }: { mode: number }): string {
  const path = join(folder, "server");
  writeFileSync(path, "#!/no/such/interpreter\n");
  chmodSync(path, mode);
  return path;
}

function directory(folder: string): string {
  const path = join(folder, "server");
  mkdirSync(path);
  return path;
}

faultCase("P04", "exits 100 ms after it was ready, again and again", async (harness) => {
  const server = faultProcess(harness, "--crash-after-list=100");
  // In the long run the waits between the starts grow; otherwise they are short.
  const entry = bound(0, 1) === 1 ? server.entry : { ...server.entry, restart: { delayMs: 50 } };
  const toolport = harness.open({ it: entry });
  await toolport.connect();
  await waitFor(() => toolport.snapshot().servers["it"]!.state === "failed", {
    timeoutMs: bound(atMost(5_000), 60_000),
  });
  expect(server.pids()).toHaveLength(5);
  const error = await harness.fails<ConnectionError>(toolport.callTool("it__echo", { text: "?" }), {
    code: "RESTART_LIMIT",
    server: "it",
    withinMs: 100,
  });
  expect(error).toMatchObject({ exitCode: 9, outcome: "unsent" });
  expect(server.pids()).toHaveLength(5);
});

faultCase(
  "P04",
  "after giving up it uses no CPU time",
  async (harness) => {
    const server = faultProcess(harness, "--crash-after-list=100");
    const toolport = harness.open({ it: { ...server.entry, restart: { delayMs: 50 } } });
    await toolport.connect();
    await waitFor(() => toolport.snapshot().servers["it"]!.state === "failed");
    const watchMs = bound(1_000, 50_000);
    const before = process.cpuUsage();
    await new Promise((resolve) => setTimeout(resolve, watchMs));
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000 / watchMs, "share of a core").toBeLessThan(0.02);
    expect(server.pids()).toHaveLength(5);
  },
  { neighbour: false },
);

faultCase("P04", "exits before its first message: one attempt for each request, no loop", async (harness) => {
  const server = faultProcess(harness, "--exit-after-stderr=0");
  const toolport = harness.open({ it: { ...server.entry, restart: { delayMs: 1 } } });
  const { servers } = await toolport.connect();
  expect(servers["it"]).toMatchObject({ state: "failed", error: { code: "SPAWN_FAILED", exitCode: 1 } });
  // Two starts: some servers exit at the probe of the new era.
  const starts = server.pids().length;
  expect(starts).toBeLessThanOrEqual(2);
  const before = takeLeakSnapshot().children.size;
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(server.pids()).toHaveLength(starts);
  expect(takeLeakSnapshot().children.size).toBe(before);
});
