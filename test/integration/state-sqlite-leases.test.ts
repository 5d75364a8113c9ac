/** Leases in a SQLite file: a killed process loses its lease at once, a stopped one keeps it. */
import type { Store } from "toolport";
import { sqliteStore } from "toolport/sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { useStateFolder } from "../support/state-folder.js";
import type { StateHost } from "../support/state-host.js";

const TTL_MS = 60_000;
const state = useStateFolder("state.db");

let store: Store;
let holder: StateHost;
beforeEach(async () => {
  store = sqliteStore(state.path);
  await store.put("ready", true);
  holder = state.hosts.start(["lease", state.path, "refresh", String(TTL_MS)]);
  await holder.begun;
});
afterEach(async () => {
  await holder.kill();
  await store.close();
});

const take = () => store.lease("refresh", { ttlMs: TTL_MS });

test.runIf(process.platform === "linux")("a killed process loses its lease", async () => {
  expect(await take()).toBeUndefined();
  await holder.kill();
  const lease = await take();
  expect(lease?.fence).toBeGreaterThan(Number(holder.lines()[0]));
  // This process holds it now.
  expect(await take()).toBeUndefined();
  await lease?.release();
  expect(await take()).toBeDefined();
});

test.runIf(process.platform !== "win32")("a stopped process keeps its lease", async () => {
  holder.process.kill("SIGSTOP");
  expect(await take()).toBeUndefined();
  holder.process.kill("SIGCONT");
  expect(await take()).toBeUndefined();
});
