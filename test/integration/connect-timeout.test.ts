/** A server that does not connect in time: the error names the timeout, and the timeout holds. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { createToolport, type ServerEntry, type ToolCallError } from "toolport";
import { afterEach, describe, expect, test, vi } from "vitest";
import { failure } from "../support/failure.js";

const SILENT: ServerEntry = {
  command: process.execPath,
  args: ["-e", "process.stdin.on('end', () => process.exit()).resume()"],
};

async function connectError(entry: ServerEntry, connectTimeoutMs: number): Promise<ToolCallError> {
  await using toolport = createToolport({ mcpServers: { it: entry }, connectTimeoutMs });
  return (await toolport.connect()).servers["it"]!.error as ToolCallError;
}

describe("the error", () => {
  test("of a process names the option, the command line's option and whole milliseconds", async () => {
    const error = await connectError(SILENT, 250.7);
    expect(error).toMatchObject({ code: "TIMEOUT", phase: "connect", outcome: "unsent", retryable: true });
    expect(error.message).toContain("within 251 ms");
    expect(error.message).toContain("connectTimeoutMs");
    expect(error.message).toContain("--timeout");
    expect(error.message).not.toMatch(/\d\.\d/);
    expect(error.message).not.toContain("npx");
  });

  test("of an HTTP server that accepts and never answers is the same", async () => {
    const server = createServer(() => {});
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    try {
      for (const transport of ["http", "sse"] as const) {
        const error = await connectError({ url, transport }, 250);
        expect(error, transport).toMatchObject({ code: "TIMEOUT", phase: "connect" });
        expect(error.message, transport).toContain("connectTimeoutMs");
      }
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  test("of a call with a shorter timeout names that timeout", async () => {
    await using toolport = createToolport({ mcpServers: { it: SILENT } });
    const error = await failure<ToolCallError>(toolport.callTool("it__x", {}, { timeoutMs: 250.7 }));
    expect(error).toMatchObject({ code: "TIMEOUT", phase: "connect" });
    expect(error.message).toContain("within 251 ms");
    expect(error.message).toContain("timeoutMs");
  });

  test("of a runner that downloads a package mentions the first run", async () => {
    const folder = mkdtempSync(join(tmpdir(), "toolport-runners-"));
    const runners = { npx: ["-y", "some-server"], uvx: ["some-server"], pnpm: ["dlx", "some-server"] };
    try {
      const mcpServers: Record<string, ServerEntry> = {};
      for (const [name, args] of Object.entries(runners)) {
        const command = join(folder, name);
        writeFileSync(command, "#!/bin/sh\nwhile read line; do :; done\n", { mode: 0o755 });
        mcpServers[name] = { command, args };
      }
      await using toolport = createToolport({ mcpServers, connectTimeoutMs: 250 });
      const { servers } = await toolport.connect();
      for (const name of Object.keys(runners))
        expect(servers[name]?.error?.message).toContain(`the first run of ${name} downloads the package`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

/** Accepts every message and answers none. */
class SilentTransport implements Transport {
  readonly sent: string[] = [];
  onclose?: () => void;
  async start(): Promise<void> {}
  async send(message: JSONRPCMessage): Promise<void> {
    if ("method" in message) this.sent.push(message.method);
  }
  async close(): Promise<void> {
    this.onclose?.();
  }
}

describe("the limit", () => {
  afterEach(() => void vi.useRealTimers());

  test("holds for a server that answers neither handshake", async () => {
    // Load the modules before the clock is faked.
    await connectError({ transport: () => new SilentTransport() }, 50);
    vi.useFakeTimers();
    const transport = new SilentTransport();
    const toolport = createToolport({
      mcpServers: { it: { transport: () => transport } },
      connectTimeoutMs: 3_000,
    });
    const connecting = toolport.connect();
    await vi.advanceTimersByTimeAsync(2_990);
    expect(transport.sent).toEqual(["server/discover", "initialize"]);
    expect(toolport.snapshot().servers["it"]?.state).toBe("connecting");
    await vi.advanceTimersByTimeAsync(20);
    expect(toolport.snapshot().servers["it"]?.state).toBe("failed");
    expect((await connecting).servers["it"]?.error?.message).toContain("within 3000 ms");
    const closing = toolport.close();
    await vi.runAllTimersAsync();
    await closing;
  });
});
