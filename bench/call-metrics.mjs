/** Costs of calls on an open connection: latency, throughput, large results, retained heap. */
import { expectEqual } from "./check-answers.mjs";
import { keepInFlight } from "./in-flight.mjs";
import { forgetPeak, median, peakRssMb, sleep, startMeter } from "./process-figures.mjs";

const ECHO = { text: "hello from the benchmark" };
const IN_FLIGHT = 64;

async function sequential(count, call) {
  const times = new Float64Array(count);
  const read = startMeter();
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    await call();
    times[i] = performance.now() - start;
  }
  const { cpuMs } = read();
  times.sort();
  return {
    p50Us: times[count >> 1] * 1000,
    p99Us: times[Math.floor(count * 0.99)] * 1000,
    cpuUs: (cpuMs / count) * 1000,
  };
}

async function inFlight(count, width, call) {
  const read = startMeter();
  await keepInFlight(count, width, call);
  const { ms, cpuMs } = read();
  return { perSecond: (count / ms) * 1000, cpuUs: (cpuMs / count) * 1000 };
}

const SLICES = 5;

/**
 * Median of a few slices, after as many uncounted calls: the JIT compiler is active during the first thousands of calls, for a
 * varying time.
 */
async function warmInFlight(count, width, call) {
  await keepInFlight(count, width, call);
  const slices = [];
  for (let i = 0; i < SLICES; i++) slices.push(await inFlight(count / SLICES, width, call));
  return {
    perSecond: median(slices.map(({ perSecond }) => perSecond)),
    cpuUs: median(slices.map(({ cpuUs }) => cpuUs)),
  };
}

async function calls(connection, { warmup = 1500, calls: count = 2000, concurrent: many = 4000 }) {
  const echo = () => connection.call("s0", "echo", ECHO);
  const echoStructured = () => connection.call("s0", "echo_structured", { ...ECHO, n: 1 });
  await sequential(warmup, echo);
  const oneByOne = await sequential(count, echo);
  const concurrent = await warmInFlight(many, IN_FLIGHT, echo);
  await sequential(300, echoStructured);
  return { sequential: oneByOne, concurrent, structured: await sequential(500, echoStructured) };
}

const LARGE_CALLS = 5;

async function payload(connection, { mb, kind }, contender) {
  globalThis.gc();
  forgetPeak();
  const before = process.memoryUsage().rss / 2 ** 20;
  const times = [];
  const read = startMeter();
  for (let i = 0; i < LARGE_CALLS; i++) {
    const start = performance.now();
    const answer = contender.read(await connection.call("s0", "blob", { kb: mb * 1024, kind }));
    times.push(performance.now() - start);
    expectEqual(`length of ${kind}`, answer[kind]?.length, mb * 1024 * 1024);
  }
  const { cpuMs } = read();
  const peakMb = peakRssMb();
  return { ms: median(times), cpuMs: cpuMs / LARGE_CALLS, peakRiseMb: peakMb - before, peakMb };
}

/** Enough calls for JIT compilation to finish; memory it retains is not a cost of a call. */
const HEAP_WARMUP = 20_000;

/** Heap retained by many more calls after the warm-up. */
async function heap(connection, { calls: count = 20_000, warmup = HEAP_WARMUP }) {
  const heapAfter = async (n) => {
    await keepInFlight(n, 16, () => connection.call("s0", "echo", { text: "x" }));
    for (let i = 0; i < 3; i++) {
      await sleep(30);
      globalThis.gc();
    }
    return process.memoryUsage().heapUsed;
  };
  const start = await heapAfter(warmup);
  const end = await heapAfter(count);
  return { bytesPerCall: (end - start) / count, heapMb: end / 1e6 };
}

export const callMetrics = { calls, payload, heap };
