/** close() leaves no process behind, however the server and its children behave. */
import { describe, expect, it } from "vitest";
import { createStdioTransport } from "../../packages/core/src/transports/stdio/process-transport.js";
import {
  isAlive,
  LEAN_SERVER,
  leanConfig,
  ownChildren,
  StdioPeer,
  stdioConfig,
  usePidFolder,
} from "../fixtures/stdio-peer.js";
import { takeLeakSnapshot, waitForNoLeaks } from "../support/leaks.js";

const context = { maxMessageBytes: 1_000_000 };
const scratch = usePidFolder();

async function closeAndCount(flags: string[], shell = false): Promise<{ left: number[]; seen: number }> {
  const args = [...flags, `--pid-file=${scratch.file}`];
  const config = shell
    ? stdioConfig({ command: "sh", args: ["-c", `"$0" "$@"; true`, process.execPath, LEAN_SERVER, ...args] })
    : leanConfig(...args);
  const peer = new StdioPeer(createStdioTransport(config, context));
  await peer.transport.start();
  expect(await peer.call("echo", { text: "hi" })).toBe("hi");
  await Promise.all([peer.transport.close(), peer.transport.close()]);
  await peer.transport.close();
  expect(peer.closeCount).toBe(1);
  expect(peer.transport.closeError).toBeUndefined();
  expect(ownChildren()).toEqual([]);
  return { left: scratch.pids().filter(isAlive), seen: scratch.pids().length };
}

const STUBBORN = ["--ignore-eof", "--ignore-signals"];

describe("closing a stdio server", () => {
  it("ends a server that exits at the end of its input", async () => {
    const { left } = await closeAndCount([]);
    expect(left).toEqual([]);
  });

  it.each([
    ["sends SIGTERM to one that ignores the end of input", ["--ignore-eof"], false, 1],
    ["ends one that ignores everything", STUBBORN, false, 1],
    ["ends one that ignores everything behind sh -c", STUBBORN, true, 1],
    ["ends a stubborn child of a server that exits", ["--child"], false, 2],
    ["ends a stubborn child that left the group", ["--setsid-child"], false, 2],
    ["ends a whole stubborn family behind sh -c", [...STUBBORN, "--child", "--setsid-child"], true, 3],
  ])("%s", async (_name, flags, shell, processes) => {
    const { left, seen } = await closeAndCount(flags, shell);
    expect(seen).toBe(processes);
    expect(left).toEqual([]);
  });

  it("ends a stopped server", async () => {
    const peer = new StdioPeer(createStdioTransport(leanConfig(), context));
    await peer.transport.start();
    const pid = peer.transport.pid ?? 0;
    process.kill(pid, "SIGSTOP");
    await peer.transport.close();
    expect(isAlive(pid)).toBe(false);
  });

  it("delivers nothing after close and sends what was accepted before it", async () => {
    const peer = new StdioPeer(createStdioTransport(leanConfig(), context));
    await peer.transport.start();
    await peer.call("echo", { text: "hi" });
    void peer.request("tools/call", { name: "echo", arguments: { text: "late" } });
    await peer.transport.close();
    expect(peer.messageCount).toBe(1);
    expect(ownChildren()).toEqual([]);
  });

  it("leaves no handle, timer or listener behind", async () => {
    const cycle = async () => {
      const peer = new StdioPeer(createStdioTransport(leanConfig(), context));
      await peer.transport.start();
      await peer.call("echo", { text: "hi" });
      await peer.transport.close();
    };
    await cycle();
    const before = takeLeakSnapshot();
    for (let count = 0; count < 5; count += 1) await cycle();
    await waitForNoLeaks(before);
  });
});
