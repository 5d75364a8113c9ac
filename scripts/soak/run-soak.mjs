/** Makes many calls and reconnects over stdio and HTTP with random faults, and samples resources. */
import { judgeFlatness } from "./flatness.mjs";
import { createRandom } from "./random.mjs";
import { startSoakServers } from "./soak-servers.mjs";
import { MAX_MESSAGE_BYTES, SoakWorker } from "./soak-worker.mjs";
import { countChildren, takeStock } from "./take-stock.mjs";

/** Number of samples, if the run is long enough. */
const SAMPLES = 120;
const SETTLE_MS = 5_000;

/**
 * Runs until both counts are reached, or the time limit.
 *
 * `library` is Toolport: its built package, or its sources in a test. Findings are in `problems`; it does not throw for them.
 */
export async function runSoak(library, options) {
  const { calls = 1_000_000, reconnects = 10_000, seed = 1, minutes = Infinity } = options;
  const { stdio = 3, http = 5, onSample } = options;
  const shared = new AbortController();
  const servers = await startSoakServers({ stdio, http });
  await warmUp(library, servers.entries);
  const before = takeStock(shared.signal);
  const began = performance.now();
  const tally = createTally();
  const toolport = library.createToolport({
    mcpServers: servers.entries,
    maxMessageBytes: MAX_MESSAGE_BYTES,
    // An open breaker would stop calls for half a minute, but the server has to fail again at once.
    breaker: false,
    timeoutMs: 30_000,
  });
  const ready = new Map();
  toolport.on("state", ({ server, to }) => {
    if (to === "ready") ready.set(server, (ready.get(server) ?? 0) + 1);
  });
  const workers = Object.keys(servers.entries).map(
    (name, index) =>
      new SoakWorker({
        name,
        toolport,
        tally,
        random: createRandom(seed * 1_000 + index),
        signal: shared.signal,
        isTyped: (error) => library.ToolportError.isInstance(error),
      }),
  );
  const made = () => workers.reduce((sum, worker) => sum + worker.calls, 0);
  const reconnected = () => [...ready.values()].reduce((sum, count) => sum + count - 1, 0);
  const sample = () => ({
    ms: performance.now() - began,
    calls: made(),
    reconnects: reconnected(),
    ...takeStock(shared.signal),
  });

  const size = Math.max(10, Math.round(calls / Math.max(1, reconnects)));
  const rounds = Math.max(1, Math.round(calls / size / workers.length / SAMPLES));
  const samples = [];
  try {
    await toolport.connect();
    while ((made() < calls || reconnected() < reconnects) && performance.now() - began < minutes * 60_000) {
      const ending = reconnected() < reconnects;
      await Promise.all(
        workers.map(async (worker) => {
          for (let round = 0; round < rounds; round++) await worker.round(size, { ending });
        }),
      );
      await settle(() => countChildren() <= servers.processes);
      samples.push(sample());
      onSample?.(samples.at(-1));
    }
  } finally {
    await toolport.close();
    await servers.close();
  }
  const left = await whatIsLeft(before, shared.signal);
  const flat = judgeFlatness(samples);
  return {
    seed,
    calls: made(),
    reconnects: reconnected(),
    ms: performance.now() - began,
    samples,
    flat,
    answered: tally.answered,
    faults: tally.faults,
    errors: tally.errors,
    problems: [...tally.problems, ...flat.problems, ...left],
  };
}

/** Loads and starts everything that stays (for instance the guardian process) before the first sample. */
async function warmUp({ createToolport }, mcpServers) {
  const toolport = createToolport({ mcpServers });
  await toolport.connect();
  await toolport.close();
}

function createTally() {
  const [faults, errors, problems] = [{}, {}, []];
  const add = (counts) => (name) => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  const problem = (text) => void (problems.length < 20 && problems.push(text));
  return { answered: 0, faults, errors, problems, fault: add(faults), error: add(errors), problem };
}

/** Polls: processes that were cut off take a moment to exit, and there is no event for it. */
async function settle(isSettled) {
  const deadline = performance.now() + SETTLE_MS;
  while (!isSettled() && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 20));
}

async function whatIsLeft(before, signal) {
  const kinds = ["fds", "listeners", "timers", "children"];
  const more = () => {
    const now = takeStock(signal);
    return kinds
      .filter((kind) => now[kind] > before[kind])
      .map((kind) => `${kind} after close: ${now[kind]}`);
  };
  await settle(() => more().length === 0);
  return more();
}
