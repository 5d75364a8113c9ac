/** Keys of a SQLite store: a wrong one, a new one, none; nothing is erased. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import type { StateError } from "toolport";
import { createStoreKey, sqliteStore } from "toolport/sqlite";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { SqliteDriver } from "../../packages/stores/src/sqlite/open-database.js";
import { failure } from "../support/failure.js";
import { storesWithoutDrivers } from "../support/shared-store.js";
import { waitFor } from "../support/wait-for.js";

const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite") as {
  DatabaseSync: SqliteDriver;
};
const [OLD, NEW] = [createStoreKey(), createStoreKey()];
let folder = "";
let path = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolport-keys-"));
  path = join(folder, "state.db");
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

async function using<T>(
  key: string | string[] | undefined,
  step: (store: ReturnType<typeof sqliteStore>) => Promise<T>,
) {
  const store = sqliteStore(path, { key });
  try {
    return await step(store);
  } finally {
    await store.close();
  }
}

function change(sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

test("a wrong key is reported with its id; plain records can be read, and nothing is erased", async () => {
  await using(OLD, async (store) => {
    await store.put("token", "secret", { secret: true });
    await store.put("era", "plain");
  });
  await using(NEW, async (store) => {
    const error = await failure<StateError>(store.get("token"));
    expect(error).toMatchObject({ name: "StateError", code: "KEY_MISMATCH" });
    expect(error.message).toMatch(/the key [0-9a-f]{8}, this store has [0-9a-f]{8}/);
    expect((await store.get("era"))?.value).toBe("plain");
    expect(await store.list("")).toEqual(["era", "token"]);
    expect(await failure(store.reseal())).toMatchObject({ code: "KEY_MISMATCH" });
  });
  expect(await using(OLD, (store) => store.get("token"))).toMatchObject({ value: "secret", sealed: true });
});

test("a rotation: both keys, every secret sealed again with its time to live, then the new key alone", async () => {
  await using(OLD, async (store) => {
    for (let index = 0; index < 20; index++) await store.put(`token/${index}`, index, { secret: true });
    await store.put("pending", "soon over", { secret: true, ttlMs: 1_500 });
    await store.put("era", "plain");
  });
  vi.stubEnv("TOOLPORT_STORE_KEY", `${NEW},${OLD}`);
  await using(undefined, async (store) => {
    expect(await store.get("token/3")).toMatchObject({ value: 3, sealed: true });
    const before = await store.get("era");
    expect(await store.reseal()).toBe(21);
    expect(await store.reseal()).toBe(0);
    expect(await store.get("era")).toEqual(before);
  });
  vi.stubEnv("TOOLPORT_STORE_KEY", NEW);
  await using(undefined, async (store) => {
    for (let index = 0; index < 20; index++) expect((await store.get(`token/${index}`))?.value).toBe(index);
    await waitFor(async () => (await store.get("pending")) === undefined);
  });
});

test("a changed or moved value in the file is refused and left unchanged", async () => {
  await using(OLD, async (store) => {
    await store.put("token/mine", "mine", { secret: true });
    await store.put("token/yours", "yours", { secret: true });
    await store.put("broken", "x");
  });
  change(`UPDATE toolport_records SET value = (SELECT value FROM toolport_records WHERE key = 'token/yours')
          WHERE key = 'token/mine'`);
  change("UPDATE toolport_records SET value = '{' WHERE key = 'broken'");
  await using(OLD, async (store) => {
    for (const key of ["token/mine", "broken"]) {
      expect(await failure(store.get(key))).toMatchObject({ name: "StateError", code: "CORRUPT" });
    }
    expect((await store.get("token/yours"))?.value).toBe("yours");
    expect(await store.list("")).toEqual(["broken", "token/mine", "token/yours"]);
    expect(await store.put("token/mine", "mine again", { secret: true })).toBeGreaterThan(0);
    expect((await store.get("token/mine"))?.value).toBe("mine again");
  });
});

test("a plain value in place of a secret is not accepted as one", async () => {
  await using(OLD, (store) => store.put("server/files", { command: "node" }, { secret: true }));
  change(`UPDATE toolport_records SET value = '{"command":"evil"}' WHERE key = 'server/files'`);
  expect(await using(OLD, (store) => store.get("server/files"))).toMatchObject({ sealed: false });
});

test("an invalid key is reported on first use, and not shown", async () => {
  await using("too short", async (store) => {
    const error = await failure<StateError>(store.put("a", 1, { secret: true }));
    expect(error).toMatchObject({ code: "KEY_MISMATCH" });
    expect(error.message).not.toContain("too short");
    expect(await store.put("a", 1)).toBeGreaterThan(0);
  });
});

test("without SQLite the error names the package to install", async () => {
  using apart = await storesWithoutDrivers();
  const entryPoint = pathToFileURL(join(apart.folder, "stores/sqlite/index.js")).href;
  const script = `
    const { sqliteStore } = await import(${JSON.stringify(entryPoint)});
    const store = sqliteStore(${JSON.stringify(path)});
    console.log(await store.put("a", 1).then(() => "written", (error) => error.message));
    await store.close();`;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], { cwd: folder });
  // Newer versions of Node have it built in.
  if (stdout.trim() !== "written")
    expect(stdout).toMatch(/npm install @photostructure\/sqlite.*\(UNAVAILABLE\)/);
});
