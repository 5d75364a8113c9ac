/** Compares each Toolport adapter with the library for the same framework, or the same protocol era. */
import { markdownTable } from "./markdown-table.mjs";
import { figure, ROWS, shown, startCost, yesNo } from "./verdict.mjs";

const PAIRS = [
  ["toolport-langchain", "langchain"],
  ["toolport-ai-sdk", "ai-sdk"],
  ["toolport-modern", "sdk-v2-modern"],
];

/** Import and connect are one figure, because some libraries load everything at import and some with the first connection. */
const START = "import and cold connect together, CPU";
const isPartOfStart = ({ metric, path }) => metric === "import" || path === "coldCpuMs";
const isForOneAdapter = ({ peers }) => peers !== undefined;

function compare(results, [ours, theirs]) {
  const start = { title: START, unit: " ms", of: (name) => startCost(results, name) };
  const others = ROWS.filter((row) => !isPartOfStart(row) && !isForOneAdapter(row)).map((row) => {
    const variant = results[row.metric]?.[row.variant] ?? {};
    return { ...row, of: (name) => figure(variant[name] ?? [], variant.floor, row) };
  });
  return [start, ...others].flatMap(({ title, unit, of }) => {
    const [mine, other] = [of(ours), of(theirs)];
    if (mine === undefined || other === undefined) return [];
    return [[title, ours, shown(mine, unit), theirs, shown(other, unit), yesNo(mine < other)]];
  });
}

/** Markdown table; empty if no pair was measured. */
export function toAdapterPairs(results) {
  const rows = PAIRS.flatMap((pair) => compare(results, pair));
  if (rows.length === 0) return [];
  const headings = ["row", "adapter", "", "peer", "", "ahead"];
  return ["## Adapter against adapter", "", ...markdownTable(headings, rows), ""];
}
