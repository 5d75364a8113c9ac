/** Many processes on one SQLite file, some of them killed in the middle: nothing committed is lost. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "toolport/sqlite";
import { afterAll, beforeEach, expect, test } from "vitest";
import type { SqliteDriver } from "../../src/state/stores/sqlite/sqlite-driver.js";
import { createStateHosts, type StateHost } from "../support/state-host.js";

const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite") as {
  DatabaseSync: SqliteDriver;
};

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

function checkIntegrity(): void {
  const database = new DatabaseSync(path);
  expect(database.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  database.close();
}

/** The last number each key was promised with. */
const promised = (host: StateHost): [key: string, n: number][] => {
  const pairs = host.lines().map((line): [string, number] => {
    const [key = "", n] = line.split(" ");
    return [key, Number(n)];
  });
  return [...new Map(pairs)];
};

test(`${ROUNDS} rounds of kill -9 during writes: nothing committed is lost, the file is never damaged`, async () => {
  let commits = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const writers = ["a", "b"].map((name) => hosts.start(["write", path, `${round}${name}`]));
    await Promise.all(
      writers.map(async (writer) => {
        await writer.begun;
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
        await writer.kill();
      }),
    );
    checkIntegrity();
    const store = sqliteStore(path, { onWarning: ({ message }) => expect.fail(message) });
    for (const writer of writers) {
      commits += writer.lines().length;
      expect(promised(writer)).not.toEqual([]);
      for (const [key, n] of promised(writer)) {
        const value = (await store.get(key))?.value as { n: number; text: string };
        // The one after it may have been committed without being told.
        expect(value.n).toBeGreaterThanOrEqual(n);
        expect(value.text).toBe(`${value.n};`.repeat((value.n * 37) % 3_000));
      }
    }
    await store.close();
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
  checkIntegrity();
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
