/**
 * Runs the same fault servers against Toolport and other libraries: `npm run compare:faults`.
 *
 *   --only a,b     these contenders: toolport, langchain, ai-sdk, sdk-v2
 *   --faults a,b   these probes, by id
 *   --cap <ms>     longest wait of a probe (default 20000)
 *   --write        also writes the table into docs/reliability.md, between its marks
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fetchPeer, PEERS } from "../bench/peers.mjs";
import { FAULTS } from "./compare-faults/faults.mjs";
import { runProbe } from "./compare-faults/run-probe.mjs";
import { toReport } from "./compare-faults/table.mjs";
import { root } from "./fetch-tool.mjs";
import { writeSection } from "./write-section.mjs";

const CONTENDERS = ["toolport", "langchain", "ai-sdk", "sdk-v2"];

const { values: flags } = parseArgs({
  options: {
    only: { type: "string" },
    faults: { type: "string" },
    cap: { type: "string", default: "20000" },
    write: { type: "boolean", default: false },
  },
});

function choose(all, list, nameOf) {
  if (list === undefined) return all;
  const asked = list.split(",");
  const unknown = asked.filter((name) => !all.some((one) => nameOf(one) === name));
  if (unknown.length > 0) {
    throw new Error(`Unknown: ${unknown.join(", ")}. Choose from ${all.map(nameOf).join(", ")}.`);
  }
  return all.filter((one) => asked.includes(nameOf(one)));
}

/** A contender with the name and version of its package; one that cannot be downloaded is left out. */
async function prepare(name) {
  const { peer, configuration, isSingle = false } = await import(`./compare-faults/contenders/${name}.mjs`);
  if (peer === undefined) {
    const { version } = JSON.parse(readFileSync(join(root, "packages/toolport/package.json"), "utf8"));
    return { name, title: `toolport ${version} (this tree)`, configuration, isSingle };
  }
  try {
    await fetchPeer(peer);
  } catch (error) {
    console.error(`${name} is left out: ${error.message}`);
    return undefined;
  }
  const title = Object.entries(PEERS[peer])[0].join(" ");
  return { name, title: `\`${title}\``, configuration, isSingle };
}

const capMs = Number(flags.cap);
const faults = choose(FAULTS, flags.faults, ({ id }) => id);
const prepared = await Promise.all(choose(CONTENDERS, flags.only, (name) => name).map(prepare));
const contenders = prepared.filter((contender) => contender !== undefined);
const results = {};
for (const fault of faults) {
  results[fault.id] = {};
  for (const { name, isSingle } of contenders) {
    const result = isSingle && fault.needsMany ? { isSkipped: true } : await runProbe(name, fault, capMs);
    results[fault.id][name] = result;
    if (!result.isSkipped) console.error(`${fault.id} ${name}: ${JSON.stringify(result)}`);
  }
}

const report = toReport({ faults, contenders, results, capMs });
console.log(report);
if (flags.write) writeSection("comparison", report);

const failed = faults.filter(({ id }) => results[id].toolport && !results[id].toolport.survived);
if (failed.length > 0) {
  console.error(`Toolport did not survive: ${failed.map(({ id }) => id).join(", ")}.`);
  process.exitCode = 1;
}
