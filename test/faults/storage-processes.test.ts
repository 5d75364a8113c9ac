/** Faults of processes that share a state file: killed during writes, and all of them writing one row. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { sqliteStore } from "toolport/sqlite";
import { expect } from "vitest";
import { useStateHosts } from "../support/state-host.js";
import { expectIntegrity, runKillRound } from "../support/store-kill-round.js";
import { AS_WRITTEN, faultCase } from "./fault-case.js";

const ROUNDS = AS_WRITTEN ? 200 : 8;
const UPDATES = AS_WRITTEN ? 10_000 : 400;

const hosts = useStateHosts();

faultCase(
  "D04",
  `${ROUNDS} rounds: no file damaged, nothing committed lost, no half value`,
  async (harness) => {
    const path = join(harness.folder, "state.db");
    for (let round = 0; round < ROUNDS; round++)
      expect(await runKillRound(hosts, path, round)).toBeGreaterThan(0);
    // A process that is killed while it creates the key leaves a draft; nothing else is left or set aside.
    const files = readdirSync(harness.folder).filter((name) => !/-(wal|shm)$|\.key\.[\w-]+$/.test(name));
    expect(files.sort()).toEqual(["state.db", "state.db.key"]);
  },
  { timeoutMs: AS_WRITTEN ? 1_200_000 : 60_000, neighbour: false },
);

for (const processes of [2, 8]) {
  faultCase(
    "D05",
    `SQLite, ${processes} processes, ${UPDATES} updates: none lost, none fails with BUSY`,
    async (harness) => {
      const path = join(harness.folder, "state.db");
      const adders = Array.from({ length: processes }, () =>
        hosts.start(["increment", path, "counter", String(UPDATES / processes)]),
      );
      for (const adder of adders) harness.atEnd(() => adder.kill());
      await Promise.all(adders.map((adder) => adder.result()));
      const store = harness.keep(sqliteStore(path));
      expect((await store.get("counter"))?.value).toBe(UPDATES);
      expectIntegrity(path);
    },
    { timeoutMs: AS_WRITTEN ? 1_200_000 : 60_000, neighbour: false },
  );
}
