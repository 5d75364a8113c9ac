/** Faults of a JSON state file: each has its error, and saved records stay. */
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { beforeEach, expect, test } from "vitest";
import { fileStore } from "../../packages/stores/src/file/file-store.js";
import type { StoreWarning } from "../../packages/stores/src/local-files.js";
import { testDiskFaults } from "../contract/store-on-disk-faults.js";
import { failure } from "../support/failure.js";
import { useStateFolder } from "../support/state-folder.js";

const state = useStateFolder("state.json");
let path = "";
let warnings: StoreWarning[] = [];
beforeEach(() => {
  path = state.path;
  warnings = [];
});

testDiskFaults(state, fileStore);

const open = (options: { busyTimeoutMs?: number } = {}) =>
  fileStore(path, { onWarning: (warning) => warnings.push(warning), ...options });
const codes = () => warnings.map(({ code }) => code);

test.each([
  ["cut off", () => truncateSync(path, 100)],
  ["of another program", () => writeFileSync(path, '{"mcpServers":{}}')],
  ["with malformed records", () => writeFileSync(path, '{"toolport":1,"last":3,"records":{"a":1}}')],
])("sets a file %s aside once and starts a new one", async (_, damage) => {
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

test("refuses a file of a newer Toolport and leaves it unchanged", async () => {
  const text = '{"toolport":2,"last":"?"}';
  writeFileSync(path, text, { mode: 0o600 });
  const error = await failure(open().put("a", 1));
  expect(error).toMatchObject({ code: "UNAVAILABLE", what: expect.stringContaining("newer Toolport") });
  expect(readFileSync(path, "utf8")).toBe(text);
});

test("does not open a secret with another key", async () => {
  const store = open();
  await store.put("a", "hush", { secret: true });
  rmSync(`${path}.key`);
  expect(await failure(open().get("a"))).toMatchObject({ code: "KEY_MISMATCH" });
  expect((await store.get("a"))?.value).toBe("hush");
});

test("fails writes with BUSY while another process holds the lock too long, and still reads", async () => {
  const store = open({ busyTimeoutMs: 50 });
  await store.put("a", 1);
  // A lock of a process on another machine: this process cannot know whether it is alive.
  writeFileSync(`${path}.lock`, `elsewhere 1\n${crypto.randomUUID()}`);
  expect(await failure(store.put("a", 2))).toMatchObject({ code: "BUSY", retryable: true });
  expect((await store.get("a"))?.value).toBe(1);
  utimesSync(`${path}.lock`, new Date(), new Date(Date.now() - 30_000));
  expect(await store.put("a", 2)).toBeGreaterThan(1);
  expect(readdirSync(state.folder)).toEqual(["state.json"]);
});

test("changes nothing when a write fails", async () => {
  const store = open();
  const version = await store.put("a", 1);
  // A directory in place of the file makes the write fail.
  rmSync(path);
  mkdirSync(path);
  expect(await failure(store.put("a", 2))).toMatchObject({ code: "UNAVAILABLE" });
  rmSync(path, { recursive: true });
  expect(await store.get("a")).toBeUndefined();
  expect(readdirSync(state.folder)).toEqual([]);
  expect(version).toBe(1);
});

test("stores keys that are names of object properties", async () => {
  const store = open();
  for (const key of ["__proto__", "constructor", "toString"]) await store.put(key, key);
  expect(await open().list("")).toEqual(["__proto__", "constructor", "toString"]);
  expect((await open().get("__proto__"))?.value).toBe("__proto__");
});
