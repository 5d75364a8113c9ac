/**
 * Random schedules over a gateway: users, clients of both eras, servers that crash, reloads of the policy, approvals that are
 * answered once, several times or never, tasks, subscriptions and lost connections. No call has its effect twice, no user gets anything
 * of another one, no denied tool runs, every request ends within its limit, and nothing is left behind.
 *
 * `TOOLPORT_LONG=1` runs 5,000 schedules. `SCHEDULE_SEED` repeats a run; with `SCHEDULE_PATH` too (both are in the message of a
 * failure) it plays only the schedule that failed.
 */
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { ANSWERS } from "./schedules/clients.js";
import { compilePolicies, DOCUMENTS, MARKS } from "./schedules/ledger.js";
import { play, type Schedule, type Step } from "./schedules/play.js";
import { ACTS, SERVERS } from "./schedules/servers.js";
import { warmUp } from "./warm-up.js";

const isLong = process.env["TOOLPORT_LONG"] === "1";
const seed = Number(process.env["SCHEDULE_SEED"] ?? (isLong ? Date.now() % 2 ** 31 : 20_261_118));
const path = process.env["SCHEDULE_PATH"];
const timeout = isLong ? 3_600_000 : 300_000;

const client = fc.nat(5);
const server = fc.constantFrom(...SERVERS);
const sdkServer = fc.constantFrom("old" as const, "new" as const);
const together = fc.boolean();
const step = <Kind extends Step["kind"]>(weight: number, kind: Kind, fields: object) => ({
  weight,
  arbitrary: fc.record({ kind: fc.constant(kind), together, ...fields }) as unknown as fc.Arbitrary<Step>,
});

const steps = fc.array(
  fc.oneof(
    step(10, "call", {
      client,
      server: sdkServer,
      tool: fc.constantFrom("act", "guarded", "guarded", "ask"),
      act: fc.constantFrom(...ACTS),
      answer: fc.constantFrom("accept", "accept", ...ANSWERS),
      abortAfter: fc.option(fc.nat(12), { freq: 5 }),
      isCut: fc.constantFrom(false, false, true),
      isForged: fc.nat(9).map((number) => number === 9),
    }),
    step(5, "replay", {
      round: fc.nat(9),
      times: fc.integer({ min: 1, max: 3 }),
      user: fc.option(fc.nat(MARKS.length - 1), { freq: 3 }),
    }),
    step(9, "task", {
      client,
      does: fc.constantFrom("create", "create", "create", "list", "get", "result", "cancel"),
      task: fc.nat(5),
      ofAll: fc.boolean(),
      isForeign: fc.nat(9).map((number) => number === 9),
      act: fc.constantFrom("answer", "hang"),
    }),
    step(2, "read", { client, server }),
    step(3, "subscribe", { client, server }),
    step(1, "list", { client, server }),
    step(1, "plan", { client, server: sdkServer }),
    step(2, "cut", { client }),
    step(1, "leave", { client, endsSession: fc.boolean() }),
    step(3, "report", { server }),
    step(2, "crash", { server, downMs: fc.constantFrom(0, 0, 1_000, 90_000) }),
    step(3, "reload", { policy: fc.nat(DOCUMENTS.length - 1) }),
    step(2, "pass", { ms: fc.constantFrom(10, 300, 3_000, 16_000, 70_000) }),
  ),
  { minLength: 4, maxLength: 20, size: "max" },
);

const schedules: fc.Arbitrary<Schedule> = fc.record({
  replicas: fc.integer({ min: 1, max: 2 }),
  clients: fc.array(
    fc.record({ user: fc.nat(MARKS.length - 1), era: fc.constantFrom("legacy" as const, "modern" as const) }),
    { minLength: 2, maxLength: 4 },
  ),
  steps,
});

/** Without a fault, and with everything that loads code late. */
const PLAIN: Schedule = {
  replicas: 2,
  clients: [
    { user: 0, era: "legacy" },
    { user: 0, era: "modern" },
  ],
  steps: [0, 1].flatMap((number): Step[] => {
    const common = { together: false, client: number };
    const call = {
      ...common,
      kind: "call",
      act: "talk",
      answer: "accept",
      abortAfter: null,
      isCut: false,
      isForged: false,
    } as const;
    const task = {
      ...common,
      kind: "task",
      isForeign: false,
      task: 0,
      ofAll: false,
      act: "answer",
    } as const;
    return [
      ...(["old", "new"] as const).flatMap((name): Step[] => [
        { ...call, server: name, tool: "act" },
        { ...call, server: name, tool: "guarded" },
        { ...call, server: name, tool: "ask" },
        { ...common, kind: "subscribe", server: name },
        { ...common, kind: "read", server: name },
        { ...common, kind: "plan", server: name },
      ]),
      { ...common, kind: "list", server: "old" },
      { ...task, does: "create" },
      { ...task, does: "get" },
      { ...task, does: "result" },
    ];
  }),
};

/** Code that is loaded while the clock runs ahead comes too late, so it is loaded before. */
async function loadAll(): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const seen = new Map<string, number>();
    const failed = await play(PLAIN, seen).then(
      () => [...seen.keys()].filter((what) => what.endsWith("failed")),
      (error: unknown) => [error],
    );
    if (failed.length === 0) return;
    if (attempt === 50) throw new AggregateError(failed, `The plain schedule fails: ${failed}`);
    await new Promise((resolve) => setTimeout(resolve, 20 * attempt));
  }
}

/** What the schedules together must have shown. */
const SEEN = [
  ...["effects", "approvals", "replays", "questions", "answered questions", "log messages", "progress"],
  ...[
    "changed lists",
    "updates",
    "listed tasks",
    "requests about tasks",
    "cancelled tasks",
    "resumed streams",
  ],
];

beforeAll(async () => {
  await warmUp();
  await compilePolicies();
  await loadAll();
}, 120_000);

test("no schedule has an effect twice, crosses users, runs a denied tool, or leaves anything behind", {
  timeout,
}, async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(schedules, (schedule) => play(schedule, seen)),
    { seed, numRuns: isLong ? 5_000 : 100, ...(path !== undefined && { path, endOnFailure: true }) },
  );
  // A property holds easily where nothing happens.
  if (path === undefined) for (const what of SEEN) expect(seen.get(what) ?? 0, what).toBeGreaterThan(0);
});
