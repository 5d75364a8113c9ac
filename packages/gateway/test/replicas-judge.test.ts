/** The run of replicas under fire notices every broken promise. */
import { expect, test } from "vitest";
import { type JudgedCall, judge } from "../../../scripts/replicas/judge.mjs";

const fine: JudgedCall = { startedAt: 0, lastSentAt: 0, endedAt: 100, touched: new Set([{}]) };
const failed = (killedAt: number | undefined, endedAt: number, lastSentAt = 0): JudgedCall => ({
  startedAt: 0,
  lastSentAt,
  endedAt,
  error: new Error("cut"),
  touched: new Set([{}, { killedAt }]),
});

test("calls that ran once and failures of killed replicas are in order", () => {
  const { figures, problems } = judge({
    calls: new Map([
      ["a", fine],
      ["b", fine],
      ["cut", failed(50, 60)],
      ["answered late", failed(50, 10_000, 5_000)],
    ]),
    upstream: { calls: { a: ["run"], b: ["ask", "run"], cut: ["run"] }, crossings: [] },
    wrong: [],
  });
  expect(Object.values(problems).flat()).toEqual([]);
  expect(figures).toMatchObject({ calls: 4, asked: 1, ran: 3, failures: 2, latestFailureMs: 5_000 });
});

test("crossings, repeated calls, other failures, late ones and results without a run are problems", () => {
  const { problems } = judge({
    calls: new Map([
      ["twice", fine],
      ["asked twice", fine],
      ["unexplained", failed(undefined, 60)],
      ["killed later", failed(70, 60)],
      ["late", failed(50, 6_051)],
      ["invented", fine],
    ]),
    upstream: {
      calls: { twice: ["run", "run"], "asked twice": ["ask", "ask", "run"] },
      crossings: ["seen by a server"],
    },
    wrong: ["seen by a client"],
  });
  expect(problems).toEqual({
    crossings: ["seen by a server", "seen by a client"],
    twice: ["twice (run, run)", "asked twice (ask, ask, run)"],
    unexplained: ["unexplained: cut", "killed later: cut"],
    late: ["late: cut (6001 ms)"],
    "not run": ["invented"],
  });
});
