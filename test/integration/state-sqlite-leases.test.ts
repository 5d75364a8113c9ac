/** Leases in a SQLite file: the dead lose theirs at once, whoever only stands still keeps it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "toolport";
import { sqliteStore } from "toolport/sqlite";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { createStateHosts, type StateHost } from "../support/state-host.js";

const TTL_MS = 60_000;
const hosts = createStateHosts();
afterAll(() => hosts.remove());

let folder: string;
let path: string;
let store: Store;
let holder: StateHost;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "toolport-leases-"));
  path = join(folder, "state.db");
  store = sqliteStore(path);
  await store.put("ready", true);
  holder = hosts.start(["lease", path, "refresh", String(TTL_MS)]);
  await holder.begun;
});
afterEach(async () => {
  await holder.kill();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const take = () => store.lease("refresh", { ttlMs: TTL_MS });

test.runIf(process.platform === "linux")("a holder that was killed", async () => {
  expect(await take()).toBeUndefined();
  await holder.kill();
  const lease = await take();
  expect(lease?.fence).toBeGreaterThan(Number(holder.lines()[0]));
  // Ours now: this process lives.
  expect(await take()).toBeUndefined();
  await lease?.release();
  expect(await take()).toBeDefined();
});

test.runIf(process.platform !== "win32")("a holder that stands still", async () => {
  holder.process.kill("SIGSTOP");
  expect(await take()).toBeUndefined();
  holder.process.kill("SIGCONT");
  expect(await take()).toBeUndefined();
});
