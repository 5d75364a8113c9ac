/** Endless lists, lists that never arrive, pings without an answer. */
import { createTestServer } from "toolport/testing";
import { expect } from "vitest";
import { type JsonRpcMethods, startJsonRpcServer } from "../fixtures/servers/http-json-rpc.js";
import { bound, faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";
import { connecting, journalIn, speaksOddly, warningsOf } from "./fault-protocol.js";

/** By the cursor that a server sends: how many pages the client requests, and why the list is incomplete. */
const CURSORS = {
  same: { pages: 2, cut: "same cursor twice" },
  many: { pages: 64, cut: "more than 64 pages" },
  object: { pages: 1, cut: "not text" },
  empty: { pages: 2, cut: "same cursor twice" },
};

for (const [kind, { pages, cut }] of Object.entries(CURSORS)) {
  faultCase("R07", `${kind}, over stdio`, async (harness) => {
    const journal = journalIn(harness);
    const toolport = harness.open({ it: speaksOddly(`--list=${kind}`, `--journal=${journal.path}`) });
    const report = await harness.within(5_000, toolport.connect());
    expect(report.servers["it"]).toMatchObject({ state: "ready", toolCount: pages });
    expect(toolport.snapshot().servers["it"]?.cut).toContain(cut);
    expect(warningsOf(harness)).toEqual([expect.stringContaining("incomplete")]);
    expect(journal.lines().filter((method) => method === "tools/list")).toHaveLength(pages);
  });
}

/** Answers all four lists with endless pages. */
function endless(): JsonRpcMethods {
  let count = 0;
  const page = (key: string, id: string) => () => {
    count += 1;
    return {
      resultType: "complete",
      [key]: [{ [id]: `x://${count}`, name: `n${count}`, inputSchema: { type: "object" } }],
      nextCursor: `c${count}`,
    };
  };
  return {
    "tools/list": page("tools", "name"),
    "prompts/list": page("prompts", "name"),
    "resources/list": page("resources", "uri"),
    "resources/templates/list": page("resourceTemplates", "uriTemplate"),
  };
}

faultCase("R07", "100,000 pages of tools, prompts, resources and templates, over HTTP", async (harness) => {
  const server = await startJsonRpcServer(endless());
  harness.atEnd(() => server[Symbol.asyncDispose]());
  const toolport = harness.open({ it: server.entry });
  await harness.within(5_000, toolport.connect());
  for (const method of Object.keys(endless()))
    expect(server.asked.filter((asked) => asked === method).length, method).toBe(64);
  expect(warningsOf(harness)).toHaveLength(4);
});

const LIST_MS = 15_000;

faultCase(
  "R10",
  "the list hangs, over stdio and HTTP; the tools of the other servers are listed",
  async (harness) => {
    const server = await startJsonRpcServer({ "tools/list": () => new Promise(() => {}) });
    harness.atEnd(() => server[Symbol.asyncDispose]());
    const healthy = createTestServer({ tools: { fine: { handler: () => "fine" } } });
    harness.keep(healthy);
    const toolport = harness.open({
      it: speaksOddly("--list=hang"),
      web: server.entry,
      healthy: healthy.memory(),
    });
    const began = performance.now();
    // Ready servers can be used while the others hang.
    expect((await harness.within(1_000, toolport.callTool("healthy__fine"))).text).toBe("fine");
    const report = await toolport.connect();
    // The limit of lists, and no earlier one. That it is no later one is said by the error and the limit of the test.
    expect(performance.now() - began).toBeGreaterThan(LIST_MS - 1_000);
    for (const name of ["it", "web"])
      expect(report.servers[name]).toMatchObject({
        state: "failed",
        error: { code: "TIMEOUT", phase: "tools/list", server: name, retryable: true },
      });
    const tools = await toolport.tools();
    expect(tools.some(({ server: owner }) => owner === "healthy")).toBe(true);
    expect(tools.some(({ server: owner }) => owner === "neighbour")).toBe(true);
  },
  { timeoutMs: 120_000 },
);

async function pingHangs(harness: FaultHarness, name: string, ping: () => Promise<unknown>): Promise<void> {
  await harness.fails(ping(), { code: "TIMEOUT", server: name, withinMs: bound(1_000, 15_000) + 1_000 });
}

faultCase("R10", "ping hangs, in both eras; calls still work", async (harness) => {
  let calls = 0;
  const server = await startJsonRpcServer({
    "server/discover": () => {
      calls += 1;
      if (calls > 1) return new Promise(() => {});
      return {
        resultType: "complete",
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: {} },
        _meta: { "io.modelcontextprotocol/serverInfo": { name: "web", version: "1" } },
      };
    },
    "tools/list": () => ({ tools: [{ name: "fine", inputSchema: { type: "object" } }] }),
    "tools/call": () => ({ content: [{ type: "text", text: "fine" }] }),
  });
  harness.atEnd(() => server[Symbol.asyncDispose]());
  const toolport = harness.open({ it: speaksOddly("--ping=hang"), web: server.entry });
  await toolport.connect();
  const timeoutMs = bound(1_000, 15_000);
  await Promise.all(
    ["it", "web"].map((name) => pingHangs(harness, name, () => toolport.ping(name, { timeoutMs }))),
  );
  expect((await toolport.callTool("it__echo", { text: "well" })).text).toBe("well");
  expect((await toolport.callTool("web__fine")).text).toBe("fine");
});

faultCase("R10", "the list is an error: DISCOVERY_FAILED with its cause", async (harness) => {
  const toolport = harness.open({ it: speaksOddly("--list=error") });
  const { servers } = await toolport.connect();
  expect(servers["it"]).toMatchObject({
    state: "failed",
    error: { code: "DISCOVERY_FAILED", server: "it", cause: { code: "PROTOCOL", rpcCode: -32603 } },
  });
  await harness.fails(connecting(toolport), {
    code: "DISCOVERY_FAILED",
    server: "it",
    withinMs: 3_000,
  });
});
