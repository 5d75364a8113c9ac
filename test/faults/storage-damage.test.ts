/** Faults of a state file: damaged, of a later version, readable by others, a link, of another user, sealed with another key. */
import {
  chmodSync,
  chownSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { createStoreKey, type StoreWarning, sqliteStore } from "toolport/sqlite";
import { beforeAll, expect } from "vitest";
import { LEAN_SERVER } from "../fixtures/stdio-peer.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";
import { ONE_SECOND, openLoggedIn, openRig, warmUpStorage } from "./storage-rig.js";

const OTHER_USER = 65_534;
const notRoot = process.getuid?.() !== 0 && "only root can give a file away";
const echo = { command: process.execPath, args: [LEAN_SERVER] };

beforeAll(warmUpStorage);

const pathOf = (harness: FaultHarness): string => join(harness.folder, "state.db");

function openStore(harness: FaultHarness, options: { path?: string; key?: string | string[] } = {}) {
  const warnings: StoreWarning[] = [];
  const store = sqliteStore(options.path ?? pathOf(harness), {
    key: options.key,
    onWarning: (warning) => warnings.push(warning),
  });
  return { store, warnings, codes: () => warnings.map(({ code }) => code) };
}

/** A file with some records in it, and one secret. Returns its bytes. */
async function writeSome(harness: FaultHarness, key?: string): Promise<Buffer> {
  const { store } = openStore(harness, { ...(key && { key }) });
  for (let index = 0; index < 100; index++) await store.put(`key/${index}`, "x".repeat(500));
  await store.put("token", "the old token", { secret: true });
  await store.close();
  return readFileSync(pathOf(harness));
}

function change(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
}

// D01

/** A port on the file works within a second, and the next port reads what it saved. */
async function expectToWork(harness: FaultHarness) {
  const { store, warnings, codes } = openStore(harness);
  harness.keep(store);
  const toolport = harness.open({}, { store });
  expect(await harness.within(ONE_SECOND, toolport.add("it", echo))).toMatchObject({ state: "ready" });
  expect((await toolport.callTool("it__echo", { text: "hi" })).text).toBe("hi");
  const second = harness.open({}, { store });
  expect((await second.callTool("it__echo", { text: "again" })).text).toBe("again");
  return { warnings, codes };
}

const damages: Record<string, (path: string) => void> = {
  "random bytes": (path) =>
    writeFileSync(path, crypto.getRandomValues(Buffer.alloc(20_000)), { mode: 0o600 }),
  truncated: (path) => truncateSync(path, Math.floor(statSync(path).size / 2) + 100),
};
for (const [kind, damage] of Object.entries(damages)) {
  faultCase("D01", `${kind}: set aside whole with a warning, and a new file is created`, async (harness) => {
    await writeSome(harness);
    damage(pathOf(harness));
    const damaged = readFileSync(pathOf(harness));
    const { warnings, codes } = await expectToWork(harness);
    expect(codes()).toEqual(["CORRUPT_SET_ASIDE"]);
    expect(warnings[0]?.path.startsWith(`${pathOf(harness)}.corrupt-`)).toBe(true);
    expect(readFileSync(warnings[0]?.path as string)).toEqual(damaged);
  });
}

faultCase("D01", "zero length: treated as new, nothing is set aside", async (harness) => {
  writeFileSync(pathOf(harness), "", { mode: 0o600 });
  const { codes } = await expectToWork(harness);
  expect(codes()).toEqual([]);
});

faultCase(
  "D01",
  "newer schema version: refused and unchanged, and the port works without it",
  async (harness) => {
    await writeSome(harness);
    change(pathOf(harness), "INSERT INTO toolport_migrations VALUES (99, 0)");
    const before = readFileSync(pathOf(harness));
    const { store, codes } = openStore(harness);
    const { toolport, warnings } = await openRig(harness, store);
    expect(await harness.within(ONE_SECOND, toolport.add("added", echo))).toMatchObject({ state: "ready" });
    expect((await toolport.callTool("added__echo", { text: "hi" })).text).toBe("hi");
    expect(warnings.join("\n")).toContain("version 99");
    // The client starts no login that it could not save.
    await harness.fails(toolport.callTool("it__whoami"), {
      code: "UNAVAILABLE",
      server: "it",
      withinMs: ONE_SECOND,
    });
    await harness.fails(store.put("token", "new"), { code: "UNAVAILABLE", withinMs: ONE_SECOND });
    expect(readFileSync(pathOf(harness))).toEqual(before);
    expect(codes()).toEqual([]);
  },
);

// D07

faultCase("D07", "mode 0644: made private again, with a warning", async (harness) => {
  await writeSome(harness);
  chmodSync(pathOf(harness), 0o644);
  chmodSync(`${pathOf(harness)}.key`, 0o644);
  const { store, codes } = openStore(harness);
  harness.keep(store);
  expect((await harness.within(ONE_SECOND, store.get("token")))?.value).toBe("the old token");
  expect(codes()).toEqual(["PERMISSIONS_FIXED", "PERMISSIONS_FIXED"]);
  for (const file of [pathOf(harness), `${pathOf(harness)}.key`])
    expect(statSync(file).mode & 0o777).toBe(0o600);
});

faultCase("D07", "symlinked path: refused, the target unchanged", async (harness) => {
  const before = await writeSome(harness);
  const link = join(harness.folder, "link.db");
  symlinkSync(pathOf(harness), link);
  const { store } = openStore(harness, { path: link });
  const { toolport } = await openRig(harness, store);
  expect(await toolport.add("added", echo)).toMatchObject({ state: "ready" });
  const error = await harness.fails(store.get("token"), { code: "UNAVAILABLE", withinMs: ONE_SECOND });
  expect(error.message).toContain("symbolic link");
  expect(readFileSync(pathOf(harness))).toEqual(before);
  expect(existsSync(`${link}.key`)).toBe(false);
});

faultCase(
  "D07",
  "another owner: refused and unchanged",
  async (harness) => {
    const before = await writeSome(harness);
    chownSync(pathOf(harness), OTHER_USER, OTHER_USER);
    const { store } = openStore(harness);
    harness.keep(store);
    const error = await harness.fails(store.get("token"), { code: "UNAVAILABLE", withinMs: ONE_SECOND });
    expect(error.message).toContain("another user");
    expect(readFileSync(pathOf(harness))).toEqual(before);
    expect(statSync(pathOf(harness)).uid).toBe(OTHER_USER);
  },
  { skip: notRoot },
);

faultCase(
  "D07",
  "wrong key: reported as such, nothing erased, the right key needs no login",
  async (harness) => {
    const [right, wrong] = [harness.secret(createStoreKey()), harness.secret(createStoreKey())];
    const first = await openLoggedIn(harness, openStore(harness, { key: right }).store);
    await first.toolport.close();
    const before = await secretsOf(harness, right);
    expect(before).not.toEqual([]);
    const { store } = openStore(harness, { key: wrong });
    const foreign = await openRig(harness, store, first.bench);
    await harness.fails(foreign.toolport.callTool("it__whoami"), {
      code: "KEY_MISMATCH",
      server: "it",
      withinMs: ONE_SECOND,
    });
    await harness.fails(store.reseal(), { code: "KEY_MISMATCH", withinMs: ONE_SECOND });
    await foreign.toolport.close();
    expect(await secretsOf(harness, right)).toEqual(before);
    const again = await openRig(harness, openStore(harness, { key: right }).store, first.bench);
    expect(await again.whoami()).toBe("ada");
    expect(first.bench.countTokens()).toBe(1);
  },
);

faultCase(
  "D07",
  "rotated key: both keys first, then the new one alone, and no login is lost",
  async (harness) => {
    const [older, newer] = [harness.secret(createStoreKey()), harness.secret(createStoreKey())];
    const first = await openLoggedIn(harness, openStore(harness, { key: older }).store);
    await first.toolport.close();
    const { store } = openStore(harness, { key: [newer, older] });
    const between = await openRig(harness, store, first.bench);
    expect(await between.whoami()).toBe("ada");
    expect(await store.reseal()).toBeGreaterThan(0);
    await between.toolport.close();
    const last = await openRig(harness, openStore(harness, { key: newer }).store, first.bench);
    expect(await last.whoami()).toBe("ada");
    expect(first.bench.countTokens()).toBe(1);
    expect(readdirSync(harness.folder).filter((name) => name.includes(".corrupt-"))).toEqual([]);
  },
);

async function secretsOf(harness: FaultHarness, key: string): Promise<unknown[]> {
  const { store } = openStore(harness, { key });
  const keys = (await store.list("")).filter((name) => /^(oauth|servers)\//.test(name));
  const records = await Promise.all(keys.map((name) => store.get(name)));
  await store.close();
  return records;
}
