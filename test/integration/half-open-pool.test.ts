/** Pooled sockets that died unnoticed behind a real proxy: at most one call fails. */
import { createToolport, type Toolport } from "toolport";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { startSingleThreadServer, statsOf } from "../support/single-thread-server.js";
import { startTcpProxy } from "../support/tcp-proxy.js";

const ENTRY = {
  http: (port: number) => ({ url: `http://127.0.0.1:${port}/mcp`, protocol: "legacy" as const }),
  sse: (port: number) => ({ transport: "sse" as const, url: `http://127.0.0.1:${port}/sse` }),
};

/** A server behind a proxy, and a client whose pool holds several idle sockets to it. */
async function openPool(transport: keyof typeof ENTRY) {
  const server = await startSingleThreadServer(transport);
  const proxy = await startTcpProxy(server.port);
  const toolport = createToolport({ mcpServers: { it: ENTRY[transport](proxy.port) }, timeoutMs: 1_500 });
  await toolport.connect();
  await Promise.all(Array.from({ length: 5 }, () => toolport.callTool("it__slow", { ms: 50 })));
  return {
    proxy,
    toolport,
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await proxy[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

const slowCalls = async (toolport: Toolport) => (await statsOf(toolport)).calls["slow"];

describe("Streamable HTTP", () => {
  test("sockets that are reset on use fail one call", async () => {
    await using scene = await openPool("http");
    const { toolport } = scene;
    scene.proxy.forget("reset");
    expect(await failure(toolport.callTool("it__slow"))).toMatchObject({
      code: "UNREACHABLE",
      outcome: "unknown",
    });
    for (let count = 0; count < 4; count += 1)
      expect((await toolport.callTool("it__slow")).text).toBe("done");
    expect(await slowCalls(toolport)).toBe(9);
  });

  test("sockets that are reset on use fail no idempotent call", async () => {
    await using scene = await openPool("http");
    scene.proxy.forget("reset");
    const { text } = await scene.toolport.callTool("it__slow", {}, { idempotent: true });
    expect(text).toBe("done");
    await scene.toolport.refresh("it");
  });

  test("sockets that swallow requests fail one call", async () => {
    await using scene = await openPool("http");
    const { toolport } = scene;
    scene.proxy.forget("silent");
    expect(await failure(toolport.callTool("it__slow"))).toMatchObject({ code: "TIMEOUT" });
    for (let count = 0; count < 4; count += 1)
      expect((await toolport.callTool("it__slow")).text).toBe("done");
    expect(await slowCalls(toolport)).toBe(9);
    expect(toolport.snapshot().servers["it"]?.state).toBe("ready");
  });
});
