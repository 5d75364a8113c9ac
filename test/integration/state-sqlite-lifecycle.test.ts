/** A SQLite store leaves nothing behind: no timer, no handle, no unneeded file. */
import { readdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { sqliteStore } from "toolport/sqlite";
import { expect, test } from "vitest";
import { useStateFolder } from "../support/state-folder.js";

const state = useStateFolder("state.db");

test("creates no file before its first use", async () => {
  const store = sqliteStore(state.path);
  await store.close();
  expect(readdirSync(state.folder)).toEqual([]);
});

test.runIf(process.platform === "linux")(
  "fifty opened and closed stores hold no file and no timer",
  async () => {
    const { held, resources } = await state.hosts
      .start(["reopen", state.path, "50"])
      .result<{ held: number; resources: string[] }>();
    expect(held).toBe(0);
    expect(resources).not.toContain("Timeout");
    expect(readdirSync(state.folder).sort()).toEqual(["state.db", "state.db.key"]);
  },
);

test("accepts a file URL, and creates no key without secrets", async () => {
  const store = sqliteStore(pathToFileURL(state.path));
  await store.put("a", 1);
  await store.close();
  expect(readdirSync(state.folder)).not.toContain("state.db.key");
  const again = sqliteStore(state.path);
  expect((await again.get("a"))?.value).toBe(1);
  await again.close();
});

test.each(["", ":memory:"])("refuses %j as a path", (name) => {
  expect(() => sqliteStore(name)).toThrow(expect.objectContaining({ code: "INVALID_CONFIG" }));
});
