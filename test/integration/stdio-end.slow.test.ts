/** A stdio server that exits, or stops reading, unexpectedly. */
import { describe, expect, it } from "vitest";
import { SecretRecord } from "../../packages/core/src/config/known-secrets.js";
import type { StdioConfig } from "../../packages/core/src/config/server-config.js";
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
import { waitFor } from "../support/wait-for.js";

const context = { maxMessageBytes: 1_000_000 };
const scratch = usePidFolder();

async function start(config: StdioConfig): Promise<StdioPeer> {
  const peer = new StdioPeer(createStdioTransport(config, context));
  await peer.transport.start();
  return peer;
}

async function expectAllGone(peer: StdioPeer): Promise<void> {
  await peer.transport.close();
  expect(peer.closeCount).toBe(1);
  expect(ownChildren()).toEqual([]);
}

describe("a stdio server that exits", () => {
  it("before its first message fails with exit code and stderr", async () => {
    const config = leanConfig("--stderr=\u001b[31mError: no key\u001b[0m (sk-12345678)", "--exit=7");
    const peer = await start({ ...config, env: new SecretRecord({ API_KEY: "sk-12345678" }) });
    await peer.closed;
    expect(peer.transport.closeError).toMatchObject({
      code: "SPAWN_FAILED",
      exitCode: 7,
      signal: null,
      stderrTail: "Error: no key ([redacted: API_KEY])",
      message: expect.stringContaining('exited with code 7 before it sent a message; stderr: "Error: no key'),
    });
    await expectAllGone(peer);
  });

  it("later is CLOSED with the same details, and its last messages are delivered", async () => {
    const peer = await start(leanConfig());
    await peer.call("echo", { text: "hi" });
    void peer.request("tools/call", { name: "slow", arguments: { ms: 60_000 } });
    void peer.request("tools/call", { name: "echo", arguments: { text: "last" } });
    void peer.request("tools/call", { name: "crash", arguments: { code: 9 } });
    await peer.closed;
    expect(peer.messageCount).toBe(2);
    expect(peer.transport.closeError).toMatchObject({
      code: "CLOSED",
      exitCode: 9,
      retryable: true,
      outcome: "unknown",
    });
    await expect(peer.transport.send({ jsonrpc: "2.0", method: "x" })).rejects.toMatchObject({
      code: "CLOSED",
      outcome: "unsent",
      retryable: true,
    });
    await expectAllGone(peer);
  });

  it("by a signal is reported with the signal", async () => {
    const peer = await start(leanConfig());
    await peer.call("echo", { text: "hi" });
    process.kill(peer.transport.pid ?? 0, "SIGKILL");
    await peer.closed;
    expect(peer.transport.closeError).toMatchObject({ code: "CLOSED", signal: "SIGKILL", exitCode: null });
    await expectAllGone(peer);
  });

  it("counts as lost when it closes its output but keeps running, and is ended with its child", async () => {
    const peer = await start(
      leanConfig(
        "--close-stdout-after=1",
        "--child",
        "--ignore-eof",
        "--ignore-signals",
        `--pid-file=${scratch.file}`,
      ),
    );
    await peer.call("echo", { text: "hi" });
    await peer.closed;
    expect(peer.transport.closeError).toMatchObject({
      code: "CLOSED",
      message: expect.stringContaining("closed its standard"),
    });
    expect(scratch.pids()).toHaveLength(2);
    await expectAllGone(peer);
    expect(scratch.pids().filter(isAlive)).toEqual([]);
  });

  it("counts as lost even while another process holds its output open", async () => {
    const peer = await start(leanConfig("--daemon-holds-stdout", `--pid-file=${scratch.file}`));
    await peer.call("echo", { text: "hi" });
    void peer.request("tools/call", { name: "crash" });
    await peer.closed;
    expect(peer.transport.closeError).toMatchObject({ code: "CLOSED", exitCode: 3 });
    await expectAllGone(peer);
  });

  it("ends with all processes of its group", async () => {
    const peer = await start(leanConfig("--child", `--pid-file=${scratch.file}`));
    await peer.call("echo", { text: "hi" });
    void peer.request("tools/call", { name: "crash" });
    await peer.closed;
    await expectAllGone(peer);
    await waitFor(() => scratch.pids().filter(isAlive).length === 0);
  });
});

describe("a stdio server that does not read", () => {
  it("causes back-pressure, and its exit settles every send", async () => {
    const peer = await start(leanConfig("--never-read"));
    const text = "x".repeat(8 * 1_024 * 1_024);
    const first = peer.transport.send({ jsonrpc: "2.0", id: 1, method: "a", params: { text } });
    // The second waits for the first, which the pipe has accepted in part.
    await new Promise((resolve) => setImmediate(resolve));
    const outcomes = Promise.allSettled([first, peer.transport.send({ jsonrpc: "2.0", id: 2, method: "b" })]);
    const settled = await Promise.race([
      outcomes.then(() => "settled"),
      new Promise((resolve) => setTimeout(resolve, 200, "waits")),
    ]);
    expect(settled).toBe("waits");
    process.kill(peer.transport.pid ?? 0, "SIGKILL");
    expect(
      (await outcomes).map((outcome) => outcome.status === "rejected" && outcome.reason.outcome),
    ).toEqual(["unknown", "unsent"]);
    await peer.closed;
    await expectAllGone(peer);
  });

  it("counts as lost when it closes its input", async () => {
    const script = 'require("node:fs").closeSync(0); console.log("ready"); setInterval(() => {}, 1000);';
    const peer = await start(stdioConfig({ args: ["-e", script] }));
    await peer.transport.firstSign;
    await expect(peer.transport.send({ jsonrpc: "2.0", method: "x" })).rejects.toMatchObject({
      outcome: "unsent",
    });
    await peer.closed;
    expect(peer.transport.closeError).toMatchObject({ code: "SPAWN_FAILED" });
    await expectAllGone(peer);
  });

  it("does not block on unread stderr", async () => {
    for (const stderr of ["pipe", "ignore"] as const) {
      const peer = await start(
        stdioConfig({ args: [LEAN_SERVER, `--stderr-bytes=${5 * 1_024 * 1_024}`], stderr }),
      );
      expect(await peer.call("echo", { text: "hi" })).toBe("hi");
      await expectAllGone(peer);
    }
  });
});
