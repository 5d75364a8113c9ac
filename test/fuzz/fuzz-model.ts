/** Declares a fuzzer: a property with a share of the time. Counts its runs and reports failures with their seed. */
import { appendFileSync } from "node:fs";
import { inspect } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { waitFor } from "../support/wait-for.js";

const SECONDS = Number(process.env["FUZZ_SECONDS"] ?? 600);
const SEED = Number(process.env["FUZZ_SEED"] ?? Date.now() % 2 ** 31);
const PATH = process.env["FUZZ_PATH"];
/** File for the figures of each model, one line of JSON each; set by the script. */
const FIGURES = process.env["FUZZ_FIGURES"];

/** Share of the total time in percent. All models add up to 100. */
const SHARES = {
  "wire over memory": 20,
  "wire over stdio": 12,
  "wire over HTTP": 12,
  "line framing": 4,
  "event framing": 4,
  "schema of a server": 12,
  "value against a schema": 8,
  content: 8,
  "configuration file": 10,
  "connection states": 10,
} as const;

export type ModelName = keyof typeof SHARES;

/** For `fc.commands`: the path of the commands that ran, which is needed to repeat a failure. */
export const REPLAY_PATH = process.env["FUZZ_REPLAY_PATH"];

/**
 * Runs one fuzzer until its time is over or it fails. `count` returns the number of cases in a run, if it is more than one.
 *
 * @example
 * ```ts
 * fuzzModel("content", fc.property(block, (value) => void toContentPart(value)));
 * ```
 */
export function fuzzModel<Values>(
  name: ModelName,
  property: fc.IRawProperty<Values>,
  { count }: { count?: (() => number) | undefined } = {},
): void {
  test(name, async () => {
    const began = performance.now();
    const result = await fc.check(property, {
      seed: SEED,
      ...(PATH === undefined ? { numRuns: Number.MAX_SAFE_INTEGER } : { path: PATH, numRuns: 1 }),
      interruptAfterTimeLimit: SECONDS * 10 * SHARES[name],
      markInterruptAsFailure: false,
      verbose: fc.VerbosityLevel.None,
    });
    const seconds = (performance.now() - began) / 1_000;
    const runs = count?.() ?? result.numRuns;
    console.log(`${name}: ${runs} runs in ${seconds.toFixed(1)} s, seed ${SEED}`);
    if (FIGURES !== undefined)
      appendFileSync(
        FIGURES,
        `${JSON.stringify({ name, runs, seconds, seed: SEED, failed: result.failed })}\n`,
      );
    expect(result.failed, tell(name, result)).toBe(false);
  });
}

/** A scenario takes well under a second; a longer one has hung. */
const SCENARIO_MS = 10_000;
/** Maximum number of parallel scenarios. */
const AT_ONCE = 8;

/** Runs several scenarios in parallel, because they mostly wait, and reports uncaught errors. */
export function fuzzTogether<Scenario>(
  name: ModelName,
  scenario: fc.Arbitrary<Scenario>,
  run: (scenario: Scenario) => Promise<void>,
): void {
  let tried = 0;
  const property = fc.asyncProperty(
    fc.array(scenario, { minLength: 1, maxLength: AT_ONCE, size: "max" }),
    async (scenarios) => {
      tried += scenarios.length;
      const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
      const before = timers();
      await catchingAll(async () => {
        const results = await Promise.allSettled(
          scenarios.map((each) => within(SCENARIO_MS, "a scenario", run(each))),
        );
        for (const result of results) if (result.status === "rejected") throw result.reason;
      });
      await waitFor(() => timers() <= before, { label: "timers to go" });
    },
  );
  fuzzModel(name, property, { count: () => tried });
}

function tell<Values>(name: ModelName, result: fc.RunDetails<Values>): string {
  if (!result.failed) return "";
  return [
    `${name} failed after ${result.numRuns} runs and ${result.numShrinks} steps of shrinking.`,
    `Again: FUZZ_SEED=${result.seed} FUZZ_PATH=${result.counterexamplePath} npm run fuzz -- -t ${JSON.stringify(name)}`,
    `(with commands, FUZZ_REPLAY_PATH as the counterexample says)`,
    `Counterexample: ${fc.stringify(result.counterexample)}`,
    inspect(result.errorInstance, { depth: 4 }),
  ].join("\n");
}

/** An uncaught exception, which would end a program, fails the run. */
async function catchingAll(run: () => Promise<void>): Promise<void> {
  const uncaught: unknown[] = [];
  const note = (error: unknown) => void uncaught.push(error);
  process.on("uncaughtException", note);
  process.on("unhandledRejection", note);
  try {
    await run();
    // Node reports an unhandled rejection only after the microtasks of its turn.
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off("uncaughtException", note);
    process.off("unhandledRejection", note);
  }
  if (uncaught.length > 0) throw new Error("Uncaught error", { cause: uncaught[0] });
}

/** Rejects if `promise` takes too long. */
export async function within<Value>(ms: number, what: string, promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took more than ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
