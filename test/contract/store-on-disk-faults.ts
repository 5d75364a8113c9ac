/** The faults that every store in a file can have: permissions, links, and a file deleted under an open store. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { StateError } from "../../packages/base/src/errors/toolport-error.js";
import type { StoreWarning } from "../../packages/stores/src/local-files.js";
import type { Store } from "../../packages/stores/src/store.js";
import { failure } from "../support/failure.js";
import type { StateFolder } from "../support/state-folder.js";

export type OpenDiskStore = (path: string, options: { onWarning(warning: StoreWarning): void }) => Store;

const modeOf = (path: string): number => statSync(path).mode & 0o777;

export function testDiskFaults(state: StateFolder, openStore: OpenDiskStore): void {
  const open = (path = state.path) => {
    const warnings: StoreWarning[] = [];
    return { store: openStore(path, { onWarning: (warning) => warnings.push(warning) }), warnings };
  };
  const writeToken = async () => {
    const { store } = open();
    await store.put("token", "the token", { secret: true });
    await store.close();
  };

  test("creates files with mode 0600 and directories with 0700, whatever the umask", async () => {
    const path = state.path.replace(state.folder, join(state.folder, "new", "deep"));
    const umask = process.umask(0);
    const { store, warnings } = open(path);
    await store.put("a", 1, { secret: true });
    process.umask(umask);
    const directory = join(path, "..");
    expect(readdirSync(directory).length).toBeGreaterThan(1);
    for (const file of readdirSync(directory)) expect(modeOf(join(directory, file))).toBe(0o600);
    for (const made of [directory, join(directory, "..")]) expect(modeOf(made)).toBe(0o700);
    await store.close();
    expect(warnings).toEqual([]);
  });

  test("makes files private again that other users can read, with a warning", async () => {
    await writeToken();
    chmodSync(state.path, 0o644);
    chmodSync(`${state.path}.key`, 0o640);
    const { store, warnings } = open();
    expect((await store.get("token"))?.value).toBe("the token");
    expect(warnings.map(({ code, path: file }) => [code, file])).toEqual([
      ["PERMISSIONS_FIXED", state.path],
      ["PERMISSIONS_FIXED", `${state.path}.key`],
    ]);
    expect(modeOf(state.path)).toBe(0o600);
    expect(modeOf(`${state.path}.key`)).toBe(0o600);
    await store.close();
  });

  test("refuses a symbolic link, leaves its target unchanged, and makes no key beside it", async () => {
    await writeToken();
    const before = readFileSync(state.path);
    mkdirSync(join(state.folder, "linked"));
    const link = state.path.replace(state.folder, join(state.folder, "linked"));
    symlinkSync(state.path, link);
    const { store } = open(link);
    for (const call of [() => store.put("a", 1, { secret: true }), () => store.get("a")]) {
      const error = await failure<StateError>(call());
      expect(error).toMatchObject({ name: "StateError", code: "UNAVAILABLE" });
      expect(error.message).toContain("symbolic link");
    }
    await store.close();
    expect(readFileSync(state.path)).toEqual(before);
    expect(readdirSync(join(link, ".."))).toHaveLength(1);
  });

  test("creates a new file when it is deleted under an open store", async () => {
    const { store } = open();
    await store.put("a", 1);
    for (const name of readdirSync(state.folder)) rmSync(join(state.folder, name));
    expect(await store.get("a")).toBeUndefined();
    expect(await store.put("b", 1)).toBeGreaterThan(0);
    const other = open().store;
    expect((await other.get("b"))?.value).toBe(1);
    await Promise.all([store.close(), other.close()]);
  });
}
