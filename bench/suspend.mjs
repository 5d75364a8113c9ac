/**
 * What it costs to suspend a call and resume it: `npm run bench:suspend`.
 *
 * One question and two, answered live and by `resume()`, over HTTP on loopback; all ways take turns. The server counts the requests.
 * `--write` replaces the table in docs/performance.md. `--against <folder>` compares a plain call with another build (its `dist` folder), in processes that take turns.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { createToolport, isSuspended, memoryStore } from "../packages/toolport/dist/index.js";
import { sqliteStore } from "../packages/toolport/dist/stores/sqlite/index.js";
import { writeSection } from "../scripts/write-section.mjs";
import { markdownTable } from "./markdown-table.mjs";
import { median, startMeter, waitedForCore } from "./process-figures.mjs";

const { values: flags } = parseArgs({
  options: {
    calls: { type: "string", default: "150" },
    against: { type: "string" },
    rounds: { type: "string", default: "7" },
    write: { type: "boolean", default: false },
  },
});
const CALLS = Number(flags.calls);
const WARM_UP = Math.ceil(CALLS / 5);
const SERVER = fileURLToPath(new URL("../test/suspend/fault-server.mjs", import.meta.url));
const WORKER = fileURLToPath(new URL("./suspend-worker.mjs", import.meta.url));
const PAGE = fileURLToPath(new URL("../docs/performance.md", import.meta.url));
const OWN_BUILD = fileURLToPath(new URL("../packages/toolport/dist", import.meta.url));
const KEY = "11".repeat(32);

const contentFor = ({ properties }) => ("seat" in properties ? { seat: "12A" } : { pay: true });
const answersTo = ({ requests }) =>
  Object.fromEntries(
    Object.entries(requests).map(([key, { requestedSchema }]) => [
      key,
      { action: "accept", content: contentFor(requestedSchema) },
    ]),
  );

async function startServer(folder) {
  const log = join(folder, "log");
  writeFileSync(log, "");
  const child = spawn(process.execPath, [SERVER, JSON.stringify({ log })], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout, "data");
  return {
    url: `http://127.0.0.1:${Number(String(line))}/mcp`,
    requests: () =>
      readFileSync(log, "utf8")
        .split("\n")
        .filter((text) => text.startsWith("request ")).length,
    stop: () => child.kill(),
  };
}

/** A call whose questions `onElicitation` answers while it runs. */
const callLive = (toolport, tool, id) => toolport.callTool(`travel__${tool}`, { id });

/** A call that is saved at each question, and continued by its token. */
async function callSuspended(toolport, tool, id) {
  let out = await toolport.callTool(`travel__${tool}`, { id }, { suspend: true });
  while (isSuspended(out)) out = await toolport.resume(out.token, { answers: answersTo(out) });
  return out;
}

async function measureRounds(server, folder) {
  const store = sqliteStore(join(folder, "state.db"), { key: KEY });
  const mcpServers = { travel: { url: server.url } };
  const onElicitation = ({ requestedSchema }) => ({ action: "accept", content: contentFor(requestedSchema) });
  const ways = {
    live: [createToolport({ mcpServers, onElicitation }), callLive],
    memory: [createToolport({ mcpServers, store: memoryStore() }), callSuspended],
    SQLite: [createToolport({ mcpServers, store }), callSuspended],
  };
  const rows = [];
  for (const [tool, questions] of [
    ["book", 1],
    ["tour", 2],
  ]) {
    const figures = Object.fromEntries(Object.keys(ways).map((way) => [way, []]));
    const requests = Object.fromEntries(Object.keys(ways).map((way) => [way, 0]));
    for (let count = 0; count < WARM_UP + CALLS; count += 1)
      for (const [way, [toolport, call]] of Object.entries(ways)) {
        const before = server.requests();
        const read = startMeter();
        const { isError } = await call(toolport, tool, `${tool}-${way}-${count}`);
        const used = read();
        if (isError) throw new Error(`${tool}, ${way}: the call failed`);
        requests[way] += server.requests() - before;
        if (count >= WARM_UP) figures[way].push(used);
      }
    const row = (way, key) => figures[way].map((used) => used[key]);
    const live = median(row("live", "ms"));
    for (const way of Object.keys(ways)) {
      const ms = median(row(way, "ms"));
      rows.push([
        questions,
        way,
        (requests[way] / (WARM_UP + CALLS)).toFixed(2),
        ms.toFixed(2),
        way === "live" ? "" : (ms - live).toFixed(2),
        Math.min(...row(way, "ms")).toFixed(2),
        median(row(way, "cpuMs")).toFixed(2),
      ]);
    }
  }
  for (const [toolport] of Object.values(ways)) await toolport.close();
  await store.close();
  return rows;
}

/** CPU of a plain call in a fresh process, in microseconds. */
function measurePlain(build, url) {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [WORKER, pathToFileURL(join(build, "index.js")).href, url],
    { encoding: "utf8" },
  );
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout).cpuUs;
}

const folder = mkdtempSync(join(tmpdir(), "toolport-bench-"));
const server = await startServer(folder);
try {
  const rows = await measureRounds(server, folder);
  const headings = ["questions", "way", "requests", "ms a call", "more than live", "least ms", "CPU ms"];
  const table = markdownTable(headings, rows).join("\n");
  console.log(table);
  if (flags.write) writeSection("suspend", table, PAGE);
  console.log(
    `\nMedians of ${CALLS}. This process waited for a core ${(waitedForCore() * 100).toFixed(0)} % of its time.`,
  );
  if (flags.against !== undefined) {
    const builds = { "this build": OWN_BUILD, "the other": flags.against };
    const cpu = Object.fromEntries(Object.keys(builds).map((name) => [name, []]));
    for (let round = 0; round < Number(flags.rounds); round += 1) {
      const order = Object.entries(builds);
      if (round % 2 === 1) order.reverse();
      for (const [name, build] of order) cpu[name].push(measurePlain(build, server.url));
    }
    const lines = Object.entries(cpu).map(([name, values]) => [
      name,
      median(values).toFixed(0),
      Math.min(...values).toFixed(0),
      Math.max(...values).toFixed(0),
    ]);
    console.log(`\n${markdownTable(["plain call", "CPU µs, median", "least", "most"], lines).join("\n")}`);
  }
} finally {
  server.stop();
  rmSync(folder, { recursive: true, force: true });
}
