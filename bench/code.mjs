/**
 * Code mode: `npm run bench:code`. Beside direct calls and `@tanstack/ai-isolate-quickjs`, which is downloaded and not a dependency.
 *
 * `--write` replaces the table in docs/code-mode.md. `--long` runs 10,000 programs and reports growth. `--no-peer` leaves the peer out.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { createCodeMode } from "../packages/toolport/dist/code/index.js";
import { createExecutor } from "../packages/toolport/dist/code/worker-executor.js";
import { createToolport } from "../packages/toolport/dist/index.js";
import { createTestServer } from "../packages/toolport/dist/testing/index.js";
import { fetchTool } from "../scripts/fetch-tool.mjs";
import { writeSection } from "../scripts/write-section.mjs";
import { markdownTable } from "./markdown-table.mjs";
import { median, sleep, waitedForCore } from "./process-figures.mjs";

const { values: flags } = parseArgs({
  options: {
    write: { type: "boolean", default: false },
    long: { type: "boolean", default: false },
    "no-peer": { type: "boolean", default: false },
    runs: { type: "string", default: "10000" },
  },
});
const PAGE = fileURLToPath(new URL("../docs/code-mode.md", import.meta.url));
const PEER = fileURLToPath(new URL("./code-tanstack.mjs", import.meta.url));
const PEER_VERSION = "0.1.30";
/** A peer that takes longer is ended. */
const PATIENCE_MS = 20_000;
const CPU_MS = 500;
const HOSTILE = [
  "for (;;) {}",
  'const half = "a".repeat(4e6); return (half + half).indexOf(half + "b")',
  'return new Array(1e9) + ""',
  "const all = []; for (;;) all.push({ a: [all.length] })",
  "for (let i = 0; ; i++) console.log('line', i)",
];

const server = createTestServer({
  tools: {
    add: { handler: ({ a }) => String(a + 1) },
    wait: { handler: () => sleep(100).then(() => "done") },
  },
});
const toolport = createToolport({ mcpServers: { s: server.memory() } });
const code = createCodeMode(toolport, { limits: { cpuMs: CPU_MS, calls: 10_000 } });
await toolport.connect();

// Spare workers do not keep the process alive.
const alive = setInterval(() => {}, 60_000);
let online = Promise.resolve();
process.on("worker", (worker) => {
  // A spare that is closed early never comes online.
  online = new Promise((resolve) => worker.once("online", resolve).once("exit", resolve));
});
/** A moment for the spare worker to load its modules and to make its VM ready. */
const spareIsReady = () => online.then(() => sleep(300));

/** The control: a thread that only sends messages back. */
const openBare = () =>
  new Worker(
    "const { parentPort } = require('node:worker_threads'); parentPort.on('message', (text) => parentPort.postMessage(text));",
    { eval: true },
  );

async function roundTrip(worker) {
  worker.postMessage("");
  await new Promise((resolve) => worker.once("message", resolve));
}

/** Time of a message to a thread that runs, and back. */
async function bareRoundTrip() {
  const worker = openBare();
  await roundTrip(worker);
  await sleep(50);
  const { ms } = await timed(() => roundTrip(worker));
  await worker.terminate();
  return ms;
}

/** Time from the start of a thread to its first message. */
async function bareStart() {
  let worker;
  const { ms } = await timed(() => {
    worker = openBare();
    return roundTrip(worker);
  });
  await worker.terminate();
  return ms;
}

async function timed(run) {
  const began = performance.now();
  const out = await run();
  return { ms: performance.now() - began, out };
}

async function repeated(count, run) {
  const all = [];
  for (let index = 0; index < count; index += 1) all.push(await run());
  return median(all);
}

/** The longest time between two ticks of a 10 ms timer while `run` works. */
async function longestGap(run) {
  let last = performance.now();
  let longest = 0;
  const tick = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(tick, 10);
  await run();
  tick();
  clearInterval(timer);
  return longest;
}

/** The control: a thread that is only busy, for as long as the hostile programs take. */
async function busyWorker(ms) {
  const worker = new Worker(`const end = Date.now() + ${Math.ceil(ms)}; while (Date.now() < end);`, {
    eval: true,
  });
  await new Promise((resolve) => worker.once("exit", resolve));
}

async function measurePeer(kind) {
  if (flags["no-peer"]) return undefined;
  const home = await fetchTool("tanstack-isolate", "@tanstack/ai-isolate-quickjs", PEER_VERSION);
  const address = pathToFileURL(join(home, "dist/esm/index.js")).href;
  const child = spawn(process.execPath, [PEER, address, kind], { stdio: ["ignore", "pipe", "ignore"] });
  let text = "";
  child.stdout.on("data", (chunk) => {
    text += chunk;
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  const [exitCode, signal] = await new Promise((resolve) => child.once("exit", (...args) => resolve(args)));
  clearTimeout(timer);
  if (signal === "SIGKILL") return { text: `> ${PATIENCE_MS / 1000} s` };
  if (exitCode !== 0 || text === "") return { text: "ended the process" };
  const { ms, success, error } = JSON.parse(text);
  return { text: success === false ? `failed: ${error}` : undefined, ms };
}

const shown = (ms, digits = 1) => `${ms.toFixed(digits)} ms`;
const peerText = (peer, divide = 1, digits = 1) =>
  peer === undefined ? "" : (peer.text ?? shown(peer.ms / divide, digits));

async function measureStart() {
  const cold = await timed(() => code.execute("return 1"));
  const bare = [];
  const warm = await repeated(20, async () => {
    bare.push(await bareRoundTrip());
    await spareIsReady();
    return (await timed(() => code.execute("return 1"))).ms;
  });
  return [
    ["first program: load the engine, start a worker", shown(cold.ms), "", ""],
    [
      `start of a program, warm (message to a bare thread and back: ${shown(median(bare))})`,
      shown(warm),
      peerText(await measurePeer("start")),
      "≤ 10 ms",
    ],
  ];
}

async function measureCalls() {
  const CALLS = 200;
  const source = `let a = 0; for (let n = 0; n < ${CALLS}; n++) a = Number(await tools.s.add({ a })); return a`;
  const directly = async () => {
    for (let a = 0; a < CALLS; a += 1) await toolport.callTool("s__add", { a });
  };
  await directly();
  await code.execute(source);
  const direct = await repeated(7, async () => (await timed(directly)).ms / CALLS);
  const inCode = await repeated(7, async () => {
    await spareIsReady();
    return (await timed(() => code.execute(source))).ms / CALLS;
  });
  const parallel = await repeated(5, async () => {
    await spareIsReady();
    const { ms, out } = await timed(() =>
      code.execute("return (await Promise.all(Array.from({ length: 8 }, () => tools.s.wait({})))).length"),
    );
    if (out.value !== 8) throw new Error(out.error?.message);
    return ms;
  });
  return [
    [
      `inner call, ${CALLS} in sequence, memory server (direct: ${shown(direct, 2)})`,
      `${shown(inCode, 2)} (+${shown(inCode - direct, 2)})`,
      peerText(await measurePeer("calls"), 20, 2),
      "≤ +0.3 ms",
    ],
    [
      "8 calls of 100 ms at a time, start included",
      shown(parallel, 0),
      peerText(await measurePeer("parallel"), 1, 0),
      "≤ 200 ms",
    ],
  ];
}

async function measureLimits() {
  const over = [];
  for (const source of HOSTILE.slice(0, 3)) {
    await spareIsReady();
    const { ms, out } = await timed(() => code.execute(source));
    if (out.error === undefined) throw new Error("a hostile program ended well");
    over.push(ms - CPU_MS);
  }
  const [gaps, control] = [[], []];
  for (let round = 0; round < 5; round += 1) {
    const { ms } = await timed(async () => {
      gaps.push(
        await longestGap(async () => {
          for (const source of HOSTILE) await code.execute(source);
        }),
      );
    });
    control.push(await longestGap(() => busyWorker(ms)));
  }
  return [
    [
      `end of a hostile program after its limit of ${CPU_MS} ms, longest of 3`,
      shown(Math.max(...over), 0),
      peerText(await measurePeer("hostile")),
      "≤ 300 ms",
    ],
    [
      `longest gap of a 10 ms timer of the host, median of 5 (beside a plain busy thread: ${shown(median(control), 0)})`,
      shown(median(gaps), 0),
      "",
      "≤ 20 ms above",
    ],
  ];
}

/** An image with 1,000 rows: made by one worker, continued and finished by another. */
async function measureImage() {
  const executor = await createExecutor({ idleTimeoutMs: 30_000 });
  const limits = {
    calls: 100_000,
    cpuMs: 10_000,
    memoryBytes: 64 << 20,
    outputBytes: 64_000,
    resultBytes: 256_000,
  };
  const source =
    "const rows = Array.from({ length: 1000 }, (_, id) => ({ id, name: 'row ' + id, tags: ['a', 'b'] }));\n" +
    "await tools.s.add({ a: 1 }); return rows.length";
  const program = { source, tools: { s: ["add"] }, limits };
  const start = (given) =>
    new Promise((resolve) => {
      const run = executor.start(given, { onCall: () => {}, onLog: () => {}, onWait: () => resolve(run) });
    });
  const [made, resumed, bare] = [[], [], []];
  let bytes = 0;
  for (let round = 0; round < 7; round += 1) {
    const run = await start(program);
    const { ms, out } = await timed(() => run.snapshot());
    made.push(ms);
    bytes = out.image.length;
    const again = await timed(async () => {
      const next = await start({ ...program, image: out.image });
      next.answer(1, { value: "1" });
      const end = await next.ended;
      if (end.value !== "1000") throw new Error(JSON.stringify(end));
    });
    resumed.push(again.ms);
    bare.push(await bareStart());
  }
  await executor.close();
  return [
    [
      `image of a waiting program with 1,000 rows (${Math.round(bytes / 1000)} kB)`,
      shown(median(made), 0),
      "none",
      "",
    ],
    [
      `the same continued by another worker and finished (start of a bare thread: ${shown(median(bare), 0)})`,
      shown(median(resumed), 0),
      "none",
      "≤ 100 ms",
    ],
  ];
}

/** Programs of several kinds, one after the other. */
async function measureGrowth(runs) {
  const kinds = [
    "return await tools.s.add({ a: 1 })",
    "return await Promise.all([1, 2, 3].map((a) => tools.s.add({ a })))",
    "throw new Error('mine')",
    "const x: number = 1; return x",
    "tools.s.wait({}); return 1",
    "console.log('x'.repeat(1e4)); return Array(1000).fill('row')",
  ];
  const memory = () => {
    globalThis.gc?.();
    return process.memoryUsage();
  };
  let after;
  for (let index = 0; index < runs; index += 1) {
    await code.execute(kinds[index % kinds.length]);
    if (index === Math.floor(runs / 10)) after = memory();
    if (index % Math.ceil(runs / 20) === 0) {
      const { heapUsed, rss } = memory();
      console.error(
        `${index} programs: heap ${(heapUsed / 2 ** 20).toFixed(1)} MB, RSS ${(rss / 2 ** 20).toFixed(0)} MB`,
      );
    }
  }
  const end = memory();
  const mb = (key) => `${((end[key] - after[key]) / 1024 / 1024).toFixed(1)} MB`;
  return [
    [
      `${runs} programs: growth of heap and RSS after the first tenth`,
      `${mb("heapUsed")}, ${mb("rss")}`,
      "",
      "none",
    ],
  ];
}

const rows = [
  ...(await measureStart()),
  ...(await measureCalls()),
  ...(await measureImage()),
  ...(await measureLimits()),
  ...(flags.long ? await measureGrowth(Number(flags.runs)) : []),
];
await code.close();
await toolport.close();
await server.close();
clearInterval(alive);
const waited = waitedForCore();
const text = [
  ...markdownTable(["", "Toolport", `TanStack ${PEER_VERSION}`, "target"], rows),
  "",
  `Node ${process.version}, medians. The main thread waited for a core during ${Math.round((waited ?? 0) * 100)} % of its runnable time.`,
].join("\n");
console.log(text);
if (flags.write) writeSection("code", text, PAGE);
