/**
 * Load: `npm run load [-- --write] [-- --scale 0.1]`.
 *
 * 1,000 HTTP connections, 200 processes, 10,000 calls in flight, with servers without the SDK; each scenario in its own
 * process, so that memory is measured separately. Uses the built package; `--write` writes the table into docs/reliability.md.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { connectionTable, inFlightTable } from "./load/tables.mjs";
import { writeSection } from "./write-section.mjs";

const WORKER = fileURLToPath(new URL("./load/worker.mjs", import.meta.url));
const { values } = parseArgs({
  options: { write: { type: "boolean", default: false }, scale: { type: "string", default: "1" } },
});
const scaled = (count) => Math.max(1, Math.round(count * Number(values.scale)));

const connections = [
  await measure({ what: "connections", kind: "http", count: scaled(1_000) }),
  await measure({ what: "connections", kind: "shell", count: scaled(200) }),
];
const inFlight = [];
for (const [kind, servers] of [
  ["node", 1],
  ["http", 1],
  ["shell", 100],
  ["http", 100],
])
  inFlight.push(await measure({ what: "in-flight", kind, count: servers, calls: scaled(10_000) }));

const text = [
  `Node ${process.versions.node}, ${availableParallelism()} cores, servers on the same machine.`,
  "",
  connectionTable(connections),
  "",
  inFlightTable(inFlight),
].join("\n");
console.log(text);
const failed = connections.some(({ ready, count }) => ready !== count);
if (failed) process.exitCode = 1;
else if (values.write) writeSection("load", text);

/** Runs one scenario in its own process. */
async function measure(scenario) {
  process.stderr.write(`${scenario.what}: ${scenario.kind} …\n`);
  const child = spawn(process.execPath, ["--expose-gc", WORKER, JSON.stringify(scenario)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    output += chunk;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${JSON.stringify(scenario)} ended with ${code}`);
  return { ...scenario, ...JSON.parse(output) };
}
