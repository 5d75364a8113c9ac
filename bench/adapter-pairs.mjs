/** Compares each Toolport adapter with the library for the same framework, or the same protocol era. */
import { markdownTable } from "./markdown-table.mjs";
import { figure, ROWS, shown, startCost } from "./verdict.mjs";

const PAIRS = [
  ["toolport-langchain", "langchain"],
  ["toolport-ai-sdk", "ai-sdk"],
  ["toolport-modern", "sdk-v2-modern"],
];

/** Import and connect are one figure, because some libraries load everything at import and some with the first connection. */
const START = "import and cold connect together, CPU";
const isPartOfStart = ({ metric, path }) => metric === "import" || path === "coldCpuMs";
const isForOneAdapter = ({ peers }) => peers !== undefined;

/** The figures of both by row; bold where Toolport is behind. */
function compare(results, [ours, theirs]) {
  const start = { title: START, unit: " ms", of: (name) => startCost(results, name) };
  const others = ROWS.filter((row) => !isPartOfStart(row) && !isForOneAdapter(row)).map((row) => {
    const variant = results[row.metric]?.[row.variant] ?? {};
    return { ...row, of: (name) => figure(variant[name] ?? [], variant.floor, row) };
  });
  const cells = [start, ...others].flatMap(({ title, unit, of }) => {
    const [mine, other] = [of(ours), of(theirs)];
    if (mine === undefined || other === undefined) return [];
    const both = `${shown(mine, unit)} / ${shown(other, unit)}`;
    return [[title, mine < other ? both : `**${both}**`]];
  });
  return { pair: `${ours} / ${theirs}`, cells: new Map(cells) };
}

/** Markdown table; empty if no pair was measured. */
export function toAdapterPairs(results) {
  const compared = PAIRS.map((pair) => compare(results, pair)).filter(({ cells }) => cells.size > 0);
  if (compared.length === 0) return [];
  const titles = [...new Set(compared.flatMap(({ cells }) => [...cells.keys()]))];
  const rows = titles.map((title) => [title, ...compared.map(({ cells }) => cells.get(title) ?? "—")]);
  const headings = ["row", ...compared.map(({ pair }) => pair)];
  return ["## Adapter against adapter", "", ...markdownTable(headings, rows), ""];
}
