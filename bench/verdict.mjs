/** The main rows, each with its target: Toolport compared with the target and with the best other library. */
import { markdownTable } from "./markdown-table.mjs";
import { median, valueAt } from "./process-figures.mjs";

/** Median of the figure over the rounds, as a ratio to the floor of the same round where `isRatio`. */
export function figure(rounds, floor, { path, isRatio }) {
  return median(
    rounds.map((result, round) => valueAt(result, path) / (isRatio ? valueAt(floor?.[round], path) : 1)),
  );
}

const row = (title, metric, variant, path, target, more = {}) => ({
  title,
  metric,
  variant,
  path,
  target,
  isRatio: true,
  unit: "×",
  ours: "toolport",
  ...more,
});

const ABSOLUTE = { isRatio: false };

/** The targets; smaller is better. */
export const ROWS = [
  row("import, CPU ms", "import", "fresh process", "cpuMs", 30, { ...ABSOLUTE, unit: " ms" }),
  row("import, RSS added, MB", "import", "fresh process", "rssMb", 8, { ...ABSOLUTE, unit: " MB" }),
  row("connect, list, convert: 10 tools, HTTP, cold CPU", "connect", "HTTP, 10 tools", "coldCpuMs", 9),
  row("connect, list, convert: 1,000 tools, HTTP, warm CPU", "connect", "HTTP, 1000 tools", "warmCpuMs", 2),
  row(
    "connect, list, convert: 1,000 tools with output schemas, HTTP, warm CPU",
    "connect",
    "HTTP, 1000 tools, all with an output schema",
    "warmCpuMs",
    2,
  ),
  row("20 stdio servers at once, wall", "fleet", "20 × stdio", "coldMs", 1.2),
  row("stdio, 64 in flight, CPU a call", "calls", "stdio", "concurrent.cpuUs", 2.2),
  row("stdio, 64 in flight, as LangChain tools, CPU a call", "calls", "stdio", "concurrent.cpuUs", 3.5, {
    ours: "toolport-langchain",
    peers: ["langchain"],
  }),
  row("HTTP JSON, 64 in flight, CPU a call", "calls", "HTTP JSON", "concurrent.cpuUs", 2),
  row("HTTP SSE, 64 in flight, CPU a call", "calls", "HTTP SSE", "concurrent.cpuUs", 2.8),
  row("8 MB text over stdio, CPU", "payload", "8 MB text, stdio", "cpuMs", 1.3),
  row("8 MB text over HTTP, CPU", "payload", "8 MB text, http-json", "cpuMs", 1.4),
  row("heap kept per call, stdio", "heap", "stdio", "bytesPerCall", 10, { ...ABSOLUTE, unit: " B" }),
  row("heap kept per call, HTTP", "heap", "http-json", "bytesPerCall", 10, { ...ABSOLUTE, unit: " B" }),
];

const RECOVERIES = [
  ["stdio server killed and back: the call that works", "stdio"],
  ["HTTP session forgotten: the call that works", "http-session"],
];

export const shown = (value, unit) =>
  value === undefined ? "—" : `${value.toFixed(unit === "×" ? 2 : unit === " B" ? 0 : 1)}${unit}`;

/** The rows that were measured, with their figures. */
function judge(results, { peers }) {
  return ROWS.flatMap((wanted) => {
    const variant = results[wanted.metric]?.[wanted.variant];
    const mine = variant?.[wanted.ours];
    if (mine === undefined) return [];
    const of = (name) => figure(variant[name] ?? [], variant.floor, wanted);
    const rivals = (wanted.peers ?? peers)
      .map((name) => ({ name, value: of(name) }))
      .filter(({ value }) => value !== undefined)
      .sort((a, b) => a.value - b.value);
    return [{ ...wanted, value: of(wanted.ours), rivals, best: rivals[0] }];
  });
}

/** CPU in ms of import and cold connect: some libraries load everything at import, some with the first connection. */
export function startCost(results, name) {
  const loads = results.import?.["fresh process"]?.[name];
  const connects = results.connect?.["HTTP, 10 tools"]?.[name];
  if (loads === undefined || connects === undefined) return undefined;
  return median(loads.map(({ cpuMs }) => cpuMs)) + median(connects.map(({ coldCpuMs }) => coldCpuMs));
}

function start(results, { peers }) {
  const of = (name) => startCost(results, name);
  if (of("toolport") === undefined) return [];
  const rivals = peers
    .map((name) => ({ name, value: of(name) }))
    .filter(({ value }) => Number.isFinite(value))
    .sort((a, b) => a.value - b.value);
  const [best] = rivals;
  const mine = of("toolport");
  return [
    [
      "import and cold connect together, CPU",
      "—",
      shown(mine, " ms"),
      best === undefined ? "—" : `${shown(best.value, " ms")} (${best.name})`,
      "—",
      yesNo(best === undefined ? undefined : mine < best.value),
    ],
  ];
}

const yesNo = (is) => (is === undefined ? "—" : is ? "yes" : "**no**");

function firstCall(rounds) {
  const { error, ms, calls } = rounds?.[0] ?? {};
  return error !== undefined || ms === null || ms === undefined ? undefined : calls;
}

/** Markdown table. */
export function toVerdict(results, { peers }) {
  const rows = judge(results, { peers }).map(({ title, target, value, unit, best }) => [
    title,
    `≤ ${target}${unit}`,
    shown(value, unit),
    best === undefined ? "—" : `${shown(best.value, unit)} (${best.name})`,
    yesNo(value === undefined ? undefined : value <= target),
    yesNo(best === undefined || value === undefined ? undefined : value < best.value),
  ]);
  rows.splice(3, 0, ...start(results, { peers }));
  for (const [title, variant] of RECOVERIES) {
    const found = results.recovery?.[variant];
    if (found?.toolport === undefined) continue;
    const mine = firstCall(found.toolport);
    const calls = peers
      .map((name) => [name, firstCall(found[name])])
      .filter(([, call]) => call !== undefined);
    const [best] = calls.sort((a, b) => a[1] - b[1]);
    const say = (call) => (call === undefined ? "never" : call === 1 ? "the first" : `call ${call}`);
    rows.push([
      title,
      "the first",
      say(mine),
      best === undefined ? "never" : `${say(best[1])} (${best[0]})`,
      yesNo(mine === 1),
      yesNo(mine !== undefined && mine <= (best?.[1] ?? Number.POSITIVE_INFINITY)),
    ]);
  }
  const headings = ["row", "target", "Toolport", "best peer", "target met", "ahead"];
  return [...markdownTable(headings, rows), ""];
}

const BAR = 40;

/** Bars of the ratios to the floor, for the rows that are ratios. The longest bar is the slowest contender of the row. */
export function toPlot(results, { peers }) {
  const lines = judge(results, { peers })
    .filter(({ unit }) => unit === "×")
    .flatMap(({ title, ours, value, rivals, target }) => {
      const all = [{ name: ours, value }, ...rivals].filter((one) => one.value !== undefined);
      const most = Math.max(target, ...all.map((one) => one.value));
      const bar = (one) => "█".repeat(Math.max(1, Math.round((one.value / most) * BAR)));
      return [
        `${title} (target ≤ ${target}×)`,
        ...all.map((one) => `  ${one.name.padEnd(20)} ${bar(one)} ${one.value.toFixed(1)}×`),
        "",
      ];
    });
  return ["```text", ...lines.slice(0, -1), "```", ""];
}
