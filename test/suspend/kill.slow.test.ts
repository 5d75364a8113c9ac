/**
 * `kill -9` at random moments of suspending and resuming: no effect twice, and every call ends in a result, a waiting token or
 * `OUTCOME_UNKNOWN`.
 *
 * `TOOLPORT_LONG=1` kills 1,000 processes on SQLite.
 */
import { describe, expect, test } from "vitest";
import { startFaultServer } from "./fault-processes.js";
import { type FaultStoreKind, postgres, redis, sqlite } from "./fault-stores.js";
import { runKills } from "./kill-round.js";

const isLong = process.env["TOOLPORT_LONG"] === "1";
const LONG_MS = 2 * 3_600_000;
/** Calls of the first processes wait until the last kill. */
const DAY_SECONDS = 86_400;

const KINDS: readonly [FaultStoreKind, number][] = [
  [sqlite, isLong ? 1_000 : 24],
  [redis, isLong ? 100 : 8],
  [postgres, isLong ? 100 : 8],
];

describe.each(KINDS.map(([kind, kills]) => ({ kind, kills, name: kind.name })))(
  "$name",
  ({ kind, kills }) => {
    test.skipIf(kind.isMissing)(
      `${kills} kills: no effect twice, every call resolved`,
      async () => {
        await using server = await startFaultServer({ maxDelayMs: 10, stateSeconds: DAY_SECONDS });
        await using store = await kind.start();
        const figures = await runKills({ server, store, kills, together: isLong ? 8 : 4, lifeMs: 500 });
        process.stdout.write(`${kind.name}: ${JSON.stringify(figures)}\n`);
        expect(figures.calls).toBeGreaterThan(kills / 2);
        expect(figures.finished + figures.saved).toBeGreaterThan(0);
      },
      isLong ? LONG_MS : 120_000,
    );
  },
);
