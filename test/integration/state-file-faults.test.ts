/** Trouble with a JSON state file: every kind has its error, and what was saved stays. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fileStore } from "../../src/state/stores/file/file-store.js";
import type { StoreWarning } from "../../src/state/stores/store-warning.js";
import { failure } from "../support/failure.js";

let folder = "";
let path = "";
let warnings: StoreWarning[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolport-file-faults-"));
  path = join(folder, "state.json");
  warnings = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = (options: { busyTimeoutMs?: number } = {}) =>
  fileStore(path, { onWarning: (warning) => warnings.push(warning), ...options });
const codes = () => warnings.map(({ code }) => code);

test("a new file is 0600, a new directory 0700, whatever the umask", async () => {
  path = join(folder, "new", "deep", "state.json");
  const umask = process.umask(0);
  await open().put("a", 1, { secret: true });
  process.umask(umask);
  const made = join(folder, "new", "deep");
  expect(readdirSync(made).sort()).toEqual(["state.json", "state.json.key"]);
  for (const file of readdirSync(made)) expect(statSync(join(made, file)).mode & 0o777).toBe(0o600);
  for (const directory of [made, join(folder, "new")]) expect(statSync(directory).mode & 0o777).toBe(0o700);
  expect(warnings).toEqual([]);
});

test("a file that others can read is made private again, with a warning", async () => {
  await open().put("a", 1);
  chmodSync(path, 0o644);
  expect((await open().get("a"))?.value).toBe(1);
  expect(codes()).toEqual(["PERMISSIONS_FIXED"]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("a symbolic link is refused, and no key is made beside it", async () => {
  writeFileSync(join(folder, "target"), "");
  symlinkSync(join(folder, "target"), path);
  for (const error of [await failure(open().put("a", 1, { secret: true })), await failure(open().get("a"))])
    expect(error).toMatchObject({ name: "StateError", code: "UNAVAILABLE" });
  expect(readdirSync(folder).sort()).toEqual(["state.json", "target"]);
});

test.each([
  ["cut off", () => truncateSync(path, 100)],
  ["of something else", () => writeFileSync(path, '{"mcpServers":{}}')],
  ["with other records", () => writeFileSync(path, '{"toolport":1,"last":3,"records":{"a":1}}')],
])("a file %s is set aside once, and a new one is begun", async (_, damage) => {
  await open().put("a", "x".repeat(500));
  damage();
  const damaged = readFileSync(path, "utf8");
  const [first, second] = [open(), open()];
  expect(await Promise.all([first.get("a"), second.get("a")])).toEqual([undefined, undefined]);
  expect(codes()).toEqual(["CORRUPT_SET_ASIDE"]);
  expect(readFileSync(warnings[0]!.path, "utf8")).toBe(damaged);
  expect(await first.put("a", 2, { ifVersion: 0 })).toBeGreaterThan(0);
  expect((await second.get("a"))?.value).toBe(2);
});

test("a file of a newer Toolport is refused and left as it is", async () => {
  const text = '{"toolport":2,"last":"?"}';
  writeFileSync(path, text, { mode: 0o600 });
  const error = await failure(open().put("a", 1));
  expect(error).toMatchObject({ code: "UNAVAILABLE", what: expect.stringContaining("newer Toolport") });
  expect(readFileSync(path, "utf8")).toBe(text);
});

test("a file that was deleted is begun anew; another key opens no secret", async () => {
  const store = open();
  await store.put("a", "hush", { secret: true });
  rmSync(path);
  expect(await store.get("a")).toBeUndefined();
  expect(await store.put("a", "hush", { secret: true, ifVersion: 0 })).toBeGreaterThan(0);
  rmSync(`${path}.key`);
  expect(await failure(open().get("a"))).toMatchObject({ code: "KEY_MISMATCH" });
  expect((await store.get("a"))?.value).toBe("hush");
});

test("a living process that holds the lock for too long is BUSY, and reading goes on", async () => {
  const store = open({ busyTimeoutMs: 50 });
  await store.put("a", 1);
  // The id of a process on another machine: whether it lives is not known.
  writeFileSync(`${path}.lock`, `elsewhere 1\n${crypto.randomUUID()}`);
  expect(await failure(store.put("a", 2))).toMatchObject({ code: "BUSY", retryable: true });
  expect((await store.get("a"))?.value).toBe(1);
  utimesSync(`${path}.lock`, new Date(), new Date(Date.now() - 30_000));
  expect(await store.put("a", 2)).toBeGreaterThan(1);
  expect(readdirSync(folder)).toEqual(["state.json"]);
});

test("a write that fails changes nothing", async () => {
  const store = open();
  const version = await store.put("a", 1);
  // A directory where the file has to go.
  rmSync(path);
  mkdirSync(path);
  expect(await failure(store.put("a", 2))).toMatchObject({ code: "UNAVAILABLE" });
  rmSync(path, { recursive: true });
  expect(await store.get("a")).toBeUndefined();
  expect(readdirSync(folder)).toEqual([]);
  expect(version).toBe(1);
});

test("keys and names that objects have of their own are kept apart", async () => {
  const store = open();
  for (const key of ["__proto__", "constructor", "toString"]) await store.put(key, key);
  expect(await open().list("")).toEqual(["__proto__", "constructor", "toString"]);
  expect((await open().get("__proto__"))?.value).toBe("__proto__");
});
