/**
 * What a call through `toolport serve` costs, next to a proxy written by hand and to other gateways: `npm run bench:gateway`.
 *
 * `--quick` few calls and rounds; `--rows stdio,http` some rows; `--no-peers` without other gateways; `--write` replaces the tables
 * in bench/README.md. Exits with 1 if a target is missed.
 */
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { writeSection } from "../scripts/write-section.mjs";
import { measureRow, ROWS } from "./gateway/measure-rows.mjs";
import { measureStart } from "./gateway/measure-start.mjs";
import { measureStreams } from "./gateway/measure-streams.mjs";
import { markdownTable } from "./markdown-table.mjs";
import { waitedForCore } from "./process-figures.mjs";

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    rows: { type: "string" },
    rounds: { type: "string" },
    "no-peers": { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});
const README = fileURLToPath(new URL("./README.md", import.meta.url));
const rounds = Number(flags.rounds ?? (flags.quick ? 3 : 7));
const share = flags.quick ? 0.5 : 1;
const notes = [];
const report = (text) => {
  notes.push(text);
  console.error(text);
};

/** Bounds that are not ratios. */
const BOUNDS = {
  start: () => measureStart({ rounds: flags.quick ? 3 : 9 }),
  streams: () => measureStreams({ count: flags.quick ? 2_000 : 10_000 }),
};
const wanted = flags.rows?.split(",") ?? [...Object.keys(ROWS), ...Object.keys(BOUNDS)];
const unknown = wanted.filter((name) => !(name in ROWS || name in BOUNDS));
if (unknown.length > 0) throw new Error(`Unknown rows: ${unknown.join(", ")}`);

const ratios = [];
const bounds = [];
for (const name of wanted) {
  const options = { rounds, share, withPeers: !flags["no-peers"], report };
  const measured = await (name in BOUNDS ? BOUNDS[name]() : measureRow(ROWS[name], options));
  (name in BOUNDS ? bounds : ratios).push(...measured);
  for (const { name: contender, value, ratio } of measured)
    console.error(`${name}: ${contender}: ${value ?? `${ratio.toFixed(2)}×`}`);
}

const verdict = ({ limit, isMet }) => (limit === undefined ? "" : isMet ? "yes" : "**no**");
const micros = (value) => (value >= 10_000 ? `${(value / 1_000).toFixed(1)} ms` : `${value.toFixed(0)} µs`);
const ratioLines = ratios.map((each) => [
  each.row,
  each.name,
  micros(each.cpuUs),
  each.p50Ms.toFixed(2),
  `${each.ratio.toFixed(2)}×`,
  each.limit === undefined ? "" : `${each.limit}×`,
  verdict(each),
]);
const boundLines = bounds.map((each) => [
  each.name,
  each.value,
  each.limit === undefined ? "" : String(each.limit),
  verdict(each),
]);
const waited = waitedForCore();
const text = [
  `${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${rounds} rounds.`,
  ...(waited === undefined
    ? []
    : [`The client waited for a core during ${(waited * 100).toFixed(0)} % of its time.`]),
  "",
  ...(ratios.length === 0
    ? []
    : markdownTable(["row", "contender", "CPU per call", "p50 ms", "× floor", "at most", "met"], ratioLines)),
  "",
  ...(bounds.length === 0 ? [] : markdownTable(["bound", "measured", "at most", "met"], boundLines)),
  "",
  ...notes.map((note) => `- ${note}`),
].join("\n");
console.log(text);
if (flags.write) writeSection("gateway", text, README);
process.exitCode = [...ratios, ...bounds].every(({ isMet }) => isMet) ? 0 : 1;
