/** One point of the growth report: `node --expose-gc growth-worker.mjs <series> <size>` prints its figures as JSON. */
import { createToolport } from "../packages/toolport/dist/index.js";
import { BenchServers } from "./bench-servers.mjs";
import { keepInFlight } from "./in-flight.mjs";
import { startMeter } from "./process-figures.mjs";

const [, , series, sizeText] = process.argv;
const size = Number(sizeText);
const QUERIES = ["echo text", "tool 42", "find the record of a customer", "number"];
const CALLS = 2000;

const heapNow = () => {
  globalThis.gc();
  return process.memoryUsage().heapUsed;
};

function openPort(servers) {
  const entries = servers.map(({ name, ...entry }) => [name, entry]);
  return createToolport({ mcpServers: Object.fromEntries(entries) });
}

/** Loads everything that the first use loads, so that the first size does not pay for it. */
async function warmUp(transport) {
  const port = openPort(await new BenchServers({ transport }).list());
  await port.connect();
  for (let i = 0; i < 500; i += 1) await port.callTool("s0__echo", { text: "warm" });
  await port.searchTools("echo");
  await port.close();
}

async function cpuOf(run) {
  const read = startMeter();
  await run();
  return read().cpuMs;
}

async function callCost(port, name, calls = CALLS) {
  const call = async (count) => {
    for (let i = 0; i < count; i += 1) await port.callTool(name, { text: "hello", n: 1 });
  };
  await call(200);
  return ((await cpuOf(() => call(calls))) / calls) * 1000;
}

async function searchCost(port) {
  await port.searchTools(QUERIES[0]);
  const rounds = 20;
  const ms = await cpuOf(async () => {
    for (let i = 0; i < rounds; i += 1) for (const query of QUERIES) await port.searchTools(query);
  });
  return (ms / rounds / QUERIES.length) * 1000;
}

/** Costs of a catalog of this shape: memory, listing, searching, calling. */
async function catalog({ servers, tools, page = 0, per }) {
  await warmUp("http-json");
  const list = await new BenchServers({ transport: "http-json", tools, page }).list(servers);
  const before = heapNow();
  const port = openPort(list);
  const connectMs = await cpuOf(() => port.connect());
  let count = 0;
  const listMs = await cpuOf(async () => {
    count = (await port.tools()).length;
  });
  if (count !== servers * tools) throw new Error(`${count} tools instead of ${servers * tools}`);
  const heap = heapNow() - before;
  const searchUs = await searchCost(port);
  const figures = {
    connectMs: connectMs / servers,
    connectUs: (connectMs * 1000) / count,
    listUs: (listMs * 1000) / count,
    searchUs,
    searchNs: (searchUs * 1000) / count,
    callUs: await callCost(port, "s0__echo"),
    heapKb: heap / 1024 / per,
  };
  await port.close();
  return figures;
}

async function users() {
  await warmUp("http-json");
  const list = await new BenchServers({ transport: "http-json" }).list();
  const before = heapNow();
  const port = openPort(list);
  const userPorts = Array.from({ length: size }, (_, i) => port.as(`user-${i}`));
  const connectMs = await cpuOf(() => Promise.all(userPorts.map((userPort) => userPort.connect())));
  const heap = heapNow() - before;
  const callUs = await callCost(userPorts.at(-1), "s0__echo");
  await port.close();
  return { connectMs: connectMs / size, callUs, heapKb: heap / 1024 / size };
}

async function inFlight() {
  await warmUp("stdio");
  const port = openPort(await new BenchServers({ transport: "stdio" }).list());
  await port.connect();
  // Enough waves that neither JIT compilation nor a single garbage collection dominates the figure.
  const total = Math.max(20_000, 5 * size);
  const run = () => keepInFlight(total, size, () => port.callTool("s0__echo", { text: "hello", n: 1 }));
  await run();
  const before = heapNow();
  let peak = 0;
  const ms = await cpuOf(async () => {
    const running = run();
    peak = process.memoryUsage().heapUsed;
    await running;
  });
  await port.close();
  return { callUs: (ms / total) * 1000, heapKb: Math.max(0, peak - before) / 1024 / size };
}

const measures = {
  servers: () => catalog({ servers: size, tools: 100, per: size }),
  tools: () => catalog({ servers: 1, tools: size, page: 5000, per: size }),
  users,
  calls: inFlight,
};
console.log(JSON.stringify(await measures[series]()));
process.exit(0);
