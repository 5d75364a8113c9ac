/** Measures Toolport and other libraries with the same server: `npm run bench`. README.md explains the rows. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../scripts/fetch-tool.mjs";
import { writeSection } from "../scripts/write-section.mjs";
import { isWrong, measure } from "./measure.mjs";
import { fetchPeer, PEERS } from "./peers.mjs";
import { PLAN, TABLES } from "./plan.mjs";
import { toReport } from "./report.mjs";

const OURS = ["toolport", "toolport-modern", "toolport-langchain", "toolport-ai-sdk"];
const CONTENDERS = ["floor", "floor-fetch", ...OURS, ...Object.keys(PEERS)];
const REPORT = join(root, "docs", "performance.md");

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    rows: { type: "string" },
    write: { type: "boolean", default: false },
    again: { type: "boolean", default: false },
    rounds: { type: "string" },
  },
});

/** Names in a list from the command line; an unknown name is an error, not an empty run. */
function choose(all, list, matches) {
  if (list === undefined) return all;
  const asked = list.split(",");
  const unknown = asked.filter((name) => !all.some((one) => matches(one, name)));
  if (unknown.length > 0) throw new Error(`Unknown: ${unknown.join(", ")}. Choose from ${all.join(", ")}.`);
  return all.filter((one) => asked.some((name) => matches(one, name)));
}

async function fetchPeers(contenders) {
  const absent = [];
  for (const contender of contenders.filter((name) => name in PEERS)) {
    try {
      await fetchPeer(contender);
    } catch (error) {
      console.error(`${contender} is left out: ${error.message}`);
      absent.push(contender);
    }
  }
  return contenders.filter((name) => !absent.includes(name));
}

function describe(contender) {
  if (contender in PEERS) return Object.entries(PEERS[contender])[0].join(" ");
  if (!OURS.includes(contender)) return "written by hand";
  const { version } = JSON.parse(readFileSync(join(root, "packages/toolport/package.json"), "utf8"));
  return `toolport ${version}, built from this tree`;
}

const started = Date.now();
const isQuick = flags.quick;
const rows = PLAN.map(({ metric }) => metric);
const chosenRows = choose(rows, flags.rows, (row, name) => row === name);
// `sdk-v2` also selects `sdk-v2-modern`, `toolport` all its adapters.
const isOrBegins = (contender, name) => contender === name || contender.startsWith(`${name}-`);
const contenders = await fetchPeers(choose(CONTENDERS, flags.only, isOrBegins));
const most = flags.rounds === undefined ? Number.POSITIVE_INFINITY : Number(flags.rounds);
const plan = PLAN.filter(({ metric }) => metric === "verify" || chosenRows.includes(metric)).map((row) => ({
  ...row,
  rounds: Math.min(row.rounds, most),
}));
const onDone = (what) => console.error(`${((Date.now() - started) / 1000).toFixed(0)} s  ${what}`);

/** Results of the last run, for `--again`. */
const kept = join(root, ".cache", "bench-results.json");
mkdirSync(join(root, ".cache"), { recursive: true });
const results = flags.again
  ? JSON.parse(readFileSync(kept, "utf8"))
  : await measure(plan, { contenders, isQuick, onDone });
if (!flags.again) writeFileSync(kept, JSON.stringify(results));
const packages = Object.fromEntries(contenders.map((contender) => [contender, describe(contender)]));
const report = toReport(results, { tables: TABLES, packages, peers: Object.keys(PEERS), isQuick });
console.log(report);
// The page has the comparisons, not the table of every row. Its headings are one level below the section of the page.
const [comparisons] = report.split("\n## In one picture\n");
if (flags.write) writeSection("bench", comparisons.replaceAll(/^## /gm, "### "), REPORT);

const wrong = [...OURS, "floor"].filter((name) => contenders.includes(name) && isWrong(results.verify, name));
if (wrong.length > 0) {
  console.error(`Wrong answers: ${wrong.join(", ")}.`);
  process.exitCode = 1;
}
