/**
 * What it takes to keep tools and results small: `npm run bench:context`.
 *
 * `cost()` of 1,000 tools with real schemas, and a result of 1 MB that is cut for a model, next to the same result passed on
 * whole. Exits with 1 if a median exceeds its limit. `--write` replaces the table in docs/performance.md.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runOpenAIToolCalls } from "../packages/toolport/dist/adapters/openai/index.js";
import { createToolport } from "../packages/toolport/dist/index.js";
import { createTestServer } from "../packages/toolport/dist/testing/index.js";
import { writeSection } from "../scripts/write-section.mjs";
import { markdownTable } from "./markdown-table.mjs";
import { median } from "./process-figures.mjs";

const { values: flags } = parseArgs({
  options: { runs: { type: "string", default: "101" }, write: { type: "boolean", default: false } },
});
const RUNS = Number(flags.runs);
const PAGE = fileURLToPath(new URL("../docs/performance.md", import.meta.url));
const SCHEMAS = new URL("../test/fixtures/schemas/", import.meta.url);
const TOOLS = 1_000;
const MEGABYTE = 1_000_000;
const COST_LIMIT_MS = 5;
const FIT_LIMIT_MS = 20;
/** The first runs compile the code. */
const WARM_UP = 10;
/** Definitions of real servers have about this many characters of description. */
const DESCRIPTION =
  "Lists the issues of a project, newest first, with their labels and the people assigned. ".repeat(4);

const handler = () => "";
const readSchemas = () =>
  readdirSync(SCHEMAS).flatMap((file) => JSON.parse(readFileSync(new URL(file, SCHEMAS), "utf8")).tools);

function makeTools() {
  const schemas = readSchemas();
  const tools = Array.from({ length: TOOLS }, (_, index) => {
    const { name, inputSchema } = schemas[index % schemas.length];
    return [`${name}_${index}`, { description: DESCRIPTION, inputSchema, handler }];
  });
  return Object.fromEntries(tools);
}

/** CPU time of this process, which other programs disturb less than the clock. */
const timed = async (work) => {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
};

/** The first `cost()` after listing, and the second, which knows the sizes. */
async function measureCost() {
  const server = createTestServer({ tools: makeTools() });
  const figures = { cold: [], first: [], again: [] };
  for (let run = 0; run < WARM_UP + RUNS; run += 1) {
    const toolport = createToolport({ mcpServers: { server: server.memory() }, deferTools: true });
    await toolport.tools();
    const first = await timed(() => toolport.cost());
    const again = await timed(() => toolport.cost());
    await toolport.close();
    if (run === 0) figures.cold.push(first);
    if (run < WARM_UP) continue;
    figures.first.push(first);
    figures.again.push(again);
  }
  await server.close();
  return figures;
}

const issue = (_, index) => ({
  id: index,
  title: `The build fails on machine ${index % 7}`,
  state: index % 3 === 0 ? "open" : "closed",
  labels: ["build", "ci"],
  author: { login: `user-${index % 40}`, id: index % 40 },
  body: "It started after the last change of the lock file, and happens in one of five runs. ".repeat(4),
});
const logLine = (_, index) =>
  `${index} GET /issues 200 in 3 ms, by user-${index % 40}, from the cache of the region`;

/** As many items as one megabyte holds. */
const fill = (item, write) => {
  const count = Math.floor(MEGABYTE / (write([item(undefined, 1_000)]).length + 1));
  return write(Array.from({ length: count }, item));
};
const RESULTS = {
  JSON: fill(issue, (items) => JSON.stringify(items)),
  "indented JSON": fill(issue, (items) => JSON.stringify(items, undefined, 2)),
  "lines of text": fill(logLine, (lines) => lines.join("\n")),
};

/** One call through the adapter, cut for the model and whole, in turns. */
async function measureFit(text) {
  const server = createTestServer({ tools: { list: { handler: () => text } } });
  const toolport = createToolport({ mcpServers: { server: server.memory() } });
  await toolport.connect();
  const call = { id: "1", type: "function", function: { name: "server__list", arguments: "{}" } };
  const message = { role: "assistant", content: null, tool_calls: [call] };
  const figures = { whole: [], more: [], bytes: 0 };
  for (let run = 0; run < WARM_UP + RUNS; run += 1) {
    let answer;
    const whole = await timed(() => runOpenAIToolCalls(toolport, message, { forModel: false }));
    const cut = await timed(async () => {
      [answer] = await runOpenAIToolCalls(toolport, message);
    });
    figures.bytes = Buffer.byteLength(answer.content);
    if (run < WARM_UP) continue;
    figures.whole.push(whole);
    figures.more.push(cut - whole);
  }
  await toolport.close();
  await server.close();
  return figures;
}

const rows = [];
const addRow = (what, figures, { limit, note = "" } = {}) => {
  const middle = median(figures);
  rows.push({ what, limit, middle, worst: Math.max(...figures), note });
};

const { cold, first, again } = await measureCost();
addRow("`cost()` of 1,000 tools, the first call of a process", cold);
addRow("the same, once its code is compiled", first, { limit: COST_LIMIT_MS });
addRow("`cost()` again, without a change of the tools", again, { limit: COST_LIMIT_MS });
for (const [kind, text] of Object.entries(RESULTS)) {
  const { whole, more, bytes } = await measureFit(text);
  const size = Buffer.byteLength(text).toLocaleString("en");
  addRow(`call with 1 MB of ${kind}, passed on whole`, whole, { note: `${size} bytes` });
  addRow(`the same, cut for the model: time added`, more, {
    limit: FIT_LIMIT_MS,
    note: `${bytes.toLocaleString("en")} bytes`,
  });
}

const ms = (value) => value.toFixed(value < 10 ? 2 : 1);
const table = markdownTable(
  ["what", "limit, CPU ms", "median, CPU ms", "most, CPU ms", "the model gets"],
  rows.map(({ what, limit, middle, worst, note }) => [what, limit ?? "", ms(middle), ms(worst), note]),
).join("\n");
console.log(table);
if (flags.write) writeSection("context", table, PAGE);
process.exitCode = rows.every(({ limit, middle }) => limit === undefined || middle <= limit) ? 0 : 1;
