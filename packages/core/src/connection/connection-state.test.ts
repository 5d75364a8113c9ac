/** The transitions between states: all targets exist, and no state is a dead end. */

import { ConnectionError } from "@toolport/base";
import { expect, test } from "vitest";
import { type ConnectionStatus, errorOf, TRANSITIONS } from "./connection-state.js";

const STATES = Object.keys(TRANSITIONS) as ConnectionStatus[];

/** All states that can be reached from one, including itself. */
function reachable(from: ConnectionStatus): Set<ConnectionStatus> {
  const seen = new Set([from]);
  for (const state of seen) for (const next of TRANSITIONS[state]) seen.add(next);
  return seen;
}

test("every target is a known state, named once, and never the state itself", () => {
  for (const state of STATES) {
    const targets = TRANSITIONS[state];
    expect(STATES).toEqual(expect.arrayContaining([...targets]));
    expect(new Set(targets).size).toBe(targets.length);
    expect(targets).not.toContain(state);
  }
});

test("every state can be reached from the first one", () => {
  expect([...reachable("idle")].sort()).toEqual([...STATES].sort());
});

test.each(STATES)("from %s a server can become ready again and can be disconnected", (state) => {
  const ahead = reachable(state);
  expect(ahead).toContain("ready");
  if (state !== "closed") expect(TRANSITIONS[state]).toContain("closed");
});

test("ready is reached only after handshake and lists, or again after a silence", () => {
  const before = (target: ConnectionStatus) => STATES.filter((state) => TRANSITIONS[state].includes(target));
  expect(before("ready")).toEqual(["discovering", "reconnecting"]);
  expect(before("discovering")).toEqual(["connected"]);
  expect(before("connected")).toEqual(["connecting"]);
});

test("ten thousand random transitions never reach a dead end", () => {
  // A fixed seed: the same transitions every time.
  let seed = 42;
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed / 2 ** 31;
  };
  let state: ConnectionStatus = "idle";
  const visits = new Map<ConnectionStatus, number>();
  for (let step = 0; step < 10_000; step += 1) {
    const ways: readonly ConnectionStatus[] = TRANSITIONS[state];
    expect(ways.length).toBeGreaterThan(0);
    state = ways[Math.floor(random() * ways.length)]!;
    visits.set(state, (visits.get(state) ?? 0) + 1);
  }
  expect(STATES.filter((name) => name !== "idle" && !visits.has(name))).toEqual([]);
});

test("errorOf returns the last failure of the states that have one", () => {
  const error = new ConnectionError({ code: "CLOSED", what: "It is gone" });
  expect(errorOf({ status: "failed", error })).toBe(error);
  expect(errorOf({ status: "reconnecting", attempt: 1, retryAt: 0, error })).toBe(error);
  expect(errorOf({ status: "idle" })).toBeUndefined();
});
