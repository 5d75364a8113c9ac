/**
 * A host whose programs end at their limits, several at a time:
 * `node --expose-gc limits-host.mjs <address of the executor> <number of programs> <how many at a time>`.
 *
 * Prints as JSON how the programs ended, the most threads at a time, and the memory that remains. If Node aborts the process, it ends
 * with a signal.
 */
const [executorUrl, count, parallel] = process.argv.slice(2);
const { createExecutor } = await import(executorUrl);
const LIMITS = { calls: 100, cpuMs: 200, memoryBytes: 64 << 20, outputBytes: 64_000, resultBytes: 256_000 };
/** TypeScript: the parser makes functions of the thread hot. */
const TYPES = "{ const x: string = 'y' as string; }\n".repeat(200);
const KINDS = [
  { source: `${TYPES} for (;;) {}`, isStoppedAtOnce: true },
  { source: `${TYPES} await tools.s.wait()`, isStoppedAtCall: true },
  { source: `${TYPES} const half: string = "a".repeat(4e6); return (half + half).indexOf(half + "b")` },
  { source: `${TYPES} for (;;) {}` },
  { source: `${TYPES} const all: unknown[] = []; for (;;) all.push(new Uint8Array(1e6))` },
  { source: `${TYPES} return 1` },
];

// Unused threads are ended at once, not kept for 30 s.
const executor = await createExecutor({ idleTimeoutMs: 1, capacity: { threads: 4, waiting: Number(count) } });
const ends = {};
let started = 0;
let [threads, mostThreads] = [0, 0];
process.on("worker", (worker) => {
  threads += 1;
  mostThreads = Math.max(mostThreads, threads);
  worker.once("exit", () => {
    threads -= 1;
  });
});
/** Of what lives: memory of the process that V8 keeps for later is not counted. */
const megabytes = () => {
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
};
const before = megabytes();

async function runProgram({ source, isStoppedAtOnce, isStoppedAtCall }) {
  const run = executor.start(
    { source, tools: { s: ["wait"] }, limits: LIMITS },
    {
      onCall: () => {
        if (isStoppedAtCall) void run.stop();
      },
      onLog: () => {},
      onWait: () => {},
    },
  );
  if (isStoppedAtOnce) setImmediate(() => void run.stop());
  const { error } = await run.ended;
  const code = error?.code ?? "VALUE";
  ends[code] = (ends[code] ?? 0) + 1;
}

async function runPrograms() {
  while (started < Number(count)) await runProgram(KINDS[started++ % KINDS.length]);
}

await Promise.all(Array.from({ length: Number(parallel) }, runPrograms));
await executor.close();
// A turn of the event loop: the last messages of the threads are read.
await new Promise(setImmediate);
console.log(JSON.stringify({ ends, threads, mostThreads, grownMb: Math.round(megabytes() - before) }));
