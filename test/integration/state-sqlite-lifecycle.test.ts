/** A SQLite store leaves nothing behind: no timer, no handle, no file it did not need. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { sqliteStore } from "toolport/sqlite";
import { afterAll, beforeEach, expect, test } from "vitest";
import { createStateHosts } from "../support/state-host.js";

const hosts = createStateHosts();
const folders: string[] = [];
let folder = "";
let path = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolport-lifecycle-"));
  folders.push(folder);
  path = join(folder, "state.db");
});
afterAll(() => {
  hosts.remove();
  for (const each of folders) rmSync(each, { recursive: true });
});

test("a store that is never used makes no file", async () => {
  const store = sqliteStore(path);
  await store.close();
  expect(readdirSync(folder)).toEqual([]);
});

test("a watcher does not keep the process alive", async () => {
  await hosts.start(["watch", path]).result();
  expect(readdirSync(folder)).toEqual(["state.db"]);
});

test.runIf(process.platform === "linux")(
  "fifty stores opened and closed hold neither file nor timer",
  async () => {
    const { held, resources } = await hosts
      .start(["reopen", path, "50"])
      .result<{ held: number; resources: string[] }>();
    expect(held).toBe(0);
    expect(resources).not.toContain("Timeout");
    expect(readdirSync(folder).sort()).toEqual(["state.db", "state.db.key"]);
  },
);

test("without secrets no key is made; a URL is a path too", async () => {
  const store = sqliteStore(pathToFileURL(path));
  await store.put("a", 1);
  await store.close();
  expect(readdirSync(folder)).not.toContain("state.db.key");
  const again = sqliteStore(path);
  expect((await again.get("a"))?.value).toBe(1);
  await again.close();
});

test.each(["", ":memory:"])("%j is no file", (name) => {
  expect(() => sqliteStore(name)).toThrow(TypeError);
});
