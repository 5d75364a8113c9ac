/**
 * A program in a graph of LangGraph, with two questions and an effect between them. Every step is a process of its own that ends by
 * kill -9, and one of them is killed before its step is over: no effect happens twice. `TOOLPORT_LONG=1` kills at every point.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { GraphKind } from "../../../test/suspend/langgraph-graphs.js";
import { eachOf, GraphProcesses, type GraphRun } from "../../../test/suspend/langgraph-processes.js";

const isLong = process.env["TOOLPORT_LONG"] === "1";
const PROGRAM = `
const codeOf = (error) => error.code;
const texts = [];
texts.push(await tools.travel.book({ to: "Oslo", run }).catch(codeOf));
texts.push(await tools.travel.note({ to: "Bonn", run }).catch(codeOf));
texts.push(await tools.travel.book({ to: "Rome", run }).catch(codeOf));
return texts;`;
const EFFECTS = ["booked Oslo a1", "noted Bonn", "booked Rome a1"];

let processes: GraphProcesses;

beforeAll(() => {
  processes = new GraphProcesses();
});

afterAll(() => processes.close());

const resultOf = ({ outputs }: GraphRun): string[] => JSON.parse(outputs[0]!).value;

/** Every effect happened once, or the outcome is unknown and it did not happen twice. */
function expectAtMostOnce(run: GraphRun): void {
  expect(new Set(run.effects).size).toBe(run.effects.length);
  // A call that was lost while the graph ran it ends the step: the model reads OUTCOME_UNKNOWN.
  if (run.outputs[0]!.includes("(OUTCOME_UNKNOWN)")) return;
  for (const [index, text] of resultOf(run).entries()) {
    if (text === EFFECTS[index]) expect(run.effects).toContain(text);
    else expect(text).toBe("OUTCOME_UNKNOWN");
  }
}

describe.each<GraphKind>(["ToolNode", "createAgent"])("%s", (kind) => {
  let whole: GraphRun;

  beforeAll(async () => {
    whole = await processes.run({ kind, order: "together", program: PROGRAM });
  }, 120_000);

  test("every step in its own process: each effect once, in order", () => {
    expect(resultOf(whole)).toEqual(EFFECTS);
    expect(whole.effects).toEqual(EFFECTS);
    expect(whole.steps).toHaveLength(3);
  });

  test("killed at points of every step", { timeout: isLong ? 1_800_000 : 240_000 }, async () => {
    const kills = whole.steps.flatMap(({ points = [] }, step) =>
      (isLong
        ? points.map((_, index) => index + 1)
        : [0.5, 0.9].map((part) => Math.ceil(part * points.length))
      ).map((killAt) => ({ step, killAt })),
    );
    await eachOf(kills, async (kill) =>
      expectAtMostOnce(await processes.run({ kind, order: "together", program: PROGRAM, kill })),
    );
  });
});
