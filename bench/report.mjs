/** The results as Markdown: medians over the rounds, and the median of the ratios to the floor of the same round. */
import os from "node:os";
import { toAdapterPairs } from "./adapter-pairs.mjs";
import { markdownTable } from "./markdown-table.mjs";
import { median, valueAt } from "./process-figures.mjs";
import { toPlot, toVerdict } from "./verdict.mjs";

const NOTHING = "—";
/** A ratio this far below the floor indicates a fault of the harness or noise, not a fast library. */
const SUSPICIOUS_RATIO = 0.85;

const table = (headings, rows) => [...markdownTable(headings, rows), ""];

function ratioToFloor(results, contender, path) {
  const ratios = results[contender].map(
    (result, round) => valueAt(result, path) / valueAt(results.floor?.[round], path),
  );
  return median(ratios);
}

function cell(results, contender, { path, digits, hasRatio }) {
  const value = median(results[contender].map((result) => valueAt(result, path)));
  if (value === undefined) return NOTHING;
  const ratio = hasRatio && contender !== "floor" ? ratioToFloor(results, contender, path) : undefined;
  return value.toFixed(digits) + (ratio === undefined ? "" : ` (${ratio.toFixed(2)}×)`);
}

function correctness(verified) {
  const variants = Object.values(verified);
  const rows = Object.keys(variants[0]).map((contender) => {
    const [first, ...others] = variants.map((results) => results[contender][0]);
    const verdicts = [first, ...others].map(({ error }) =>
      error === undefined ? "correct" : `WRONG: ${error}`,
    );
    return [contender, ...verdicts, first.keepsStructured ? "yes" : "no", first.keepsImages ? "yes" : "no"];
  });
  const headings = ["contender", ...Object.keys(verified), "keeps structured content", "keeps images"];
  return ["## Correctness", "", ...table(headings, rows)];
}

function variantRow(results, contender, columns) {
  const error = results[contender].find((result) => result.error !== undefined)?.error;
  const cells = columns.map((column) => cell(results, contender, column));
  if (error !== undefined)
    cells[0] = `${cells[0] === NOTHING ? "" : `${cells[0]}; a round `}FAILED: ${error}`;
  return [contender, ...cells];
}

function variantTable(label, results, columns) {
  const all = Object.entries(results);
  const present = all
    .filter(([, rounds]) => rounds.some(({ isLeftOut }) => !isLeftOut))
    .map(([name]) => name);
  const warned = all.filter(([, rounds]) => rounds.some(({ listenerWarnings }) => listenerWarnings > 0));
  const waited = median(all.flatMap(([, rounds]) => rounds.map((result) => result.waited)));
  const notes = [
    ...(warned.length === 0
      ? []
      : [`Too many listeners, warned: ${warned.map(([name]) => name).join(", ")}.`]),
    ...(waited === undefined ? [] : [`Waited for a core: ${(waited * 100).toFixed(0)} % of the time.`]),
  ];
  return [
    `**${label}**`,
    "",
    ...table(
      ["contender", ...columns.map(({ heading }) => heading)],
      present.map((contender) => variantRow(results, contender, columns)),
    ),
    notes.join(" "),
    "",
  ];
}

function recoveryCell({ error, ms, calls, firstError }) {
  if (error !== undefined) return `n/a: ${error}`;
  if (ms === null) return `never; first: ${firstError}`;
  return `${ms.toFixed(0)} ms, call ${calls}${firstError === undefined ? "" : ` (first: ${firstError})`}`;
}

function recovery(variants) {
  const contenders = Object.keys(Object.values(variants)[0]);
  const rows = contenders.map((contender) => [
    contender,
    ...Object.values(variants).map((results) => recoveryCell(results[contender][0])),
  ]);
  const intro = "From the return of a killed server to the next call that succeeds; 6 s at most.";
  return ["## Recovery", "", intro, "", ...table(["contender", ...Object.keys(variants)], rows)];
}

/** Figures that beat the floor. */
function floorCheck(results, tables) {
  const found = tables.flatMap(({ metric, columns }) =>
    Object.entries(results[metric] ?? {}).flatMap(([label, ofVariant]) =>
      columns
        .filter(({ hasRatio, heading }) => hasRatio && /\b(ms|µs)\b/.test(heading))
        .flatMap(({ heading, path }) =>
          Object.keys(ofVariant)
            .map((contender) => ({ contender, ratio: ratioToFloor(ofVariant, contender, path) }))
            .filter(({ ratio }) => ratio < SUSPICIOUS_RATIO)
            .map(({ contender, ratio }) => `${label}: ${contender}, ${heading}, ${ratio.toFixed(2)}×`),
        ),
    ),
  );
  const verdict = found.length === 0 ? "Nothing is more than 15 % below the floor." : `${found.join("; ")}.`;
  return ["## Below the floor", "", verdict, ""];
}

/** The whole report. `packages` describes each contender. */
export function toReport(results, { tables, packages, peers, isQuick }) {
  const cores = os.availableParallelism();
  const day = new Date().toISOString().slice(0, 10);
  const kind = isQuick ? " A quick run: one round, few calls; not to be quoted." : "";
  const measured = tables.flatMap(({ metric, title, columns }) => {
    const variants = Object.entries(results[metric] ?? {});
    if (variants.length === 0) return [];
    return [`## ${title}`, "", ...variants.flatMap(([label, found]) => variantTable(label, found, columns))];
  });
  return [
    `${day}, Node ${process.version}, ${cores} cores. Medians of interleaved rounds; × is the ratio to the floor.${kind}`,
    "",
    ...table(["contender", "what it is"], Object.entries(packages)),
    "## Against the targets, and the best peer",
    "",
    ...toVerdict(results, { peers }),
    ...toAdapterPairs(results),
    "## In one picture",
    "",
    ...toPlot(results, { peers }),
    ...correctness(results.verify),
    ...measured,
    ...(results.recovery === undefined ? [] : recovery(results.recovery)),
    ...floorCheck(results, tables),
  ].join("\n");
}
