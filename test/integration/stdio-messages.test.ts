/** Output of a stdio server: noise, messages near the size limit and over it, and real MCP. */
import { createRequire } from "node:module";
import { Client } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import type { StdioConfig } from "../../packages/core/src/config/server-config.js";
import { createStdioTransport } from "../../packages/core/src/transports/stdio/process-transport.js";
import { leanConfig, ownChildren, StdioPeer, stdioConfig } from "../fixtures/stdio-peer.js";

const MEBIBYTE = 1_024 * 1_024;

async function start(config: StdioConfig, maxMessageBytes = 10 * MEBIBYTE): Promise<StdioPeer> {
  const peer = new StdioPeer(createStdioTransport(config, { maxMessageBytes }));
  await peer.transport.start();
  return peer;
}

describe("the output of a stdio server", () => {
  it("may contain noise: skipped, with one warning and one for the batch", async () => {
    const peer = await start(leanConfig("--garbage"));
    expect(await peer.call("echo", { text: "hi" })).toBe("hi");
    expect(peer.errors).toMatchObject([{ code: "BAD_RESPONSE" }, { code: "BAD_RESPONSE" }]);
    expect((peer.transport as { skippedLines?: number }).skippedLines).toBeGreaterThan(5);
    await peer.transport.close();
  });

  it("may start with a progress display without line ends", async () => {
    const peer = await start(leanConfig("--stdout-progress"));
    expect(await peer.call("echo", { text: "hi" })).toBe("hi");
    await peer.transport.close();
  });

  it("may be 9.9 MiB", async () => {
    const peer = await start(leanConfig());
    expect(await peer.call("big", { bytes: 9.9 * MEBIBYTE })).toHaveLength(Math.floor(9.9 * MEBIBYTE));
    await peer.transport.close();
  });

  it.each([false, true])(
    "may be 64 MB: dropped with its id (behind the result: %s), and the connection stays open",
    async (idLast) => {
      const peer = await start(leanConfig());
      void peer.call("big", { bytes: 64_000_000, idLast });
      expect(await peer.call("echo", { text: "after" })).toBe("after");
      expect(peer.discarded).toMatchObject([{ id: 1, error: { code: "MESSAGE_TOO_LARGE", server: "lean" } }]);
      await peer.transport.close();
    },
  );

  it("comes in order when many calls are in flight", async () => {
    const peer = await start(leanConfig());
    const texts = Array.from({ length: 2_000 }, (_, at) => `text ${at}`);
    expect(await Promise.all(texts.map((text) => peer.call("echo", { text })))).toEqual(texts);
    await peer.transport.close();
  });

  it("survives a receiver that throws, and a reporter that throws, too", async () => {
    const transport = createStdioTransport(leanConfig(), { maxMessageBytes: MEBIBYTE });
    const errors: Error[] = [];
    const reported = new Promise<void>((resolve) => {
      transport.onerror = (error) => {
        errors.push(error);
        if (errors.length === 2) resolve();
        throw new Error("mine too");
      };
    });
    transport.onmessage = () => {
      throw new Error("mine");
    };
    await transport.start();
    await transport.send({ jsonrpc: "2.0", id: 1, method: "ping" });
    await transport.send({ jsonrpc: "2.0", id: 2, method: "ping" });
    await reported;
    expect(errors.map((error) => error.message)).toEqual(["mine", "mine"]);
    await transport.close();
  });

  it("is MCP: the SDK's client talks to a real server through it", async () => {
    const server = createRequire(import.meta.url).resolve(
      "@modelcontextprotocol/server-everything/dist/index.js",
    );
    const transport = createStdioTransport(stdioConfig({ args: [server] }), { maxMessageBytes: MEBIBYTE });
    const client = new Client({ name: "test", version: "1.0.0" });
    await client.connect(transport);
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toContain("echo");
    const result = await client.callTool({ name: "echo", arguments: { message: "hi" } });
    expect(JSON.stringify(result.content)).toContain("hi");
    await client.close();
    expect(ownChildren()).toEqual([]);
  });
});
