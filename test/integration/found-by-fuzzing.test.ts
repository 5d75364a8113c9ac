/** Minimal cases that the fuzzers found: each of them once crashed a program or made it hang. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { createToolport, type ToolportError } from "toolport";
import { loadConfig } from "toolport/node";
import { expect, test } from "vitest";
import { readSourceTool } from "../../packages/core/src/catalog/source-tool.js";
import { toToolResult } from "../../packages/core/src/execution/tool-result.js";
import { failure } from "../support/failure.js";
import { type Answerer, MemoryWorld } from "../support/memory-world.js";
import { waitFor } from "../support/wait-for.js";

const nested = (depth: number): unknown => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);

function open(world: MemoryWorld) {
  return createToolport({ mcpServers: { it: { transport: world.connect } }, retry: false });
}

/** Answers `tools/call` with this, and everything else correctly. */
const answerCalls =
  (answer: Record<string, unknown>): Answerer =>
  (request, world) =>
    request.method === "tools/call" ? { jsonrpc: "2.0", id: request.id, ...answer } : world.honest(request);

test.each<[string, unknown]>([
  ["empty", {}],
  ["a text", "no"],
  ["a list", []],
  ["without a message", { code: -32000 }],
  ["with an invalid code", { code: "E1", message: "no" }],
])("an error that is %s is still an error", async (_, error) => {
  const world = new MemoryWorld({ era: "legacy", answer: answerCalls({ error }) });
  await using toolport = open(world);
  const thrown = await failure(toolport.callTool("it__echo"));
  expect(thrown).toMatchObject({ code: "PROTOCOL", server: "it", tool: "echo" });
});

test("an error of null beside a result counts as a success, as in JSON-RPC 1.0", async () => {
  const result = { content: [{ type: "text", text: "fine" }] };
  const world = new MemoryWorld({ era: "legacy", answer: answerCalls({ result, error: null }) });
  await using toolport = open(world);
  expect((await toolport.callTool("it__echo")).text).toBe("fine");
});

test.each([{ structuredContent: nested(5_000) }, { content: [{ type: "x", _meta: nested(5_000) }] }])(
  "a result nested without end is refused before it is serialized",
  (raw) => {
    expect(() => toToolResult(raw, "it")).toThrow(/nested deeper than 500 levels.*\(PROTOCOL\)/);
  },
);

test("_meta that is not an object is ignored", () => {
  for (const _meta of [null, 1, "x", []])
    expect(toToolResult({ content: [], _meta }, "it")._meta).toBeUndefined();
});

test.each([nested(5_000), { name: nested(5_000) }, { name: "a", inputSchema: {}, _meta: nested(5_000) }])(
  "a tool nested without end affects only itself",
  (raw) => {
    expect(readSourceTool(raw, { withHeaders: false })).toMatchObject({
      withheld: { reason: expect.any(String) },
    });
  },
);

test("a server that dropped the legacy era is detected again", async () => {
  const [before, after] = [new MemoryWorld({ era: "legacy" }), new MemoryWorld({ era: "modern" })];
  let world = before;
  await using toolport = createToolport({ mcpServers: { it: { transport: () => world.connect() } } });
  expect((await toolport.callTool("it__echo", { text: "old" })).text).toBe("old");
  world = after;
  before.kill();
  await waitFor(() => toolport.snapshot().servers["it"]?.era === "modern");
  expect((await toolport.callTool("it__echo", { text: "new" })).text).toBe("new");
});

test("a server that declared no capabilities is asked again at the next start", async () => {
  let isYoung = true;
  const world = new MemoryWorld({
    era: "modern",
    answer(request, self) {
      const honest = self.honest(request) as { result?: Record<string, unknown> };
      if (request.method !== "server/discover" || !isYoung) return honest;
      return { ...honest, result: { ...honest.result, capabilities: {} } };
    },
  });
  await using toolport = open(world);
  const empty = await failure<ToolportError>(toolport.callTool("it__echo", { text: "x" }));
  expect(empty.code).toBe("TOOL_NOT_FOUND");
  isYoung = false;
  await toolport.disconnect("it");
  await toolport.connectServer("it");
  expect((await toolport.callTool("it__echo", { text: "x" })).text).toBe("x");
});

test("a handshake that the SDK's client refuses does not delay close()", async () => {
  const world = new MemoryWorld({
    era: "legacy",
    answer(request, self) {
      const honest = self.honest(request) as { result?: Record<string, unknown> };
      if (request.method !== "initialize") return honest;
      return { ...honest, result: { ...honest.result, _meta: 0 } };
    },
  });
  const toolport = open(world);
  await toolport.callTool("it__echo");
  world.say({ jsonrpc: "2.0", id: 1, method: "roots/list" });
  // Until the server has received it.
  await new Promise((resolve) => setTimeout(resolve, 50));
  await toolport.close();
});

test("an unknown field may hold a secret, and is reported by its name only", async () => {
  const folder = await mkdtemp(join(tmpdir(), "toolport-fuzz-"));
  try {
    const file = join(folder, "mcp_config.json");
    const entry = { serverUrl: "https://example.com/mcp", environment: { K: "canary" } };
    await writeFile(file, JSON.stringify({ mcpServers: { a: entry } }));
    const { sources } = await loadConfig(file, { env: {} });
    expect(sources["a"]?.extra).toEqual({ environment: { K: "canary" } });
    expect(inspect(sources, { depth: 9 })).not.toContain("canary");
  } finally {
    await rm(folder, { recursive: true });
  }
});
