/** How cost grows with servers, tools, users and calls in flight: `npm run bench:growth`. Every point is a fresh process. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { writeSection } from "../scripts/write-section.mjs";
import { markdownTable } from "./markdown-table.mjs";

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    write: { type: "boolean", default: false },
  },
});

const WORKER = fileURLToPath(new URL("./growth-worker.mjs", import.meta.url));
const REPORT = fileURLToPath(new URL("../docs/performance.md", import.meta.url));

/** The series: sizes and columns (heading, figure of the worker, digits). */
const SERIES = [
  {
    name: "servers",
    title: "Servers, 100 tools each, over HTTP",
    sizes: [1, 10, 100, 1000],
    columns: [
      ["connect and list, CPU ms a server", "connectMs", 2],
      ["first `tools()`, CPU µs a tool", "listUs", 2],
      ["`searchTools`, CPU µs", "searchUs", 0],
      ["the same, ns a tool", "searchNs", 0],
      ["one call, CPU µs", "callUs", 0],
      ["heap, KB a server", "heapKb", 0],
    ],
  },
  {
    name: "tools",
    title: "Tools of one server, in pages of 5,000, over HTTP",
    // Toolport truncates a longer list; a hundred thousand tools need many servers, as above.
    sizes: [100, 1000, 10_000],
    columns: [
      ["connect and list, CPU µs a tool", "connectUs", 1],
      ["first `tools()`, CPU µs a tool", "listUs", 2],
      ["`searchTools`, CPU µs", "searchUs", 0],
      ["the same, ns a tool", "searchNs", 0],
      ["one call, CPU µs", "callUs", 0],
      ["heap, KB a tool", "heapKb", 1],
    ],
  },
  {
    name: "users",
    title: "Users of one port, a connection and a call each, over HTTP",
    sizes: [1, 10, 100, 1000],
    columns: [
      ["connect and list, CPU ms a user", "connectMs", 2],
      ["one call, CPU µs", "callUs", 0],
      ["heap, KB a user", "heapKb", 0],
    ],
  },
  {
    name: "calls",
    title: "Calls in flight, one server over stdio",
    sizes: [1, 10, 100, 1000, 10_000],
    columns: [
      ["CPU µs a call", "callUs", 1],
      ["peak heap, KB a call", "heapKb", 1],
    ],
  },
];

function measure(series, size) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--expose-gc", WORKER, series, String(size)],
    { encoding: "utf8", maxBuffer: 1 << 26 },
  );
  if (status !== 0) throw new Error(`${series} ${size} failed:\n${stderr}`);
  return JSON.parse(stdout);
}

/** Each figure with its ratio to the second size; the first size is dominated by the fixed cost of a process. */
function toTable({ title, sizes, columns }, points) {
  const headings = ["how many", ...columns.map(([heading]) => heading)];
  const rows = points.map((point, row) => [
    sizes[row].toLocaleString("en"),
    ...columns.map(([, key, digits]) => {
      const factor = row > 1 && points[1][key] > 0 ? ` (${(point[key] / points[1][key]).toFixed(1)}×)` : "";
      return `${point[key].toFixed(digits)}${factor}`;
    }),
  ]);
  return [`**${title}**`, "", ...markdownTable(headings, rows), ""].join("\n");
}

const chosen = SERIES.filter(({ name }) => flags.only === undefined || flags.only.split(",").includes(name));
const tables = chosen.map((series) => {
  const sizes = flags.quick ? series.sizes.slice(0, 3) : series.sizes;
  const points = sizes.map((size) => {
    console.error(`${series.name}: ${size}`);
    return measure(series.name, size);
  });
  return toTable({ ...series, sizes }, points);
});
const report = [
  `${new Date().toISOString().slice(0, 10)}, Node ${process.version}. × is the ratio to the second row.`,
  "",
  ...tables,
].join("\n");
console.log(report);
if (flags.write) writeSection("growth", report, REPORT);
