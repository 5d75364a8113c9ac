/**
 * Shows where the call path spends CPU and memory:
 * `node bench/profile.mjs <contender> <stdio|http-json|http-sse> [calls] [tool] [--json]`.
 *
 * Profiles warm calls only. Reports self time by owner (a package, a part of Node, a chunk of Toolport) and
 * by function, without idle time. Samples allocations in a second run.
 */
import { Session } from "node:inspector/promises";
import { BenchServers } from "./bench-servers.mjs";
import { keepInFlight } from "./in-flight.mjs";
import { startMeter } from "./process-figures.mjs";

const isJson = process.argv.includes("--json");
const given = process.argv.slice(2).filter((arg) => arg !== "--json");
const [name, transport = "stdio", calls = "10000", tool = "echo"] = given;
if (name === undefined) throw new Error("Name a contender: a file of bench/contenders, without its ending.");
const WARMUP_CALLS = 3000;
const INTERVAL_US = 200;
const OWNERS_SHOWN = 16;
const FUNCTIONS_SHOWN = 24;

const contender = await import(`./contenders/${name}.mjs`);
const servers = await new BenchServers({ transport }, contender.era).list();
const connection = await contender.connect(await contender.load(), servers);
await connection.settle?.();

const callMany = (count) =>
  keepInFlight(count, 16, () => connection.call("s0", tool, { text: "hello", n: 1 }));

/** Parts of Node, by the names of their files. */
const NODE_PARTS = [
  ["undici", "node: fetch"],
  ["_http", "node: http"],
  ["webstreams", "node: web streams"],
  ["encoding", "node: web streams"],
  ["event_target", "node: events and signals of the web"],
  ["abort_controller", "node: events and signals of the web"],
];

function ownerOf({ url, functionName }) {
  if (url === "") return functionName.startsWith("(") ? functionName : "V8 (JSON, regular expressions, …)";
  const found = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? /\/dist\/([^/]+)\//.exec(url)?.[1];
  if (found !== undefined) return url.includes("node_modules") ? found : `toolport ${found}`;
  const part = NODE_PARTS.find(([word]) => url.includes(word))?.[1];
  return part ?? (url.startsWith("node:") ? "node: other" : "bench");
}

/** All allocations in between, including objects that were collected. */
const EVERYTHING = {
  samplingInterval: 8192,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: true,
};

async function bytesAllocated(work) {
  const session = new Session();
  session.connect();
  await session.post("HeapProfiler.enable");
  await session.post("HeapProfiler.startSampling", EVERYTHING);
  await work();
  const { profile } = await session.post("HeapProfiler.stopSampling");
  session.disconnect();
  const sizeOf = ({ selfSize, children }) => children.reduce((sum, child) => sum + sizeOf(child), selfSize);
  return sizeOf(profile.head);
}

const place = ({ url, lineNumber }) => (url === "" ? "" : ` ${url.split("/").at(-1)}:${lineNumber + 1}`);

async function takeProfile(work) {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: INTERVAL_US });
  await session.post("Profiler.start");
  await work();
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  return profile;
}

/** Self time in µs by node of the profile. */
function selfTimes({ samples, timeDeltas }) {
  const times = new Map();
  for (const [i, id] of samples.entries()) times.set(id, (times.get(id) ?? 0) + timeDeltas[i]);
  return times;
}

function top(times, shown) {
  const total = [...times.values()].reduce((sum, time) => sum + time, 0);
  const sorted = [...times].sort(([, a], [, b]) => b - a).slice(0, shown);
  return sorted.map(([key, time]) => [key, time / total]);
}

const lines = (shares) =>
  shares.map(([key, share]) => `${(share * 100).toFixed(1).padStart(5)} %  ${key}`).join("\n");

await callMany(WARMUP_CALLS);
const read = startMeter();
const profile = await takeProfile(() => callMany(Number(calls)));
const { cpuMs } = read();
const times = selfTimes(profile);
const byOwner = new Map();
const byFunction = new Map();
for (const { id, callFrame } of profile.nodes) {
  const owner = ownerOf(callFrame);
  const time = times.get(id) ?? 0;
  if (owner === "(idle)" || time === 0) continue;
  const key = `${callFrame.functionName || "(anonymous)"} [${owner}${place(callFrame)}]`;
  byOwner.set(owner, (byOwner.get(owner) ?? 0) + time);
  byFunction.set(key, (byFunction.get(key) ?? 0) + time);
}
const count = Number(calls);
const cpuUs = (cpuMs * 1000) / count;
const bytes = (await bytesAllocated(() => callMany(count))) / count;
const owners = top(byOwner, OWNERS_SHOWN);
if (isJson) console.log(JSON.stringify({ cpuUs, bytes, owners }));
else {
  console.log(`${name}, ${transport}, ${tool}: ${cpuUs.toFixed(0)} µs of CPU a call while profiled`);
  console.log(`${bytes.toFixed(0)} bytes allocated a call`);
  console.log(`\n${lines(owners)}\n\n${lines(top(byFunction, FUNCTIONS_SHOWN))}`);
}
// Some contenders keep the process alive.
process.exit(0);
