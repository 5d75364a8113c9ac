/** Many processes on one store that is a file, some of them killed during a write: every committed record survives. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { StateFolder } from "../support/state-folder.js";
import { type KilledStore, runKillRound } from "../support/store-kill-round.js";

const PROCESSES = 8;

export interface DiskStoreProcesses extends KilledStore {
  readonly fileName: string;
  /** How often processes are killed. */
  readonly rounds: number;
  /** Updates of one record by each of eight processes. */
  readonly updatesEach: number;
  /** Files that a killed process may leave behind. */
  readonly leftovers: RegExp;
}

/** `TOOLPORT_LONG=1` runs more rounds and updates. */
export const isLong = process.env["TOOLPORT_LONG"] === "1";

export function testProcessesOnDisk(state: StateFolder, store: DiskStoreProcesses): void {
  const { hosts } = state;
  const { fileName, rounds, updatesEach } = store;

  test(`loses nothing committed in ${rounds} rounds of kill -9 during writes of ${store.writers} processes`, async () => {
    let commits = 0;
    for (let round = 0; round < rounds; round++)
      commits += await runKillRound(hosts, state.path, round, store);
    if (isLong) console.log(`${rounds} rounds, ${commits} commits reported, none lost`);
    // The next write cleans up after killed processes, except for drafts of the last seconds.
    const opened = store.open(state.path, { onWarning: ({ message }) => expect.fail(message) });
    await opened.put("last", 1);
    await opened.close();
    const files = readdirSync(state.folder).filter((name) => !store.leftovers.test(name));
    expect(files.sort()).toEqual([fileName, `${fileName}.key`]);
  }, 600_000);

  test(`loses none of ${PROCESSES * updatesEach} updates by ${PROCESSES} processes, and none fails with BUSY`, async () => {
    const adders = Array.from({ length: PROCESSES }, () =>
      hosts.start(["increment", state.path, "counter", String(updatesEach)]),
    );
    const results = await Promise.all(adders.map((host) => host.result<{ attempts: number }>()));
    const opened = store.open(state.path, { onWarning: ({ message }) => expect.fail(message) });
    expect((await opened.get("counter"))?.value).toBe(PROCESSES * updatesEach);
    await opened.close();
    store.expectIntegrity(state.path);
    expect(readdirSync(state.folder).filter((name) => !store.leftovers.test(name))).toEqual([fileName]);
    const attempts = results.reduce((sum, result) => sum + result.attempts, 0);
    if (isLong) console.log(`${PROCESSES * updatesEach} updates with ${attempts} attempts`);
  }, 600_000);

  test("processes that start at once on a new path agree on the file and its key", async () => {
    const nested = join(state.folder, "deep", "er", fileName);
    const starters = Array.from({ length: PROCESSES }, () => hosts.start(["start", nested]));
    const results = await Promise.all(
      starters.map((host) => host.result<{ values: string[]; warnings: string[] }>()),
    );
    for (const { values, warnings } of results) {
      expect(new Set(values)).toEqual(new Set(["secret"]));
      expect(warnings).toEqual([]);
    }
    expect(readdirSync(join(nested, "..")).sort()).toEqual([fileName, `${fileName}.key`]);
  }, 60_000);

  test("a watch does not keep the process alive", async () => {
    expect(await hosts.start(["watch", state.path]).result()).toEqual({});
    expect(readdirSync(state.folder)).toEqual([fileName]);
  }, 60_000);
}
