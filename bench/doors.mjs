/** Each of Toolport's doors beside the library that does the same for the same framework, or in the same era. */
import { markdownTable } from "./markdown-table.mjs";
import { figure, ROWS, shown, startCost, yesNo } from "./verdict.mjs";

const PAIRS = [
  ["toolport-langchain", "langchain"],
  ["toolport-ai-sdk", "ai-sdk"],
  ["toolport-modern", "sdk-v2-modern"],
];

/** The start is one figure, because some load everything at import and some with the first connection. */
const START = "import and cold connect together, CPU";
const isPartOfStart = ({ metric, path }) => metric === "import" || path === "coldCpuMs";
const isOfOneDoor = ({ peers }) => peers !== undefined;

function compare(results, [ours, theirs]) {
  const start = { title: START, unit: " ms", of: (name) => startCost(results, name) };
  const others = ROWS.filter((row) => !isPartOfStart(row) && !isOfOneDoor(row)).map((row) => {
    const variant = results[row.metric]?.[row.variant] ?? {};
    return { ...row, of: (name) => figure(variant[name] ?? [], variant.floor, row) };
  });
  return [start, ...others].flatMap(({ title, unit, of }) => {
    const [mine, other] = [of(ours), of(theirs)];
    if (mine === undefined || other === undefined) return [];
    return [[title, ours, shown(mine, unit), theirs, shown(other, unit), yesNo(mine < other)]];
  });
}

/** As a table of Markdown; nothing where no pair was measured. */
export function toDoors(results) {
  const rows = PAIRS.flatMap((pair) => compare(results, pair));
  if (rows.length === 0) return [];
  const headings = ["row", "door", "", "peer", "", "ahead"];
  return ["## Door against door", "", ...markdownTable(headings, rows), ""];
}
