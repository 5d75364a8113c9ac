/**
 * Random schedules of what can happen to lists, against real servers of both eras, in memory and over HTTP: changes, lost streams,
 * late acknowledgements, late lists, failed reads, new connections, users with public lists. After quiet each list is that of the
 * server, and it was not read more often than needed.
 *
 * `TOOLPORT_LONG=1` runs 10,000 schedules. `SCHEDULE_SEED` repeats a run; with `SCHEDULE_PATH` too (both are in the message of a
 * failure) it plays only the schedule that failed.
 */
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { LISTS, type ListName } from "../support/list-server.js";
import { type ListSchedule, type ListStep, loadForLists, playLists } from "../support/play-lists.js";

const isLong = process.env["TOOLPORT_LONG"] === "1";
const seed = Number(process.env["SCHEDULE_SEED"] ?? (isLong ? Date.now() % 2 ** 31 : 20_261_119));
const path = process.env["SCHEDULE_PATH"];
const timeout = isLong ? 3_600_000 : 300_000;

const list = fc.constantFrom(...LISTS);
const user = fc.nat(2);
const ms = fc.constantFrom(0, 0, 5, 60, 400, 3_000);
const delay = fc.record({ before: ms, after: ms });
const step = <Kind extends ListStep["kind"]>(weight: number, kind: Kind, fields: object = {}) => ({
  weight,
  arbitrary: fc.record({ kind: fc.constant(kind), ...fields }) as unknown as fc.Arbitrary<ListStep>,
});

/** @param failing lists whose reads may fail */
const laterSteps = (failing: readonly ListName[]) =>
  fc.array(
    fc.oneof(
      step(8, "change", { list, times: fc.integer({ min: 1, max: 4 }) }),
      step(5, "list", { user }),
      step(2, "refresh", { user }),
      step(2, "reconnect", { user }),
      step(3, "drop"),
      step(6, "early change", {
        after: fc.constantFrom("reconnect", "reconnect", "drop"),
        ms: fc.constantFrom(0, 1, 20, 300),
        list,
      }),
      step(4, "slow lists", { delay }),
      step(4, "slow streams", { delay }),
      step(2, "fail", { list: fc.constantFrom(...failing), times: fc.integer({ min: 1, max: 3 }) }),
      step(10, "pass", { ms: fc.constantFrom(1, 20, 70, 300, 1_500, 10_000) }),
    ),
    { minLength: 3, maxLength: 16, size: "max" },
  );

const early = fc.record({ lists: delay, streams: delay, ms: fc.constantFrom(0, 1, 20), list });

/** A change that no later event makes known comes last. */
const stepsWith = (failing: readonly ListName[]) =>
  fc
    .tuple(laterSteps(failing), early)
    .map(([later, { lists, streams, ms: at, list: last }]): ListStep[] => [
      ...later,
      { kind: "slow lists", delay: lists },
      { kind: "slow streams", delay: streams },
      { kind: "early change", after: "reconnect", ms: at, list: last },
    ]);

/** A list that the server makes before it accepts to report changes, and sends after its acknowledgement. */
const EARLY: ListStep[] = [
  { kind: "pass", ms: 300 },
  { kind: "slow lists", delay: { before: 0, after: 3_000 } },
  { kind: "slow streams", delay: { before: 60, after: 0 } },
  { kind: "early change", after: "reconnect", ms: 20, list: "tools" },
];

const run =
  (fields: Omit<ListSchedule, "steps">, failing: readonly ListName[] = ["tools"]) =>
  async () => {
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(stepsWith(failing), (given) =>
        playLists({ ...fields, steps: [{ kind: "list", user: 0 }, ...given] }, seen),
      ),
      {
        seed,
        examples: [[EARLY]],
        numRuns: isLong ? 2_000 : 20,
        ...(path !== undefined && { path, endOnFailure: true }),
      },
    );
    // A property holds easily where nothing happens.
    if (path === undefined)
      for (const what of ["read", "connect", "change"]) expect(seen.get(what) ?? 0, what).toBeGreaterThan(0);
  };

beforeAll(loadForLists, 20_000);

const QUIET = "after quiet the lists are those of the server";

test(`${QUIET} (legacy, in memory)`, { timeout }, run({ era: "legacy", way: "memory", users: 0 }));

test.each([
  ["modern", "memory"],
  ["modern", "http"],
  ["legacy", "http"],
] as const)(`${QUIET} (%s, %s)`, { timeout }, (era, way) => run({ era, way, users: 0 })());

test(
  `${QUIET} (public lists)`,
  { timeout },
  run({ era: "modern", way: "http", users: 2, publicMs: 600_000 }),
);

test(
  `${QUIET} (reads of all lists fail)`,
  { timeout },
  run({ era: "legacy", way: "memory", users: 0 }, LISTS),
);
