/** `state`: lists records without their values, and maintains them. */
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { useProgram } from "../../../test/support/cli-sandbox.js";

const createSandbox = useProgram();

/** A Node without SQLite. */
const WITHOUT_SQLITE = {
  env: {
    NODE_OPTIONS: `--import ${new URL("../../../test/fixtures/hosts/no-sqlite.mjs", import.meta.url).href}`,
  },
};
const STDIO_SERVER = fileURLToPath(new URL("../../../test/fixtures/servers/sdk-stdio.mjs", import.meta.url));

interface StateList {
  path: string;
  kinds: { kind: string }[];
  records: { key: string; sealed: boolean }[];
}

test("ls, path, migrate, reseal and gc", async () => {
  using sandbox = createSandbox();
  const file = await sandbox.write("project/.mcp.json", {
    mcpServers: { theirs: { command: process.execPath, args: [STDIO_SERVER], env: { KEY: "hush-hush" } } },
  });
  expect((await sandbox.run("list", "--yes", "--json")).code).toBe(0);

  const listed = await sandbox.run("state", "--json");
  expect(listed.code).toBe(0);
  const { path, kinds, records } = listed.json<StateList>();
  expect(path).toBe(sandbox.statePath);
  expect(kinds.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["catalog", "era", "trust"]));
  expect(records.find(({ key }) => key.startsWith("trust/"))).toMatchObject({
    sealed: true,
  });
  expect(listed.stdout).not.toContain("hush-hush");
  expect((await sandbox.run("state", "path")).stdout.trim()).toBe(sandbox.statePath);
  expect((await sandbox.run("state", "ls", "trust/")).stdout).toMatch(/trust\/[0-9a-f]+\/theirs/);
  expect((await sandbox.run("state", "migrate", "--json")).json()).toMatchObject({ isUpToDate: true });
  expect((await sandbox.run("state", "reseal", "--json")).json()).toEqual({ resealed: 0 });

  expect((await sandbox.run("state", "gc", "--json")).json()).toMatchObject({ removed: [], unreadable: [] });
  await rm(file);
  const dry = await sandbox.run("state", "gc", "--dry-run", "--json");
  expect(dry.json()).toMatchObject({ isDryRun: true, removed: [{ why: "the file no longer exists" }] });
  expect((await sandbox.run("state", "gc", "--json")).json().removed).toHaveLength(1);
  expect((await sandbox.run("state", "gc", "--json")).json().removed).toHaveLength(0);

  const memory = await sandbox.run("state", "path", "--no-state", "--json");
  expect(memory.json()).toEqual({ path: null });
  const wrong = await sandbox.run("state", "lsx");
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toContain("must be one of ls, gc, migrate, reseal, path");
});

test("saves consent in a JSON file without SQLite, and keeps using it when SQLite is available", async () => {
  using sandbox = createSandbox();
  await sandbox.write("project/.mcp.json", {
    mcpServers: { theirs: { command: process.execPath, args: [STDIO_SERVER] } },
  });
  expect((await sandbox.runWith(WITHOUT_SQLITE, "list", "--json")).code).toBe(2);
  const agreed = await sandbox.runWith(WITHOUT_SQLITE, "list", "--yes", "--json");
  expect([agreed.code, agreed.stderr]).toEqual([0, ""]);
  const path = sandbox.statePath.replace(/\.db$/, ".json");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  for (const later of [WITHOUT_SQLITE, {}]) {
    const { code, stderr, json } = await sandbox.runWith(later, "list", "--json");
    expect([code, stderr, json()["state"]]).toEqual([0, "", path]);
  }
  const tidied = await sandbox.runWith(WITHOUT_SQLITE, "state", "gc", "--json");
  expect(tidied.json()).toMatchObject({ removed: [], freedBytes: 0 });
  expect((await sandbox.runWith(WITHOUT_SQLITE, "state", "reseal", "--json")).json()).toEqual({
    resealed: 0,
  });
});

test("warns once about a SQLite file that cannot be read without a driver", async () => {
  using sandbox = createSandbox();
  const state = ["--state", join(sandbox.home, "mine.db")];
  expect((await sandbox.run("doctor", ...state)).code).toBe(0);
  const first = await sandbox.runWith(WITHOUT_SQLITE, "doctor", ...state);
  expect(first.code).toBe(0);
  expect(first.stderr).toMatch(
    /No SQLite driver was found.*cannot read the state in .*mine\.db.*mine\.json.*@photostructure\/sqlite/,
  );
  expect((await sandbox.runWith(WITHOUT_SQLITE, "state", "path", ...state)).stderr).toBe("");
  expect((await sandbox.run("state", "path", ...state)).stdout).toContain("mine.db");
});
