/**
 * A host whose programs end at their limits, several at a time: `node limits-host.mjs <address of the executor> <number of programs>`.
 *
 * Prints how the programs ended, as JSON. If Node aborts the process, it ends with a signal.
 */
const [executorUrl, count] = process.argv.slice(2);
const { createExecutor } = await import(executorUrl);
const PARALLEL = 4;
const LIMITS = { cpuMs: 60, memoryBytes: 64 << 20, outputBytes: 64_000, resultBytes: 256_000 };
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
const executor = await createExecutor({ idleTimeoutMs: 1 });
const ends = {};
let started = 0;

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

await Promise.all(Array.from({ length: PARALLEL }, runPrograms));
await executor.close();
console.log(JSON.stringify(ends));
