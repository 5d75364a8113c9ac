/** Servers that name unknown revisions, do not answer the probe, or declare capabilities that they lack. */
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { sendJson, startScriptedServer } from "../fixtures/servers/http-scripted.js";
import { faultCase } from "./fault-case.js";
import { connecting, journalIn, speaksOddly, warningsOf } from "./fault-protocol.js";

const ERAS_SERVER = fileURLToPath(new URL("../fixtures/servers/stdio-eras.mjs", import.meta.url));

for (const kind of ["future", "number", "missing"]) {
  faultCase("R08", `protocolVersion: ${kind}, over stdio`, async (harness) => {
    const journal = journalIn(harness);
    const toolport = harness.open({ it: speaksOddly(`--version=${kind}`, `--journal=${journal.path}`) });
    await harness.fails(connecting(toolport), {
      code: "HANDSHAKE_FAILED",
      server: "it",
      withinMs: 2_000,
    });
    // One process, probed in one era and then in the other, and not again.
    expect(journal.lines()).toEqual(["start", "server/discover", "initialize"]);
  });

  faultCase("R08", `protocolVersion: ${kind}, over HTTP`, async (harness) => {
    const protocolVersion = { future: "9999-01-01", number: 20251125, missing: undefined }[kind];
    const server = harness.keep(
      await startScriptedServer(({ message }, response) => {
        if (message?.method !== "initialize") return response.writeHead(400).end();
        const serverInfo = { name: "odd", version: "1" };
        const result = { protocolVersion, capabilities: {}, serverInfo };
        return sendJson(response, { jsonrpc: "2.0", id: message.id, result });
      }),
    );
    const toolport = harness.open({ it: { url: server.url } });
    await harness.fails(connecting(toolport), {
      code: "HANDSHAKE_FAILED",
      server: "it",
      withinMs: 2_000,
    });
    expect(server.seen.filter(({ message }) => message?.method === "initialize")).toHaveLength(1);
  });
}

faultCase("R08", "no answer to the probe: legacy after 2 s, with one process", async (harness) => {
  const journal = journalIn(harness);
  const args = [ERAS_SERVER, "--era", "legacy", "--unknown", "silent", "--log", journal.path];
  const toolport = harness.open({ it: { command: process.execPath, args } });
  await harness.within(10_000, toolport.connectServer("it"));
  expect(toolport.snapshot().servers["it"]).toMatchObject({ state: "ready", era: "legacy" });
  expect(journal.lines().filter((line) => line.endsWith(" start"))).toHaveLength(1);
});

faultCase(
  "R08",
  "exits at the probe: started once more with initialize, not a third time",
  async (harness) => {
    const journal = journalIn(harness);
    const args = [ERAS_SERVER, "--era", "legacy", "--unknown", "exit", "--log", journal.path];
    const toolport = harness.open({ it: { command: process.execPath, args } });
    await harness.within(10_000, toolport.connectServer("it"));
    expect(toolport.snapshot().servers["it"]).toMatchObject({ state: "ready", era: "legacy" });
    expect(journal.lines().filter((line) => line.endsWith(" start"))).toHaveLength(2);
  },
);

/** The answer of a legacy server over HTTP to `server/discover`. */
const REFUSALS: Record<string, string> = {
  empty: "",
  text: "Bad Request: no valid session",
  "JSON-RPC error": JSON.stringify({
    jsonrpc: "2.0",
    error: { code: -32000, message: "Server not initialized" },
    id: null,
  }),
};

for (const [what, body] of Object.entries(REFUSALS)) {
  faultCase("R08", `400 to the modern probe (${what}): initialize, once`, async (harness) => {
    const asked: string[] = [];
    const server = harness.keep(
      await startScriptedServer(({ message, method }, response) => {
        if (method !== "POST" || message?.method === undefined) return response.writeHead(405).end();
        asked.push(message.method);
        const answer = {
          initialize: {
            protocolVersion: "2025-11-25",
            capabilities: { tools: {} },
            serverInfo: { name: "old", version: "1" },
          },
          "tools/list": { tools: [{ name: "fine", inputSchema: { type: "object" } }] },
          "tools/call": { content: [{ type: "text", text: "fine" }] },
        }[message.method];
        if (message.id === undefined) return response.writeHead(202).end();
        if (answer === undefined) {
          const type = body.startsWith("{") ? "application/json" : "text/plain";
          return response.writeHead(400, { "content-type": type }).end(body);
        }
        return sendJson(response, { jsonrpc: "2.0", id: message.id, result: answer });
      }),
    );
    const toolport = harness.open({ it: { url: server.url } });
    await harness.within(2_000, toolport.connectServer("it"));
    expect(toolport.snapshot().servers["it"]).toMatchObject({ state: "ready", era: "legacy" });
    expect((await toolport.callTool("it__fine")).text).toBe("fine");
    expect(asked.filter((method) => method === "initialize")).toHaveLength(1);
    expect(asked.filter((method) => method === "server/discover")).toHaveLength(1);
  });
}

faultCase("R08", "tools are declared, but their list is not found: none, and a warning", async (harness) => {
  const toolport = harness.open({ it: speaksOddly("--list=unknown") });
  const { servers } = await toolport.connect();
  expect(servers["it"]).toMatchObject({ state: "ready", toolCount: 0 });
  expect(warningsOf(harness)).toEqual([expect.stringContaining("does not support tools/list")]);
});

faultCase("R08", "tools are declared, but a page has none: none, and a warning", async (harness) => {
  const toolport = harness.open({ it: speaksOddly("--list=empty-page") });
  const { servers } = await toolport.connect();
  expect(servers["it"]).toMatchObject({ state: "ready", toolCount: 0 });
  expect(warningsOf(harness)).toEqual([expect.stringContaining("without its list of tools")]);
});
