/**
 * Soak test: `npm run soak [-- --calls 1000000 --reconnects 10000 --seed 1 --minutes 60 --write]`.
 *
 * Uses the built package. Exits with 1 if a response was wrong, an error was not typed, or a resource grew;
 * `--write` writes the figures into docs/reliability.md.
 */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import * as library from "../packages/toolport/dist/index.js";
import { plot } from "./soak/plot.mjs";
import { runSoak } from "./soak/run-soak.mjs";
import { writeSection } from "./write-section.mjs";

const MIB = 1024 * 1024;
const { values } = parseArgs({
  options: {
    calls: { type: "string", default: "1000000" },
    reconnects: { type: "string", default: "10000" },
    seed: { type: "string", default: "1" },
    minutes: { type: "string", default: "Infinity" },
    write: { type: "boolean", default: false },
  },
});
if (globalThis.gc === undefined) throw new Error("Run it by `npm run soak`: it needs --expose-gc");

// An unhandled rejection ends the process, as intended.
const report = await runSoak(library, {
  calls: Number(values.calls),
  reconnects: Number(values.reconnects),
  seed: Number(values.seed),
  minutes: Number(values.minutes),
  onSample: ({ ms, calls, reconnects, heapUsed }) =>
    process.stderr.write(
      `\r${(ms / 1_000).toFixed(0)} s, ${calls} calls, ${reconnects} reconnects, heap ${mib(heapUsed)} MiB  `,
    ),
});
process.stderr.write("\n");

const text = describe(report);
console.log(`${text}\n\n${drawMemory(report)}`);
if (report.problems.length > 0) {
  console.log(`\nProblems:\n${report.problems.map((problem) => `- ${problem}`).join("\n")}`);
  process.exitCode = 1;
} else if (values.write) {
  writeSection("soak", text);
}

function describe({ calls, reconnects, ms, seed, answered, faults, errors, samples, flat }) {
  const [least, most] = [samples[0], samples.at(-1)];
  return [
    `${number(calls)} calls, ${number(reconnects)} reconnects in ${(ms / 60_000).toFixed(1)} minutes, ` +
      `seed ${seed}, Node ${process.versions.node}, ${availableParallelism()} cores. ${number(answered)} calls were ` +
      "answered, each with its own text; every other one failed with a typed error or was aborted.",
    "",
    "| | |",
    "|---|---|",
    `| heap after collection | ${mib(least.heapUsed)} MiB at first, ${mib(most.heapUsed)} MiB at the end; fitted after the warm-up: ${signed(flat.growthMib)} MiB in all, ${signed(flat.bytesPerCall)} bytes a call |`,
    `| descriptors | ${flat.fds.join(" to ")} |`,
    `| listeners | ${flat.listeners.join(" to ")} |`,
    `| timers | ${flat.timers.join(" to ")} |`,
    `| processes | ${flat.children.join(" to ")} |`,
    `| faults | ${list(faults)} |`,
    `| errors | ${list(errors)} |`,
  ].join("\n");
}

/** For the terminal; the page has the figures. */
function drawMemory({ samples }) {
  const over = (field) => samples.map((sample) => [sample.ms / 60_000, sample[field] / MIB]);
  const heap = plot(over("heapUsed"), { title: "heap after collection", unit: "MiB", xUnit: "minutes" });
  return `${heap}\n\n${plot(over("rss"), { title: "resident memory", unit: "MiB", xUnit: "minutes" })}`;
}

function mib(bytes) {
  return (bytes / MIB).toFixed(1);
}

function signed(value) {
  return `${value < 0 ? "-" : "+"}${Math.abs(value).toFixed(2)}`;
}

function number(value) {
  return value.toLocaleString("en");
}

function list(counts) {
  return Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${number(count)}`)
    .join(", ");
}
