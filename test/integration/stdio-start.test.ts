/** Starting a stdio server: success, and every failure as a typed error that says what to check. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { SecretRecord } from "../../packages/core/src/config/known-secrets.js";
import type { StdioConfig } from "../../packages/core/src/config/server-config.js";
import { createStdioTransport } from "../../packages/core/src/transports/stdio/process-transport.js";
import {
  LEAN_SERVER,
  leanConfig,
  ownChildren,
  StdioPeer,
  stdioConfig,
  usePidFolder,
} from "../fixtures/stdio-peer.js";

const context = { maxMessageBytes: 1_000_000 };
const scratch = usePidFolder();
afterEach(() => expect(ownChildren()).toEqual([]));

async function startFailure(config: StdioConfig) {
  const peer = new StdioPeer(createStdioTransport(config, context));
  const error = await peer.transport.start().then(
    () => undefined,
    (reason) => reason,
  );
  await peer.transport.close();
  return error;
}

describe("starting a stdio server", () => {
  it("talks to a server, and reports its process id and first output", async () => {
    const peer = new StdioPeer(createStdioTransport(leanConfig("--stderr=hello"), context));
    expect(peer.transport.pid).toBeNull();
    expect("stderr" in peer.transport).toBe(true);
    await peer.transport.start();
    await peer.transport.firstSign;
    expect(await peer.call("echo", { text: "grüße 🙂" })).toBe("grüße 🙂");
    expect(await peer.call("pid")).toBe(String(peer.transport.pid));
    await peer.transport.close();
    expect(peer.closeCount).toBe(1);
    expect(peer.transport.closeError).toBeUndefined();
  });

  it("passes the safe variables and those of the entry, and all others only on request", async () => {
    process.env.TOOLPORT_TEST_SECRET = "from the host";
    const seen = async (overrides: Partial<StdioConfig>, name: string) => {
      const config = stdioConfig({ env: new SecretRecord({ OWN: "mine" }), ...overrides });
      const peer = new StdioPeer(createStdioTransport(config, context));
      await peer.transport.start();
      const value = await peer.call("env", { name });
      await peer.transport.close();
      return value;
    };
    expect(await seen({}, "OWN")).toBe("mine");
    expect(await seen({}, "PATH")).toBe(process.env.PATH);
    expect(await seen({}, "TOOLPORT_TEST_SECRET")).toBe("");
    expect(await seen({ inheritEnv: true }, "TOOLPORT_TEST_SECRET")).toBe("from the host");
    delete process.env.TOOLPORT_TEST_SECRET;
  });

  it("names a program that does not exist", async () => {
    expect(await startFailure(stdioConfig({ command: "no-such-program" }))).toMatchObject({
      name: "ConnectionError",
      code: "SPAWN_FAILED",
      errno: "ENOENT",
      server: "lean",
      outcome: "unsent",
      retryable: false,
      message: expect.stringContaining('The program "no-such-program" was not found'),
    });
  });

  it("distinguishes a missing working directory from a missing program", async () => {
    const cwd = join(scratch.folder, "gone");
    const error = await startFailure(stdioConfig({ cwd }));
    expect(error).toMatchObject({ code: "SPAWN_FAILED", errno: "ENOENT" });
    expect(error.message).toContain(`The working directory "${cwd}" does not exist`);
    expect(error.message).toContain('"cwd"');
  });

  it("says when the command is a directory, may not be executed, or lacks its interpreter", async () => {
    const folder = join(scratch.folder, "folder");
    mkdirSync(folder);
    const plain = join(scratch.folder, "plain");
    writeFileSync(plain, "#!/bin/sh\n");
    const script = join(scratch.folder, "script");
    writeFileSync(script, "#!/no/such/interpreter\n");
    chmodSync(script, 0o755);
    expect((await startFailure(stdioConfig({ command: folder }))).message).toContain("is a directory");
    expect(await startFailure(stdioConfig({ command: plain }))).toMatchObject({ errno: "EACCES" });
    expect((await startFailure(stdioConfig({ command: "./script", cwd: scratch.folder }))).message).toContain(
      "interpreter",
    );
  });

  it("refuses arguments and encodings that cannot be used, with a typed error", async () => {
    expect(await startFailure(stdioConfig({ args: ["a\0b"] }))).toMatchObject({ code: "SPAWN_FAILED" });
    expect(await startFailure(stdioConfig({ encoding: "utf16le" }))).toMatchObject({
      code: "INVALID_CONFIG",
    });
  });

  it("can be closed before, during and after a failed start, and started only once", async () => {
    const unused = new StdioPeer(createStdioTransport(leanConfig(), context));
    await unused.transport.close();
    expect(unused.closeCount).toBe(1);
    await expect(unused.transport.start()).rejects.toMatchObject({ code: "CLOSED", outcome: "unsent" });

    const during = new StdioPeer(createStdioTransport(leanConfig(), context));
    const started = during.transport.start();
    const closed = Promise.all([during.transport.close(), during.transport.close()]);
    await expect(started).rejects.toMatchObject({ code: "CLOSED", outcome: "unsent" });
    await closed;
    expect(during.closeCount).toBe(1);
    await expect(during.transport.send({ jsonrpc: "2.0", method: "x" })).rejects.toMatchObject({
      code: "CLOSED",
    });
  });

  it("reads a server in another encoding", async () => {
    const script = `process.stdin.on("data", () => process.stdout.write(Buffer.from(
      JSON.stringify({ jsonrpc: "2.0", id: 1, result: { content: [{ text: "é" }] } }) + "\\n", "latin1")));`;
    const config = stdioConfig({ args: ["-e", script], encoding: "latin1" });
    const peer = new StdioPeer(createStdioTransport(config, context));
    await peer.transport.start();
    expect(await peer.call("echo")).toBe("é");
    await peer.transport.close();
  });

  it("works behind a shell and in a working directory", async () => {
    const args = ["-c", `"${process.execPath}" "${LEAN_SERVER}"; true`];
    const peer = new StdioPeer(createStdioTransport(stdioConfig({ command: "sh", args, cwd: "/" }), context));
    await peer.transport.start();
    expect(await peer.call("echo", { text: "hi" })).toBe("hi");
    await peer.transport.close();
  });
});
