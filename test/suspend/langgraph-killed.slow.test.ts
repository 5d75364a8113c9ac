/**
 * A graph of LangGraph with two questions and a sibling with an effect. Every step is a process of its own that ends by kill -9, and
 * one of them is killed before its step is over: no effect happens twice. `TOOLPORT_LONG=1` kills at every point.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Host, hostPath, startHost } from "../support/start-host.js";
import type { GraphKind } from "./langgraph-graphs.js";

const isLong = process.env["TOOLPORT_LONG"] === "1";
/** All effects: the first and the last call ask for a seat first. */
const EFFECTS = ["booked Oslo a1", "noted Bonn", "booked Rome c1"];

type Order = "together" | "first" | "last";

interface Step {
  readonly points?: readonly string[];
  readonly outputs?: readonly string[];
  readonly killedAt?: string;
}

interface Kill {
  /** Number of the process, from 0. */
  readonly step: number;
  readonly killAt?: number;
  readonly serverKillsAt?: number;
}

let folder = "";
let server: Host;
let runs = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "toolport-langgraph-"));
  server = await startHost("langgraph-server.mjs", [folder]);
});

afterAll(async () => {
  server.kill("SIGKILL");
  await server.exited;
  rmSync(folder, { recursive: true });
});

/** Runs one process and returns its last line; `{}` if it was killed without one. */
async function runStep(given: Record<string, unknown>): Promise<Step> {
  const { url } = server.report as { url: string };
  const host = spawn(process.execPath, [
    hostPath("langgraph-host.mjs"),
    JSON.stringify({ ...given, url, folder }),
  ]);
  let output = "";
  let errors = "";
  host.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  host.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const signal = await new Promise((resolve) => host.once("close", (_code, by) => resolve(by)));
  if (signal !== "SIGKILL") throw new Error(`The process ended by itself: ${errors}`);
  return JSON.parse(output.trim() || "{}") as Step;
}

/** Runs processes until the graph is over. */
async function runGraph(kind: GraphKind, order: Order, kill?: Kill) {
  runs += 1;
  const run = `run-${runs}`;
  const steps: Step[] = [];
  while (steps.at(-1)?.outputs === undefined) {
    if (steps.length === 10) throw new Error(`The graph does not end: ${JSON.stringify(steps)}`);
    const { step, ...at } = kill ?? { step: -1 };
    steps.push(await runStep({ kind, order, run, ...(step === steps.length && at) }));
  }
  const file = join(folder, `${run}.effects`);
  const effects = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  return { steps, effects, outputs: steps.at(-1)!.outputs! };
}

/** Every call has its effect once, or its outcome is unknown and its effect did not happen twice. */
function expectAtMostOnce({ effects, outputs }: { effects: string[]; outputs: readonly string[] }): void {
  expect(new Set(effects).size).toBe(effects.length);
  expect(outputs).toHaveLength(EFFECTS.length);
  for (const [index, output] of outputs.entries()) {
    if (output === EFFECTS[index]) expect(effects).toContain(output);
    else expect(output).toContain("(OUTCOME_UNKNOWN)");
  }
}

const CASES: readonly (readonly [GraphKind, Order])[] = isLong
  ? (["ToolNode", "createAgent"] as const).flatMap((kind) =>
      (["together", "first", "last"] as const).map((order) => [kind, order] as const),
    )
  : [
      ["ToolNode", "last"],
      ["createAgent", "together"],
    ];

/** Some of the numbers from 1 to `count`. */
const chosen = (count: number, some: readonly number[]): number[] =>
  isLong
    ? Array.from({ length: count }, (_, index) => index + 1)
    : some.map((part) => Math.ceil(part * count));

/** Three at a time: a process mostly waits until the lease of the killed one is over. */
async function eachOf<Item>(items: readonly Item[], run: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await run(item);
  };
  await Promise.all([worker(), worker(), worker()]);
}

describe.each(CASES)("%s, questions answered: %s", (kind, order) => {
  let whole: Awaited<ReturnType<typeof runGraph>>;

  beforeAll(async () => {
    whole = await runGraph(kind, order);
  }, 120_000);

  test("every step in its own process: each effect once", () => {
    expect(whole.outputs).toEqual(EFFECTS);
    expect(whole.effects.toSorted()).toEqual(EFFECTS.toSorted());
    expect(whole.steps).toHaveLength(order === "together" ? 2 : 3);
  });

  test("killed at points of every step", { timeout: isLong ? 1_800_000 : 240_000 }, async () => {
    const kills = whole.steps.flatMap(({ points = [] }, step) =>
      chosen(points.length, step === 0 ? [0.55, 0.75, 1] : [0.3, 0.8]).map((killAt) => ({ step, killAt })),
    );
    await eachOf(kills, async (kill) => {
      const killed = await runGraph(kind, order, kill);
      expectAtMostOnce(killed);
      // Between two steps of the graph no call is being sent. With createAgent, each call is a step.
      const { killedAt = "" } = killed.steps[kill.step]!;
      if (kind === "ToolNode" && /checkpoint|writes/.test(killedAt)) expect(killed.outputs).toEqual(EFFECTS);
    });
  });

  test(
    "killed by the server before and after it asks and acts",
    { timeout: isLong ? 900_000 : 120_000 },
    () =>
      eachOf(chosen(8, [0.5, 0.75]), async (serverKillsAt) => {
        // The first process causes four points: two questions, and before and after the sibling's effect.
        const step = serverKillsAt <= 4 ? 0 : 1;
        expectAtMostOnce(await runGraph(kind, order, { step, serverKillsAt }));
      }),
  );
});
