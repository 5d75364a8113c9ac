/** Faults of a state file: damaged, of a later version, open to others, a link, somebody else's, sealed with another key. */
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
import type { FaultRoom } from "./fault-room.js";
import { ONE_SECOND, openLoggedIn, openRig, warmUpStorage } from "./storage-rig.js";

const NOBODY = 65_534;
const notRoot = process.getuid?.() !== 0 && "only root can give a file away";
const echo = { command: process.execPath, args: [LEAN_SERVER] };

beforeAll(warmUpStorage);

const pathOf = (room: FaultRoom): string => join(room.folder, "state.db");

function openStore(room: FaultRoom, options: { path?: string; key?: string | string[] } = {}) {
  const warnings: StoreWarning[] = [];
  const store = sqliteStore(options.path ?? pathOf(room), {
    key: options.key,
    onWarning: (warning) => warnings.push(warning),
  });
  return { store, warnings, codes: () => warnings.map(({ code }) => code) };
}

/** A file with some records in it, and one secret. Returns its bytes. */
async function writeSome(room: FaultRoom, key?: string): Promise<Buffer> {
  const { store } = openStore(room, { ...(key && { key }) });
  for (let index = 0; index < 100; index++) await store.put(`key/${index}`, "x".repeat(500));
  await store.put("token", "the old token", { secret: true });
  await store.close();
  return readFileSync(pathOf(room));
}

function change(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
}

// D01

/** A port on the file works within the second, and what it saves is there for the next one. */
async function expectToWork(room: FaultRoom) {
  const { store, warnings, codes } = openStore(room);
  room.keep(store);
  const toolport = room.open({}, { store });
  expect(await room.within(ONE_SECOND, toolport.add("it", echo))).toMatchObject({ state: "ready" });
  expect((await toolport.callTool("it__echo", { text: "hi" })).text).toBe("hi");
  const second = room.open({}, { store });
  expect((await second.callTool("it__echo", { text: "again" })).text).toBe("again");
  return { warnings, codes };
}

const damages: Record<string, (path: string) => void> = {
  "random bytes": (path) =>
    writeFileSync(path, crypto.getRandomValues(Buffer.alloc(20_000)), { mode: 0o600 }),
  truncated: (path) => truncateSync(path, Math.floor(statSync(path).size / 2) + 100),
};
for (const [kind, damage] of Object.entries(damages)) {
  faultCase("D01", `${kind}: set aside whole, told, and begun anew`, async (room) => {
    await writeSome(room);
    damage(pathOf(room));
    const damaged = readFileSync(pathOf(room));
    const { warnings, codes } = await expectToWork(room);
    expect(codes()).toEqual(["CORRUPT_SET_ASIDE"]);
    expect(warnings[0]?.path.startsWith(`${pathOf(room)}.corrupt-`)).toBe(true);
    expect(readFileSync(warnings[0]?.path as string)).toEqual(damaged);
  });
}

faultCase("D01", "zero length: new, with nothing to set aside", async (room) => {
  writeFileSync(pathOf(room), "", { mode: 0o600 });
  const { codes } = await expectToWork(room);
  expect(codes()).toEqual([]);
});

faultCase(
  "D01",
  "newer schema version: refused and not touched, and the port goes on without",
  async (room) => {
    await writeSome(room);
    change(pathOf(room), "INSERT INTO toolport_migrations VALUES (99, 0)");
    const before = readFileSync(pathOf(room));
    const { store, codes } = openStore(room);
    const { toolport, warnings } = await openRig(room, store);
    expect(await room.within(ONE_SECOND, toolport.add("added", echo))).toMatchObject({ state: "ready" });
    expect((await toolport.callTool("added__echo", { text: "hi" })).text).toBe("hi");
    expect(warnings.join("\n")).toContain("version 99");
    // A login that could not be kept is not begun.
    await room.fails(toolport.callTool("it__whoami"), {
      ...{ code: "UNAVAILABLE", server: "it", withinMs: ONE_SECOND },
    });
    await room.fails(store.put("token", "new"), { code: "UNAVAILABLE", withinMs: ONE_SECOND });
    expect(readFileSync(pathOf(room))).toEqual(before);
    expect(codes()).toEqual([]);
  },
);

// D07

faultCase("D07", "mode 0644: taken back, with a warning", async (room) => {
  await writeSome(room);
  chmodSync(pathOf(room), 0o644);
  chmodSync(`${pathOf(room)}.key`, 0o644);
  const { store, codes } = openStore(room);
  room.keep(store);
  const began = performance.now();
  expect((await store.get("token"))?.value).toBe("the old token");
  expect(performance.now() - began).toBeLessThan(ONE_SECOND);
  expect(codes()).toEqual(["PERMISSIONS_FIXED", "PERMISSIONS_FIXED"]);
  for (const file of [pathOf(room), `${pathOf(room)}.key`]) expect(statSync(file).mode & 0o777).toBe(0o600);
});

faultCase("D07", "symlinked path: refused, what it points to untouched", async (room) => {
  const before = await writeSome(room);
  const link = join(room.folder, "link.db");
  symlinkSync(pathOf(room), link);
  const { store } = openStore(room, { path: link });
  const { toolport } = await openRig(room, store);
  expect(await toolport.add("added", echo)).toMatchObject({ state: "ready" });
  const error = await room.fails(store.get("token"), { code: "UNAVAILABLE", withinMs: ONE_SECOND });
  expect(error.message).toContain("symbolic link");
  expect(readFileSync(pathOf(room))).toEqual(before);
  expect(existsSync(`${link}.key`)).toBe(false);
});

faultCase(
  "D07",
  "another owner: refused, untouched",
  async (room) => {
    const before = await writeSome(room);
    chownSync(pathOf(room), NOBODY, NOBODY);
    const { store } = openStore(room);
    room.keep(store);
    const error = await room.fails(store.get("token"), { code: "UNAVAILABLE", withinMs: ONE_SECOND });
    expect(error.message).toContain("another user");
    expect(readFileSync(pathOf(room))).toEqual(before);
    expect(statSync(pathOf(room)).uid).toBe(NOBODY);
  },
  { skip: notRoot },
);

faultCase("D07", "wrong key: told as that, nothing erased, the right one needs no login", async (room) => {
  const [right, wrong] = [room.secret(createStoreKey()), room.secret(createStoreKey())];
  const first = await openLoggedIn(room, openStore(room, { key: right }).store);
  await first.toolport.close();
  const before = await secretsOf(room, right);
  expect(before).not.toEqual([]);
  const { store } = openStore(room, { key: wrong });
  const foreign = await openRig(room, store, first.bench);
  await room.fails(foreign.toolport.callTool("it__whoami"), {
    ...{ code: "KEY_MISMATCH", server: "it", withinMs: ONE_SECOND },
  });
  await room.fails(store.reseal(), { code: "KEY_MISMATCH", withinMs: ONE_SECOND });
  await foreign.toolport.close();
  expect(await secretsOf(room, right)).toEqual(before);
  const again = await openRig(room, openStore(room, { key: right }).store, first.bench);
  expect(await again.whoami()).toBe("ada");
  expect(first.bench.countTokens()).toBe(1);
});

faultCase("D07", "rotated key: both at first, then the new one alone, and no login is lost", async (room) => {
  const [older, newer] = [room.secret(createStoreKey()), room.secret(createStoreKey())];
  const first = await openLoggedIn(room, openStore(room, { key: older }).store);
  await first.toolport.close();
  const { store } = openStore(room, { key: [newer, older] });
  const between = await openRig(room, store, first.bench);
  expect(await between.whoami()).toBe("ada");
  expect(await store.reseal()).toBeGreaterThan(0);
  await between.toolport.close();
  const last = await openRig(room, openStore(room, { key: newer }).store, first.bench);
  expect(await last.whoami()).toBe("ada");
  expect(first.bench.countTokens()).toBe(1);
  expect(readdirSync(room.folder).filter((name) => name.includes(".corrupt-"))).toEqual([]);
});

async function secretsOf(room: FaultRoom, key: string): Promise<unknown[]> {
  const { store } = openStore(room, { key });
  const keys = (await store.list("")).filter((name) => /^(oauth|servers)\//.test(name));
  const records = await Promise.all(keys.map((name) => store.get(name)));
  await store.close();
  return records;
}
