/** Load scenarios for a port and their costs: many connections, many calls in flight. */
import { settledMemory, spread, startMeter } from "./figures.mjs";
import { nameOf } from "./lean-servers.mjs";

/** Calls in flight while each connection is tested. */
const TRY_OUT = 16;

/** Connects all at once, then calls each once. `toolport` must have these servers and must not be connected. */
export async function measureConnections(toolport, count) {
  const before = settledMemory();
  const read = startMeter();
  const { servers } = await toolport.connect();
  const { ms, cpuMs } = read();
  const reports = Array.from({ length: count }, (_, index) => servers[nameOf(index)]);
  const calls = await callEach(toolport, count);
  const after = settledMemory();
  return {
    count,
    ready: reports.filter((report) => report?.state === "ready").length,
    problems: reports.flatMap((report) => (report?.error === undefined ? [] : [report.error.message])),
    connectAllMs: ms,
    connectCpuMs: cpuMs / count,
    connectMs: spread(reports.map((report) => report?.ms ?? Number.NaN)),
    callMs: spread(calls),
    rssPerConnection: (after.rss - before.rss) / count,
    heapPerConnection: (after.heapUsed - before.heapUsed) / count,
  };
}

/** Duration of a call on each connection, a few at a time. */
async function callEach(toolport, count) {
  const took = [];
  let next = 0;
  const work = async () => {
    while (next < count) {
      const index = next++;
      took.push(await timedEcho(toolport, nameOf(index), `hello ${index}`));
    }
  };
  await Promise.all(Array.from({ length: TRY_OUT }, work));
  return took;
}

async function timedEcho(toolport, server, text) {
  const began = performance.now();
  const answer = await toolport.callTool(`${server}__echo`, { text });
  if (answer.text !== text) throw new Error(`${server} was asked for ${text} and answered ${answer.text}`);
  return performance.now() - began;
}

/**
 * Makes `calls` calls with `inFlight` in flight at any time, spread evenly over the first `servers` servers. Checks that every
 * response belongs to its call.
 */
export async function measureInFlight(toolport, { calls, inFlight, servers = 1 }) {
  const before = settledMemory();
  const took = [];
  let begun = 0;
  let peakRss = before.rss;
  const read = startMeter();
  const work = async () => {
    while (begun < calls) {
      const index = begun++;
      took.push(await timedEcho(toolport, nameOf(index % servers), `call ${index}`));
      if (index % 256 === 0) peakRss = Math.max(peakRss, process.memoryUsage.rss());
    }
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, calls) }, work));
  const { ms, cpuMs } = read();
  return {
    calls: took.length,
    inFlight,
    servers,
    ms,
    cpuMsPerCall: cpuMs / calls,
    callsPerSecond: (calls / ms) * 1_000,
    callMs: spread(took),
    rssPerCall: (peakRss - before.rss) / inFlight,
  };
}

/** Enough calls to measure the cost of one. */
const FEW_SHARE = 5;

/** Processor time of a call with many in flight, as a multiple of that with few; the minimum of several rounds each. */
export async function compareInFlight(toolport, { calls, few = 100, many = calls, servers = 1, rounds = 3 }) {
  const plans = {
    few: { calls: Math.ceil(calls / FEW_SHARE), inFlight: few, servers },
    many: { calls, inFlight: many, servers },
  };
  await measureInFlight(toolport, plans.few);
  const best = {};
  for (let round = 0; round < rounds; round++) {
    for (const [name, plan] of Object.entries(plans)) {
      const figures = await measureInFlight(toolport, plan);
      if (best[name] === undefined || figures.cpuMsPerCall < best[name].cpuMsPerCall) best[name] = figures;
    }
  }
  return { few: best.few, many: best.many, ratio: best.many.cpuMsPerCall / best.few.cpuMsPerCall };
}
