/** Many processes on one SQLite file, some of them killed in the middle: nothing committed is lost. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "toolport/sqlite";
import { afterAll, beforeEach, expect, test } from "vitest";
import { expectIntegrity, runKillRound } from "../support/sqlite-kill-round.js";
import { createStateHosts } from "../support/state-host.js";

/** `TOOLPORT_LONG=1` runs the numbers of the promise; the suite runs fewer. */
const isLong = process.env["TOOLPORT_LONG"] === "1";
const ROUNDS = isLong ? 200 : 12;
const PROCESSES = 8;
const UPDATES_EACH = isLong ? 1_250 : 150;

const hosts = createStateHosts();
const folders: string[] = [];
let path = "";
beforeEach(() => {
  folders.push(mkdtempSync(join(tmpdir(), "toolport-processes-")));
  path = join(folders.at(-1)!, "state.db");
});
afterAll(() => {
  hosts.remove();
  for (const folder of folders) rmSync(folder, { recursive: true });
});

test(`${ROUNDS} rounds of kill -9 during writes: nothing committed is lost, the file is never damaged`, async () => {
  let commits = 0;
  for (let round = 0; round < ROUNDS; round++) {
    commits += await runKillRound(hosts, path, round);
  }
  if (isLong) console.log(`${ROUNDS} rounds, ${commits} commits told, none lost`);
  // Whoever is killed while it makes the key leaves its draft; nothing else is left, and nothing was set aside.
  const files = readdirSync(join(path, "..")).filter((name) => !/-(wal|shm)$|\.key\.[\w-]+$/.test(name));
  expect(files.sort()).toEqual(["state.db", "state.db.key"]);
}, 600_000);

test(`${PROCESSES} processes add one ${PROCESSES * UPDATES_EACH} times in all: none is lost, nobody sees BUSY`, async () => {
  const startedAt = performance.now();
  const adders = Array.from({ length: PROCESSES }, () =>
    hosts.start(["increment", path, "counter", String(UPDATES_EACH)]),
  );
  const results = await Promise.all(adders.map((host) => host.result<{ attempts: number }>()));
  const ms = Math.round(performance.now() - startedAt);
  const store = sqliteStore(path);
  expect((await store.get("counter"))?.value).toBe(PROCESSES * UPDATES_EACH);
  await store.close();
  expectIntegrity(path);
  const attempts = results.reduce((sum, result) => sum + result.attempts, 0);
  if (isLong) console.log(`${PROCESSES * UPDATES_EACH} updates in ${ms} ms with ${attempts} attempts`);
}, 600_000);

test("processes that start at once on a new path agree on the file and its key", async () => {
  const nested = join(path, "..", "deep", "er", "state.db");
  const starters = Array.from({ length: PROCESSES }, () => hosts.start(["start", nested]));
  const results = await Promise.all(
    starters.map((host) => host.result<{ values: string[]; warnings: string[] }>()),
  );
  for (const { values, warnings } of results) {
    expect(new Set(values)).toEqual(new Set(["secret"]));
    expect(warnings).toEqual([]);
  }
  expect(readdirSync(join(nested, "..")).sort()).toEqual(["state.db", "state.db.key"]);
}, 60_000);
