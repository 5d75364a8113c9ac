/**
 * A graph of LangGraph with two questions and a sibling with an effect. Every step is a process of its own that ends by kill -9, and
 * one of them is killed before its step is over: no effect happens twice. `TOOLPORT_LONG=1` kills at every point.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { GraphKind } from "./langgraph-graphs.js";
import { eachOf, GraphProcesses, type GraphRun, type Kill, type Order } from "./langgraph-processes.js";

const isLong = process.env["TOOLPORT_LONG"] === "1";
/** All effects: the first and the last call ask for a seat first. */
const EFFECTS = ["booked Oslo a1", "noted Bonn", "booked Rome c1"];

let processes: GraphProcesses;

beforeAll(() => {
  processes = new GraphProcesses();
});

afterAll(() => processes.close());

const runGraph = (kind: GraphKind, order: Order, kill?: Kill) => processes.run({ kind, order, kill });

/** Every call has its effect once, or its outcome is unknown and its effect did not happen twice. */
function expectAtMostOnce({ effects, outputs }: GraphRun): void {
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

describe.each(CASES)("%s, questions answered: %s", (kind, order) => {
  let whole: GraphRun;

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
