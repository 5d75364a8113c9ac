/** Trouble with the file of a SQLite store: every kind has its error, and what was saved stays. */
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StateError } from "toolport";
import { type SqliteStoreOptions, type StoreWarning, sqliteStore } from "toolport/sqlite";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { SqliteDriver } from "../../src/state/stores/sqlite/sqlite-driver.js";
import { failure } from "../support/failure.js";
import { createStateHosts } from "../support/state-host.js";

const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite") as {
  DatabaseSync: SqliteDriver;
};
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

const hosts = createStateHosts();
const folders: string[] = [];
let folder = "";
let path = "";
let warnings: StoreWarning[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolport-faults-"));
  folders.push(folder);
  path = join(folder, "state.db");
  warnings = [];
});
afterAll(() => {
  hosts.remove();
  for (const each of folders) rmSync(each, { recursive: true });
});

const open = (options: SqliteStoreOptions = {}) =>
  sqliteStore(path, { onWarning: (warning) => warnings.push(warning), ...options });

/** Leaves a file behind that holds some records. */
async function writeSome(): Promise<void> {
  const store = open();
  for (let index = 0; index < 200; index++) await store.put(`key/${index}`, "x".repeat(500));
  await store.put("token", "the token", { secret: true });
  await store.close();
}

describe("permissions", () => {
  test("a new file is 0600, a new directory 0700, whatever the umask", async () => {
    path = join(folder, "new", "deep", "state.db");
    const umask = process.umask(0);
    const store = open();
    await store.put("a", 1, { secret: true });
    process.umask(umask);
    for (const file of readdirSync(join(path, "..")))
      expect(statSync(join(path, "..", file)).mode & 0o777).toBe(0o600);
    for (const directory of ["new", "new/deep"])
      expect(statSync(join(folder, directory)).mode & 0o777).toBe(0o700);
    await store.close();
    expect(warnings).toEqual([]);
  });

  test("a file that others can read is taken back, with a warning", async () => {
    await writeSome();
    chmodSync(path, 0o644);
    chmodSync(`${path}.key`, 0o640);
    const store = open();
    expect((await store.get("token"))?.value).toBe("the token");
    expect(warnings.map(({ code, path: file }) => [code, file])).toEqual([
      ["PERMISSIONS_FIXED", path],
      ["PERMISSIONS_FIXED", `${path}.key`],
    ]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(`${path}.key`).mode & 0o777).toBe(0o600);
    await store.close();
  });

  test("a symbolic link is refused, and what it points to is untouched", async () => {
    await writeSome();
    const before = readFileSync(path);
    symlinkSync(path, join(folder, "link.db"));
    const store = sqliteStore(join(folder, "link.db"));
    const error = await failure<StateError>(store.put("a", 1));
    expect(error).toMatchObject({ name: "StateError", code: "UNAVAILABLE" });
    expect(error.message).toContain("symbolic link");
    await store.close();
    expect(readFileSync(path)).toEqual(before);
  });

  test("a link in the place of the key file is refused", async () => {
    writeFileSync(join(folder, "elsewhere"), "");
    symlinkSync(join(folder, "elsewhere"), `${path}.key`);
    const store = open();
    expect(await failure(store.put("a", 1, { secret: true }))).toMatchObject({ code: "UNAVAILABLE" });
    expect(await store.put("a", 1)).toBeGreaterThan(0);
    await store.close();
  });

  test("a directory is refused", async () => {
    mkdirSync(path);
    const store = open();
    expect(await failure(store.get("a"))).toMatchObject({ code: "UNAVAILABLE" });
    await store.close();
  });

  test.runIf(isRoot)("somebody else's file is refused", async () => {
    await writeSome();
    chownSync(path, NOBODY, NOBODY);
    const store = open();
    const error = await failure<StateError>(store.get("token"));
    expect(error).toMatchObject({ name: "StateError", code: "UNAVAILABLE" });
    expect(error.message).toContain("another user");
    chownSync(path, 0, 0);
    expect((await store.get("token"))?.value).toBe("the token");
    await store.close();
  });

  test.skipIf(process.platform === "win32")("a directory that cannot be written is told", async () => {
    chmodSync(folder, 0o555);
    const { error } = await hosts.start(["read-only", path, String(NOBODY)]).result<{ error: StateError }>();
    chmodSync(folder, 0o755);
    expect(error).toMatchObject({ name: "StateError", code: "UNAVAILABLE" });
    expect(error.message).toContain(path);
    expect(readdirSync(folder)).toEqual([]);
  });

  test.skipIf(process.platform === "win32")(
    "a saved file in a directory that became read-only stays as it was",
    async () => {
      await writeSome();
      for (const name of readdirSync(folder)) {
        if (isRoot) chownSync(join(folder, name), NOBODY, NOBODY);
        chmodSync(join(folder, name), 0o400);
      }
      chmodSync(folder, 0o555);
      const before = readFileSync(path);
      const { error } = await hosts
        .start(["read-only", path, String(NOBODY)])
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

  test("of random bytes is set aside, and a new one begun", async () => {
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

  test("of no bytes at all is new", async () => {
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

  test("a file that is deleted under an open store is begun anew", async () => {
    const store = open();
    await store.put("a", 1);
    for (const name of readdirSync(folder)) rmSync(join(folder, name));
    expect(await store.get("a")).toBeUndefined();
    expect(await store.put("b", 1)).toBeGreaterThan(0);
    const other = open();
    expect((await other.get("b"))?.value).toBe(1);
    await Promise.all([store.close(), other.close()]);
  });
});

test("a file of a newer Toolport is refused and not touched", async () => {
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
  test("is waited for 5 s without stopping the event loop, then BUSY; reads go on; afterwards all is well", async () => {
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
    // The event loop went on: a thousand turns on a quiet machine.
    expect(turns).toBeGreaterThan(50);
    expect((await store.get("token"))?.value).toBe("the token");
    await holder.kill();
    expect(await store.put("a", 1)).toBeGreaterThan(0);
    await store.close();
  });

  test("that is freed in time is written", async () => {
    await writeSome();
    const holder = hosts.start(["lock", path, "300"]);
    await holder.begun;
    const store = open();
    expect(await store.put("a", 1, { secret: true })).toBeGreaterThan(0);
    await store.close();
    await holder.result();
  });
});

test.skipIf(process.platform === "win32")("a full disk: FULL, and the old token is still there", async () => {
  // A limit on the size of files behaves as a full disk does, and needs no rights. Dash and bash count differently.
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
});
