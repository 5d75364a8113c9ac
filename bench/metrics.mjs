/** The measurements. Each runs in a fresh process, after the results have been checked. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { BenchServers } from "./bench-servers.mjs";
import { callMetrics } from "./call-metrics.mjs";
import { checkAnswers, expectEqual } from "./check-answers.mjs";
import { median, sleep, startMeter } from "./process-figures.mjs";

const PRINT_USAGE = fileURLToPath(new URL("./print-usage.cjs", import.meta.url));

/** A connected contender that has returned correct results. */
async function open(contender, params, options) {
  const lib = await contender.load();
  const bench = new BenchServers(params, contender.era);
  const servers = await bench.list(params.servers);
  const connection = await contender.connect(lib, servers, options);
  const kept = await checkAnswers(contender, connection, { servers, tools: params.tools });
  return { bench, servers, connection, kept };
}

const verify = async (contender, params) => (await open(contender, params)).kept;

async function importContender(contender) {
  const before = process.memoryUsage().rss;
  const read = startMeter();
  await contender.load();
  return { ...read(), rssMb: (process.memoryUsage().rss - before) / 1e6 };
}

/** Time from the start of a process to its exit. */
async function command({ command: args }) {
  if (args === undefined) return { isLeftOut: true };
  const start = performance.now();
  const stdio = ["ignore", "ignore", "inherit", "pipe"];
  const child = spawn(process.execPath, ["--require", PRINT_USAGE, ...args], { stdio });
  let usage = "";
  child.stdio[3].on("data", (chunk) => {
    usage += chunk;
  });
  const [code] = await once(child, "close");
  const ms = performance.now() - start;
  expectEqual("exit code", code, 0);
  return { ms, ...JSON.parse(usage) };
}

/** Cold: the first connection of the process. Warm: the median of those after it. */
async function connect(contender, params) {
  const { tools = 10, warm: repeats = 5 } = params;
  const lib = await contender.load();
  const servers = await new BenchServers(params, contender.era).list(params.servers);
  const connectOnce = async () => {
    const read = startMeter();
    const connection = await contender.connect(lib, servers);
    return { connection, ...read() };
  };
  const first = await connectOnce();
  await checkAnswers(contender, first.connection, { servers, tools });
  const warm = [];
  for (let i = 0; i < repeats; i++) {
    globalThis.gc();
    const next = await connectOnce();
    await next.connection.settle?.();
    expectEqual("number of tools", next.connection.count("s0"), tools);
    warm.push(next);
  }
  return {
    coldMs: first.ms,
    coldCpuMs: first.cpuMs,
    warmMs: median(warm.map(({ ms }) => ms)),
    warmCpuMs: median(warm.map(({ cpuMs }) => cpuMs)),
  };
}

const RECOVERY_LIMIT_MS = 6000;
const HANGING_MS = 3000;

/** Kills and restarts the server; measures time and number of calls until one succeeds. */
async function recovery(contender, params) {
  const isStateless = contender.era === "modern" && params.transport === "http-session";
  if (isStateless) return { error: "no sessions in this era" };
  const { bench, servers, connection } = await open(contender, params, { reconnect: true });
  const ask = async () => Number(contender.read(await connection.call("s0", "pid", {})).text);
  const pid = await ask();
  await bench.killAndRestart(pid, servers[0]);
  // Wait until the contender can have noticed the kill, so that the measurement is not a race with the signal.
  await sleep(100);
  const start = performance.now();
  let firstError;
  for (let calls = 1; performance.now() - start < RECOVERY_LIMIT_MS; calls++) {
    const outcome = await Promise.race([
      ask().catch((error) => String(error?.message ?? error)),
      sleep(HANGING_MS).then(() => `no answer and no error in ${HANGING_MS / 1000} s`),
    ]);
    if (outcome > 0 && outcome !== pid) return { ms: performance.now() - start, calls, firstError };
    firstError ??= String(outcome).replace(/\s+/g, " ").slice(0, 110);
    await sleep(25);
  }
  return { ms: null, firstError };
}

const withOpen = (measure) => async (contender, params) => {
  const { connection } = await open(contender, params);
  return measure(connection, params, contender);
};

export const metrics = {
  verify,
  import: importContender,
  command,
  connect,
  fleet: connect,
  calls: withOpen(callMetrics.calls),
  payload: withOpen(callMetrics.payload),
  heap: withOpen(callMetrics.heap),
  recovery,
};
