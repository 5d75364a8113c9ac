/** All orders of up to ten events, and changes of the model that the check must notice. */
import { describe, expect, test } from "vitest";
import { explore, RULES, type Step } from "../support/list-model.js";
import {
  isDue,
  isFresh,
  type ListEvent,
  type ListState,
  MAX_REPEATED_READS,
  step,
  UNKNOWN_LIST,
} from "../support/list-state.js";

const DEPTH = 10;
/** One more read is allowed to fail. */
const AFTER_FAILURES = { depth: 7, failures: MAX_REPEATED_READS };

const stateAfter = (events: readonly ListEvent["type"][], state = UNKNOWN_LIST) =>
  events.reduce((each, type) => step(each, type === "offered" ? { type, isLater: true } : { type }), state);

test("after quiet the list is that of the server, with one read for each reason", () => {
  const { violation, states } = explore(step, { depth: DEPTH });
  expect(violation).toBeUndefined();
  // A check that reaches nothing finds nothing.
  expect(states).toBeGreaterThan(1_000);
});

/** Ignores an event. */
const without =
  (type: ListEvent["type"]): Step =>
  (state, event) =>
    event.type === type ? state : step(state, event);

/** Changes the state after an event. */
const change =
  (type: ListEvent["type"], changes: (next: ListState, before: ListState) => Partial<ListState>): Step =>
  (state, event) => {
    const next = step(state, event);
    return event.type === type && !state.closed ? { ...next, ...changes(next, state) } : next;
  };

const MUTATIONS: Readonly<Record<string, Step>> = {
  "a report is ignored": without("changeReported"),
  "a report during a read is ignored": (state, event) =>
    event.type === "changeReported" && state.reading !== "no" ? state : step(state, event),
  "a report is used for the known list only": change("changeReported", (_next, { reading }) => ({ reading })),
  "a report is used for the read under way only": change("changeReported", (_next, { changed }) => ({
    changed,
  })),
  "each report begins a read": change("changeReported", () => ({ reading: "no" })),
  "the answer forgets what changed during the read": change("readAnswered", () => ({ changed: false })),
  "the answer leaves the list changed": change("readAnswered", (_next, { changed }) => ({ changed })),
  "the answer leaves the list expired": change("readAnswered", (_next, { expired }) => ({ expired })),
  "the answer leaves the list shared": change("readAnswered", (next, { known }) => ({
    known: known === "shared" ? known : next.known,
  })),
  "the answer does not end the read": change("readAnswered", (_next, { reading }) => ({ reading })),
  "an acknowledgement is ignored": without("listeningBegun"),
  "an acknowledgement after the read is ignored": change("listeningBegun", (_next, { changed }) => ({
    changed,
  })),
  "an acknowledgement during the read is ignored": change("listeningBegun", (_next, { reading }) => ({
    reading,
  })),
  "an acknowledgement makes a shared list changed": change("listeningBegun", ({ known }) => ({
    changed: known !== "no",
  })),
  "an acknowledgement before the read makes the read changed": change("readBegun", (next) => ({
    reading: next.reported ? "changed" : "yes",
  })),
  "the end of the stream is ignored": without("listeningEnded"),
  "the end of the stream does not matter for a shared list": change("listeningEnded", () => ({
    interrupted: false,
  })),
  "the loss of the connection is ignored": without("disconnected"),
  "the loss of the connection leaves the read under way": change("disconnected", (_next, { reading }) => ({
    reading,
  })),
  "the loss of the connection leaves the stream open": change("disconnected", (_next, { reported }) => ({
    reported,
  })),
  "a missed change is ignored": without("changeMissed"),
  "the time to live is ignored": without("expired"),
  "a failed read is ignored": without("readFailed"),
  "a failed read makes the list fresh": change("readFailed", () => ({
    known: "own",
    changed: false,
    expired: false,
  })),
  "a failed read is not repeated": change("readFailed", () => ({ failures: MAX_REPEATED_READS + 1 })),
  "a failed read is repeated for ever": change("readFailed", () => ({ failures: 0 })),
  "a need does not repeat a read that failed too often": without("needed"),
  "a change does not repeat a read that failed too often": change(
    "changeReported",
    (_next, { failures }) => ({ failures }),
  ),
  "an expired list is not read after failures": change("expired", (_next, { failures }) => ({ failures })),
  "a replaced list is not read after failures": change("sharedReplaced", (_next, { failures }) => ({
    failures,
  })),
  "a fresh list is replaced by a shared one": change("offered", () => ({ known: "shared" })),
  "an older shared list is adopted": (state, event) =>
    step(state, event.type === "offered" ? { ...event, isLater: true } : event),
  "a list is adopted while it is read": (state, event) =>
    event.type === "offered" && state.reading !== "no"
      ? { ...step({ ...state, reading: "no" }, event), reading: state.reading }
      : step(state, event),
  "an adopted list counts as an own one": change("offered", (next) => ({
    known: next.known === "no" ? "no" : "own",
  })),
  "an adopted list stays changed": change("offered", (_next, { changed }) => ({ changed })),
  "an adopted list stays expired": change("offered", (_next, { expired }) => ({ expired })),
  "a replaced shared list is kept": without("sharedReplaced"),
  "an own list is read when a shared one is replaced": change("sharedReplaced", () => ({ changed: true })),
  "a closed reader reads": without("closed"),
};

test("the same after reads that have failed", () => {
  expect(explore(step, AFTER_FAILURES).violation).toBeUndefined();
});

const found = new Map<string, string | undefined>();

/** The rule that a mutation breaks. */
function brokenBy(name: string): string | undefined {
  const mutation = MUTATIONS[name]!;
  if (!found.has(name)) {
    const { violation } = explore(mutation, AFTER_FAILURES);
    found.set(name, (violation ?? explore(mutation, { depth: DEPTH }).violation)?.rule);
  }
  return found.get(name);
}

test.each(Object.keys(MUTATIONS))("the check notices that %s", (name) =>
  expect(brokenBy(name)).toBeDefined(),
);

test("each rule is broken by a mutation", () => {
  const broken = new Set(Object.keys(MUTATIONS).map(brokenBy));
  expect([...broken].sort()).toEqual(Object.values(RULES).sort());
});

describe("a list is read once", () => {
  test("however often a change is reported before the read begins", () => {
    const known = stateAfter(["listeningBegun", "readBegun", "readAnswered"]);
    expect(isFresh(known)).toBe(true);
    const reported = stateAfter(["changeReported", "changeReported", "changeReported"], known);
    expect(isDue(reported)).toBe(true);
    expect(isFresh(stateAfter(["readBegun", "readAnswered"], reported))).toBe(true);
  });

  test("more, however often a change is reported during the read", () => {
    const reported = stateAfter(["listeningBegun", "readBegun", "changeReported", "changeReported"]);
    expect(isDue(reported)).toBe(false);
    const answered = stateAfter(["readAnswered"], reported);
    expect(isDue(answered)).toBe(true);
    expect(isFresh(stateAfter(["readBegun", "readAnswered"], answered))).toBe(true);
  });

  test("if the server acknowledges before the read begins", () =>
    expect(isFresh(stateAfter(["listeningBegun", "readBegun", "readAnswered"]))).toBe(true));

  test("more if it acknowledges during the read, or after it", () => {
    expect(isDue(stateAfter(["readBegun", "listeningBegun", "readAnswered"]))).toBe(true);
    expect(isDue(stateAfter(["readBegun", "readAnswered", "listeningBegun"]))).toBe(true);
  });
});
