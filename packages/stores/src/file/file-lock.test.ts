import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { leaseHolder } from "../local-files.js";
import { sweepLock, tryLock } from "./file-store.js";

const [FIRST, SECOND] = [crypto.randomUUID(), crypto.randomUUID()];
let folder = "";
let path = "";
const discarded: string[] = [];
const lock = () => tryLock(path, (nonce) => discarded.push(nonce));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolport-lock-"));
  path = join(folder, "lock");
  discarded.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Makes a file look half a minute old. */
const makeOld = (file: string) => utimesSync(file, new Date(), new Date(Date.now() - 30_000));

test("has one owner, and leaves no files after its release", () => {
  const first = lock();
  expect(first?.isHeld()).toBe(true);
  expect(lock()).toBeUndefined();
  first!.release();
  expect(readdirSync(folder)).toEqual([]);
  lock()!.release();
  expect(discarded).toEqual([]);
});

test("an owner that was suspended too long loses the lock, and cannot release that of the next owner", () => {
  const stopped = lock()!;
  makeOld(path);
  const next = lock()!;
  expect(discarded).toEqual([stopped.nonce]);
  expect([stopped.isHeld(), next.isHeld()]).toEqual([false, true]);
  stopped.release();
  expect(next.isHeld()).toBe(true);
  expect(lock()).toBeUndefined();
});

test("an empty lock file, as after a power failure, counts until it is old", () => {
  writeFileSync(path, "");
  expect(lock()).toBeUndefined();
  makeOld(path);
  lock()!.release();
  expect(readdirSync(folder)).toEqual([]);
});

test("the cleanup removes old drafts and all claims, but no draft in use", () => {
  for (const name of [`lock.${FIRST}`, `lock.${SECOND}`, `lock-${FIRST}`, "lockless"])
    writeFileSync(join(folder, name), "");
  makeOld(join(folder, `lock.${FIRST}`));
  const mine = lock()!;
  sweepLock(path);
  mine.release();
  expect(readdirSync(folder).sort()).toEqual([`lock.${SECOND}`, "lockless"]);
});

describe.runIf(leaseHolder() !== undefined)("a dead owner", () => {
  const { pid: deadPid } = spawnSync(process.execPath, ["--version"]);
  const idWith = (pid: number | string, start?: string) =>
    leaseHolder()!.id.replace(/\d+ (\d+)$/, (_, own) => `${pid} ${start ?? own}`);

  test("is replaced at once", () => {
    writeFileSync(path, `${idWith(deadPid!)}\n${FIRST}`);
    expect(lock()?.isHeld()).toBe(true);
    expect(discarded).toEqual([FIRST]);
    expect(readdirSync(folder)).toEqual(["lock"]);
  });

  test("is recognised although another process reuses its pid", () => {
    writeFileSync(path, `${idWith(process.pid, "1")}\n${FIRST}`);
    expect(lock()?.isHeld()).toBe(true);
  });

  test("is replaced even if another process died while replacing it", () => {
    writeFileSync(path, `${idWith(deadPid!)}\n${FIRST}`);
    writeFileSync(`${path}-${FIRST}`, `${idWith(deadPid!)}\n${SECOND}`);
    expect(lock()?.isHeld()).toBe(true);
    expect(readdirSync(folder)).toEqual(["lock"]);
  });

  test("is not replaced while a living process is replacing it", () => {
    writeFileSync(path, `${idWith(deadPid!)}\n${FIRST}`);
    writeFileSync(`${path}-${FIRST}`, `${idWith(process.pid)}\n${SECOND}`);
    expect(lock()).toBeUndefined();
    expect(discarded).toEqual([]);
  });

  test("on another machine or container is replaced only when the lock is old", () => {
    writeFileSync(path, `elsewhere ${deadPid}\n${FIRST}`);
    expect(lock()).toBeUndefined();
    makeOld(path);
    expect(lock()?.isHeld()).toBe(true);
  });
});
