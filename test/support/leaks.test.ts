/** The leak check reports leaks, and nothing else. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import {
  activeResources,
  countChildren,
  expectNoLeaks,
  GUARDIAN_MARK,
  listenersOf,
  openSockets,
  takeLeakSnapshot,
  waitFor,
  waitForNoLeaks,
} from "./leaks.js";
import { findProcesses, isAlive, processTree, waitForExit } from "./processes.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function startShell(...args: string[]) {
  const child = spawn("sh", ["-c", "sleep 60 & echo ready; wait", ...args], {
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
  });
  const pid = child.pid as number;
  const gone = once(child, "close");
  const kill = () => process.kill(-pid, "SIGKILL");
  cleanups.push(() => (isAlive(pid) ? kill() : undefined));
  await once(child.stdout, "data");
  return { pid, gone, kill };
}

describe("leaks", () => {
  it("finds a process and its grandchild, and notices when they have exited", async () => {
    const before = takeLeakSnapshot();
    const mark = `leak-${process.pid}`;
    const shell = await startShell(mark);
    // Between fork and exec a child still has its parent's command line, including the mark.
    await waitFor(() => processTree(shell.pid)[0]?.command === "sleep 60");
    expect(countChildren() - before.children.size).toBe(2);
    expect(findProcesses(mark).map(({ pid }) => pid)).toEqual([shell.pid]);
    expect(() => expectNoLeaks(before)).toThrow(/process \d+: sleep 60/);
    const [grandchild] = processTree(shell.pid);
    shell.kill();
    await shell.gone;
    await waitForExit(shell.pid);
    await waitForExit(grandchild?.pid ?? 0);
    await waitForNoLeaks(before);
  });

  it("ignores a process with the guardian's mark", async () => {
    const before = takeLeakSnapshot();
    const child = spawn(process.execPath, ["-e", "setTimeout(() => {}, 60_000)", GUARDIAN_MARK], {
      stdio: "ignore",
    });
    cleanups.push(() => child.kill("SIGKILL"));
    await once(child, "spawn");
    await waitFor(() => processTree(process.pid).some(({ pid }) => pid === child.pid));
    expect(countChildren()).toBe(before.children.size);
    child.kill("SIGKILL");
    await once(child, "close");
  });

  it("finds a listening socket, a timer and a listener on process", async () => {
    const before = takeLeakSnapshot();
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const timers = [1, 2, 3].map(() => setTimeout(() => {}, 60_000));
    const listener = () => {};
    process.on("SIGUSR2", listener);
    expect(openSockets()).toBe(before.sockets + 1);
    expect(activeResources().Timeout).toBeGreaterThanOrEqual(3);
    expect(listenersOf(process).SIGUSR2).toBe((before.listeners.SIGUSR2 ?? 0) + 1);
    expect(() => expectNoLeaks(before)).toThrow(
      /resource Timeout.*\n.*listener on process SIGUSR2.*\n.*socket/s,
    );
    for (const timer of timers) clearTimeout(timer);
    process.off("SIGUSR2", listener);
    server.close();
    await waitForNoLeaks(before);
  });

  it("reports what it waited for and the last error", async () => {
    const broken = () => {
      throw new Error("not yet");
    };
    const waiting = waitFor(broken, { timeoutMs: 30, intervalMs: 5, label: "the moon" });
    await expect(waiting).rejects.toThrow("Waited 30 ms for the moon");
    await expect(waiting).rejects.toMatchObject({ cause: { message: "not yet" } });
  });
});
