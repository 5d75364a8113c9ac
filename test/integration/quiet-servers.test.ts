/** Harmless behaviour of servers is not reported, or reported once. */
import { createToolport } from "toolport";
import { expect, test } from "vitest";
import { waitFor } from "../support/wait-for.js";

/** Declares resources, has no templates, and prints a banner with the time first. */
const SERVER = `
console.log("Demo server 1.0 started at", process.hrtime.bigint());
const answers = {
  initialize: () => ({ protocolVersion: "2025-11-25", capabilities: { tools: {}, resources: {} }, serverInfo: { name: "demo", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "end", inputSchema: { type: "object" } }] }),
  "resources/list": () => ({ resources: [{ uri: "demo://one", name: "one" }] }),
  "tools/call": () => process.exit(0),
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  const body = answer ? { result: answer() } : { error: { code: -32601, message: "Method not found" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
});`;

test("missing templates cause no warning; a banner causes one, however often the process starts", async () => {
  const warnings: { message: string; code?: string | undefined }[] = [];
  await using toolport = createToolport({
    mcpServers: { demo: { command: process.execPath, args: ["-e", SERVER] } },
  });
  let starts = 0;
  toolport.on("warning", (warning) => void warnings.push(warning));
  toolport.on("state", ({ to }) => {
    if (to === "ready") starts += 1;
  });
  expect(await toolport.resources()).toHaveLength(1);
  expect(await toolport.resourceTemplates()).toEqual([]);
  await toolport.callTool("demo__end").catch(() => {});
  await waitFor(() => starts === 2);
  await toolport.refresh("demo");
  expect(warnings).toMatchObject([{ code: "BAD_RESPONSE", server: "demo" }]);
  expect(warnings[0]?.message).toContain("Demo server 1.0");
});
