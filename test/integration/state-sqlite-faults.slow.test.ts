/** Faults of the file of a SQLite store: each has its error, and saved records stay. */
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { StateError } from "toolport";
import { type SqliteStoreOptions, type StoreWarning, sqliteStore } from "toolport/sqlite";
import { beforeEach, describe, expect, test } from "vitest";
import type { SqliteDriver } from "../../packages/stores/src/sqlite/open-database.js";
import { testDiskFaults } from "../contract/store-on-disk-faults.js";
import { failure } from "../support/failure.js";
import { useStateFolder } from "../support/state-folder.js";

const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite") as {
  DatabaseSync: SqliteDriver;
};
/** A user id that owns nothing here. */
const OTHER_USER = 65_534;
const isRoot = process.getuid?.() === 0;

const state = useStateFolder("state.db");
const { hosts } = state;
let folder = "";
let path = "";
let warnings: StoreWarning[] = [];
beforeEach(() => {
  ({ folder, path } = state);
  warnings = [];
});

testDiskFaults(state, sqliteStore);

const open = (options: SqliteStoreOptions = {}) =>
  sqliteStore(path, { onWarning: (warning) => warnings.push(warning), ...options });

/** Creates a file with some records. */
async function writeSome(): Promise<void> {
  const store = open();
  for (let index = 0; index < 200; index++) await store.put(`key/${index}`, "x".repeat(500));
  await store.put("token", "the token", { secret: true });
  await store.close();
}

describe("permissions", () => {
  test("refuses a symbolic link in place of the key file", async () => {
    writeFileSync(join(folder, "elsewhere"), "");
    symlinkSync(join(folder, "elsewhere"), `${path}.key`);
    const store = open();
    expect(await failure(store.put("a", 1, { secret: true }))).toMatchObject({ code: "UNAVAILABLE" });
    expect(await store.put("a", 1)).toBeGreaterThan(0);
    await store.close();
  });

  test("refuses a directory", async () => {
    mkdirSync(path);
    const store = open();
    expect(await failure(store.get("a"))).toMatchObject({ code: "UNAVAILABLE" });
    await store.close();
  });

  test.runIf(isRoot)("refuses a file of another user", async () => {
    await writeSome();
    chownSync(path, OTHER_USER, OTHER_USER);
    const store = open();
    const error = await failure<StateError>(store.get("token"));
    expect(error).toMatchObject({ name: "StateError", code: "UNAVAILABLE" });
    expect(error.message).toContain("another user");
    chownSync(path, 0, 0);
    expect((await store.get("token"))?.value).toBe("the token");
    await store.close();
  });

  test.skipIf(process.platform === "win32")("names the path when the directory is not writable", async () => {
    chmodSync(folder, 0o555);
    const { error } = await hosts
      .start(["read-only", path, String(OTHER_USER)])
      .result<{ error: StateError }>();
    chmodSync(folder, 0o755);
    expect(error).toMatchObject({ name: "StateError", code: "UNAVAILABLE" });
    expect(error.message).toContain(path);
    expect(readdirSync(folder)).toEqual([]);
  });

  test.skipIf(process.platform === "win32")(
    "leaves a file unchanged in a directory that became read-only",
    async () => {
      await writeSome();
      for (const name of readdirSync(folder)) {
        if (isRoot) chownSync(join(folder, name), OTHER_USER, OTHER_USER);
        chmodSync(join(folder, name), 0o400);
      }
      chmodSync(folder, 0o555);
      const before = readFileSync(path);
      const { error } = await hosts
        .start(["read-only", path, String(OTHER_USER)])
        .result<{ error: StateError }>();
      expect(error).toMatchObject({ name: "StateError", code: "UNAVAILABLE" });
      expect(readFileSync(path)).toEqual(before);
      chmodSync(folder, 0o755);
    },
  );
});

describe("a damaged file", () => {
  const expectSetAside = async (damaged: Buffer): Promise<void> => {
    const store = open();
    expect(await store.get("key/1")).toBeUndefined();
    expect(await store.put("key/1", "new")).toBeGreaterThan(0);
    expect(warnings.map(({ code }) => code)).toEqual(["CORRUPT_SET_ASIDE"]);
    expect(warnings[0]!.path.startsWith(`${path}.corrupt-`)).toBe(true);
    expect(readFileSync(warnings[0]!.path)).toEqual(damaged);
    await store.close();
    expect(existsSync(`${path}.repair`)).toBe(false);
  };

  test("of random bytes is set aside, and a new one is created", async () => {
    const bytes = crypto.getRandomValues(Buffer.alloc(10_000));
    writeFileSync(path, bytes, { mode: 0o600 });
    await expectSetAside(bytes);
  });

  test("that was cut off is set aside", async () => {
    await writeSome();
    truncateSync(path, Math.floor(statSync(path).size / 2 / 4096) * 4096 + 100);
    await expectSetAside(readFileSync(path));
  });

  test("with a page overwritten is set aside", async () => {
    await writeSome();
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 4096 * 3, 4096 * 12);
    writeFileSync(path, bytes);
    await expectSetAside(bytes);
  });

  test("of zero bytes counts as new", async () => {
    writeFileSync(path, "", { mode: 0o600 });
    const store = open();
    expect(await store.put("a", 1)).toBeGreaterThan(0);
    await store.close();
    expect(warnings).toEqual([]);
  });

  test("is set aside once by processes that start at once", async () => {
    const bytes = crypto.getRandomValues(Buffer.alloc(10_000));
    writeFileSync(path, bytes, { mode: 0o600 });
    const starters = Array.from({ length: 4 }, () => hosts.start(["start", path]));
    const results = await Promise.all(starters.map((host) => host.result<{ warnings: string[] }>()));
    expect(results.flatMap((result) => result.warnings)).toEqual(["CORRUPT_SET_ASIDE"]);
    const aside = readdirSync(folder).filter((name) => name.includes(".corrupt-"));
    expect(aside).toHaveLength(1);
    expect(readFileSync(join(folder, aside[0]!))).toEqual(bytes);
    const store = open();
    expect(await store.list("started/")).toHaveLength(4);
    await store.close();
  });
});

test("refuses a file of a newer Toolport and leaves it unchanged", async () => {
  await writeSome();
  const database = new DatabaseSync(path);
  database.exec("INSERT INTO toolport_migrations VALUES (99, 0)");
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  const before = readFileSync(path);
  const store = open();
  for (const call of [() => store.get("token"), () => store.put("a", 1)]) {
    const error = await failure<StateError>(call());
    expect(error).toMatchObject({ name: "StateError", code: "UNAVAILABLE" });
    expect(error.message).toContain("version 99");
  }
  await store.close();
  expect(readFileSync(path)).toEqual(before);
  expect(warnings).toEqual([]);
});

describe("a locked file", () => {
  test("makes a write fail with BUSY after 5 s without blocking the event loop or reads", async () => {
    await writeSome();
    const store = open();
    await store.get("token");
    const holder = hosts.start(["lock", path, "10000"]);
    await holder.begun;
    let turns = 0;
    const ticker = setInterval(() => {
      turns += 1;
    }, 5);
    const startedAt = performance.now();
    const error = await failure<StateError>(store.put("a", 1));
    const ms = performance.now() - startedAt;
    clearInterval(ticker);
    expect(error).toMatchObject({ name: "StateError", code: "BUSY", retryable: true });
    expect(ms).toBeGreaterThan(4_900);
    // The event loop was not blocked: a thousand turns on an idle machine.
    expect(turns).toBeGreaterThan(50);
    expect((await store.get("token"))?.value).toBe("the token");
    await holder.kill();
    expect(await store.put("a", 1)).toBeGreaterThan(0);
    await store.close();
  });

  test("that is released in time is written", async () => {
    await writeSome();
    const holder = hosts.start(["lock", path, "300"]);
    await holder.begun;
    const store = open();
    expect(await store.put("a", 1, { secret: true })).toBeGreaterThan(0);
    await store.close();
    await holder.result();
  });
});

test.skipIf(process.platform === "win32")(
  "fails with FULL on a full disk and keeps the old token",
  async () => {
    // A file size limit behaves like a full disk, and needs no privileges. Dash and bash count differently.
    const limited = ["sh", "-c", 'ulimit -f 600; exec "$@"', "sh"];
    const host = hosts.start(["fill", path], limited);
    const { error, written, token, count } = await host.result<{
      error: StateError;
      written: number;
      token: string;
      count: number;
    }>();
    expect(error).toMatchObject({ name: "StateError", code: "FULL" });
    expect(token).toBe("the old token");
    expect(written).toBeGreaterThan(0);
    expect(count).toBe(written);
    const store = open();
    expect((await store.get("token"))?.value).toBe("the old token");
    expect(await store.put("a", 1)).toBeGreaterThan(0);
    await store.close();
    expect(warnings).toEqual([]);
  },
);
