/**
 * Time limits that Toolport keeps when something goes wrong: `npm run bench:bounds`.
 *
 * Tests check what happens; how long it takes is measured here, because a busy machine must not fail a test. Exits with 1 if a
 * median exceeds its limit. `--write` replaces the table in docs/performance.md.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createToolport } from "../packages/toolport/dist/index.js";
import { createTestServer } from "../packages/toolport/dist/testing/index.js";
import { writeSection } from "../scripts/write-section.mjs";
import { markdownTable } from "./markdown-table.mjs";
import { median } from "./process-figures.mjs";

const { values: flags } = parseArgs({
  options: { runs: { type: "string", default: "9" }, write: { type: "boolean", default: false } },
});
const RUNS = Number(flags.runs);
const PAGE = fileURLToPath(new URL("../docs/performance.md", import.meta.url));
const CLI = fileURLToPath(new URL("../packages/toolport/dist/cli/main.js", import.meta.url));
/** A server whose only tool ends its process. */
const DYING_SERVER = `
  const results = {
    initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
    "tools/list": { tools: [{ name: "die", inputSchema: { type: "object" } }] },
  };
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method } = JSON.parse(line);
    if (method === "tools/call") process.exit(1);
    const result = results[method];
    const answer = result ? { result } : { error: { code: -32601, message: "unknown" } };
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  });`;
/** Nothing listens there. */
const DEAD = { url: "http://127.0.0.1:9/mcp" };

const rejection = (promise) =>
  promise.then(
    () => undefined,
    (error) => error,
  );

/** Runs `use` with a server and a port, and closes both. */
async function withServer(tools, entries, use) {
  const server = createTestServer({ tools });
  const { entry } = await server.http();
  const toolport = createToolport({ mcpServers: entries(entry) });
  try {
    await toolport.connect();
    return await use(toolport);
  } finally {
    await toolport.close();
    await server.close();
  }
}

/** From the abort of a call until the server is notified. */
async function abortedCall() {
  const started = deferred();
  const notified = deferred();
  const handler = async (_args, { request }) => {
    started.resolve();
    const { signal } = request.mcpReq;
    await once(signal, "abort");
    notified.resolve();
    return "";
  };
  return withServer(
    { wait: { handler } },
    (entry) => ({ s: entry }),
    async (toolport) => {
      const abort = new AbortController();
      const call = rejection(toolport.callTool("s__wait", {}, { signal: abort.signal }));
      await started.promise;
      const at = performance.now();
      abort.abort();
      await Promise.all([call, notified.promise]);
      return performance.now() - at;
    },
  );
}

/** The longest time for which a hostile pattern in an output schema blocks the event loop. */
async function hostilePattern() {
  const text = `${"a".repeat(40)}!`;
  const tool = {
    outputSchema: { type: "object", properties: { text: { type: "string", pattern: "^(a+)+$" } } },
    handler: () => ({ content: [{ type: "text", text }], structuredContent: { text } }),
  };
  return withServer(
    { hostile: tool },
    (entry) => ({ s: entry }),
    async (toolport) => {
      let last = performance.now();
      let longest = 0;
      const timer = setInterval(() => {
        const now = performance.now();
        longest = Math.max(longest, now - last);
        last = now;
      }, 1);
      await rejection(toolport.callTool("s__hostile"));
      longest = Math.max(longest, performance.now() - last);
      clearInterval(timer);
      return longest;
    },
  );
}

/** A call to a server that is down, answered by its fallback server. */
async function fallback() {
  return withServer(
    { echo: { handler: () => "here" } },
    (entry) => ({ main: { ...DEAD, fallback: ["spare"] }, spare: entry }),
    async (toolport) => {
      const at = performance.now();
      const { server } = await toolport.callTool("main__echo");
      if (server !== "spare") throw new Error(`${server} answered`);
      return performance.now() - at;
    },
  );
}

/** From the end of a server's process until its call fails. */
async function killedServer() {
  const toolport = createToolport({
    mcpServers: { s: { command: process.execPath, args: ["-e", DYING_SERVER] } },
    retry: false,
  });
  try {
    await toolport.connect();
    const call = rejection(toolport.callTool("s__die"));
    const at = performance.now();
    await call;
    return performance.now() - at;
  } finally {
    await toolport.close();
  }
}

/** `toolport demo`, from the start of the process to its end. */
async function demo() {
  const at = performance.now();
  const child = spawn(process.execPath, [CLI, "demo"], { stdio: ["ignore", "ignore", "inherit"] });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`demo ended with ${code}`);
  return performance.now() - at;
}

function deferred() {
  let resolve;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

const BOUNDS = [
  ["abort of a call: the server is notified", 100, abortedCall],
  ["hostile pattern in an output schema: event loop blocked", 250, hostilePattern],
  ["the server is down: its fallback server answers", 1_000, fallback],
  ["the process of the server ends during a call: the call fails", 1_000, killedServer],
  ["`toolport demo`, whole process", 10_000, demo],
];

const rows = [];
for (const [name, limitMs, measure] of BOUNDS) {
  const runs = measure === demo ? Math.min(RUNS, 3) : RUNS;
  const figures = [];
  for (let run = 0; run < runs; run += 1) figures.push(await measure());
  const middle = median(figures);
  rows.push({ name, limitMs, middle, worst: Math.max(...figures), isKept: middle <= limitMs });
}

const ms = (value) => (value < 100 ? value.toFixed(1) : String(Math.round(value)));
const table = markdownTable(
  ["what happens", "limit, ms", "median, ms", "longest, ms"],
  rows.map(({ name, limitMs, middle, worst }) => [name, limitMs.toLocaleString("en"), ms(middle), ms(worst)]),
).join("\n");
console.log(table);
if (flags.write) writeSection("bounds", table, PAGE);
process.exitCode = rows.every(({ isKept }) => isKept) ? 0 : 1;
