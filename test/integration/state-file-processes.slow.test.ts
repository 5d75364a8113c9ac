/** Many processes on one JSON state file, some of them killed or stopped in the middle: nothing committed is lost. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { fileStore } from "../../src/state/stores/file/file-store.js";
import { type KilledStore, runKillRound } from "../support/sqlite-kill-round.js";
import { createStateHosts } from "../support/state-host.js";

/** `TOOLPORT_LONG=1` runs more. */
const isLong = process.env["TOOLPORT_LONG"] === "1";
const ROUNDS = isLong ? 200 : 4;
const PROCESSES = 8;
const UPDATES_EACH = isLong ? 500 : 15;

const hosts = createStateHosts();
const folders: string[] = [];
let folder = "";
let path = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolport-file-processes-"));
  folders.push(folder);
  path = join(folder, "state.json");
});
afterAll(() => {
  hosts.remove();
  for (const each of folders) rmSync(each, { recursive: true });
});

const killed: KilledStore = {
  open: fileStore,
  expectIntegrity: (file) => expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ toolport: 1 }),
  writers: 4,
};

test(`${ROUNDS} rounds of kill -9 during writes of ${killed.writers} processes: nothing committed is lost, no lock stays`, async () => {
  let commits = 0;
  for (let round = 0; round < ROUNDS; round++) commits += await runKillRound(hosts, path, round, killed);
  if (isLong) console.log(`${ROUNDS} rounds, ${commits} commits reported, none lost`);
  // The next write removes what the last killed processes left, except for drafts of the last seconds.
  const store = fileStore(path);
  await store.put("last", 1);
  await store.close();
  const files = readdirSync(folder).filter((name) => !/\.(lock|key)\.[\w-]+$/.test(name));
  expect(files.sort()).toEqual(["state.json", "state.json.key"]);
}, 600_000);

test(`${PROCESSES} processes add one ${PROCESSES * UPDATES_EACH} times in all: none is lost, none fails with BUSY`, async () => {
  const adders = Array.from({ length: PROCESSES }, () =>
    hosts.start(["increment", path, "counter", String(UPDATES_EACH)]),
  );
  await Promise.all(adders.map((host) => host.result()));
  const store = fileStore(path);
  expect((await store.get("counter"))?.value).toBe(PROCESSES * UPDATES_EACH);
  await store.close();
  expect(readdirSync(folder)).toEqual(["state.json"]);
}, 600_000);

test("processes that start at once on a new path agree on the file and its key", async () => {
  const nested = join(folder, "deep", "er", "state.json");
  const starters = Array.from({ length: PROCESSES }, () => hosts.start(["start", nested]));
  const results = await Promise.all(
    starters.map((host) => host.result<{ values: string[]; warnings: string[] }>()),
  );
  for (const { values, warnings } of results) {
    expect(new Set(values)).toEqual(new Set(["secret"]));
    expect(warnings).toEqual([]);
  }
  expect(readdirSync(join(nested, "..")).sort()).toEqual(["state.json", "state.json.key"]);
}, 60_000);

test.runIf(process.platform === "linux")(
  "a lease of a killed process is free at once",
  async () => {
    const host = hosts.start(["lease", path, "work", "600000"]);
    await host.begun;
    const store = fileStore(path);
    expect(await store.lease("work", { ttlMs: 1_000 })).toBeUndefined();
    await host.kill();
    const lease = await store.lease("work", { ttlMs: 1_000 });
    expect(lease!.fence).toBeGreaterThan(Number(host.lines()[0]));
    await store.close();
  },
  60_000,
);

test("a watch does not keep the process alive", async () => {
  expect(await hosts.start(["watch", path]).result()).toEqual({});
}, 60_000);
