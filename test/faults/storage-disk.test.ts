/** Faults of a state file's disk: locked by another process, full, limited, read-only. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { StateError } from "toolport";
import { sqliteStore } from "toolport/sqlite";
import { beforeAll, expect } from "vitest";
import { LEAN_SERVER } from "../fixtures/stdio-peer.js";
import { findProgram } from "../support/local-service.js";
import { useStateHosts } from "../support/state-host.js";
import { bound, faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";
import {
  expectRecovery,
  expectTokensToSurvive,
  ONE_SECOND,
  openLoggedIn,
  warmUpStorage,
} from "./storage-rig.js";

const OTHER_USER = 65_534;
const isRoot = process.getuid?.() === 0;
const echo = { command: process.execPath, args: [LEAN_SERVER] };
const hosts = useStateHosts();

beforeAll(warmUpStorage);

const pathOf = (harness: FaultHarness): string => join(harness.folder, "state.db");

// D02

faultCase(
  "D02",
  "BEGIN EXCLUSIVE: waits, then fails with BUSY; tool calls work; writes work after the lock",
  async (harness) => {
    const busyTimeoutMs = bound(800, 5_000);
    const store = sqliteStore(pathOf(harness), { busyTimeoutMs });
    const rig = await openLoggedIn(harness, store);
    const holder = hosts.start(["lock", pathOf(harness), "120000"]);
    harness.atEnd(() => holder.kill());
    await holder.begun;

    const began = performance.now();
    await harness.fails(store.put("a", 1), { code: "BUSY", withinMs: busyTimeoutMs + ONE_SECOND });
    expect(performance.now() - began).toBeGreaterThanOrEqual(busyTimeoutMs);
    await expectTokensToSurvive(harness, rig, { code: "BUSY", withinMs: busyTimeoutMs + ONE_SECOND });
    // A new server can be used, although it is not saved.
    expect(await rig.toolport.add("added", echo)).toMatchObject({ state: "ready" });
    expect((await rig.toolport.callTool("added__echo", { text: "hi" })).text).toBe("hi");
    expect(rig.warnings.join("\n")).toContain("(BUSY)");

    await holder.kill();
    await expectRecovery(rig);
    expect(await store.put("a", 1)).toBeGreaterThan(0);
  },
);

faultCase("D02", "released in time: no call fails", async (harness) => {
  const store = harness.keep(sqliteStore(pathOf(harness)));
  await store.put("a", 0);
  const holder = hosts.start(["lock", pathOf(harness), "400"]);
  harness.atEnd(() => holder.kill());
  await holder.begun;
  expect(await store.put("a", 1, { secret: true })).toBeGreaterThan(0);
  await holder.result();
});

// D03

/** A separate file system, unmounted at the end. */
function mountTmpfs(harness: FaultHarness, size: string): string {
  const folder = join(harness.folder, "small");
  mkdirSync(folder);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size},mode=700`, "tmpfs", folder], { stdio: "pipe" });
  // The driver closes some files only at garbage collection.
  harness.atEnd(() => execFileSync("umount", ["--lazy", folder], { stdio: "pipe" }));
  return folder;
}

/** Why no small file system can be mounted here, if so. */
function whyNoMount(): string | false {
  if (process.platform !== "linux" || !isRoot) return "only root can mount a tmpfs";
  try {
    execFileSync("unshare", ["-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], { stdio: "pipe" });
    return false;
  } catch {
    return "this machine does not let root mount a tmpfs";
  }
}
const noMount = whyNoMount();

faultCase(
  "D03",
  "64 KiB tmpfs: FULL from the start, and everything that needs no store works",
  async (harness) => {
    const path = join(mountTmpfs(harness, "64k"), "state.db");
    const store = harness.keep(sqliteStore(path));
    const toolport = harness.open({}, { store });
    const warnings: string[] = [];
    toolport.on("warning", ({ message }) => warnings.push(message));
    const fill = async () => {
      for (let index = 0; ; index++) await store.put(`filler/${index}`, "x".repeat(10_000));
    };
    await harness.fails(fill(), { code: "FULL", withinMs: ONE_SECOND });
    expect(await harness.within(ONE_SECOND, toolport.add("it", echo))).toMatchObject({ state: "ready" });
    expect((await toolport.callTool("it__echo", { text: "hi" })).text).toBe("hi");
    expect(warnings.join("\n")).toContain("(FULL)");
  },
  { skip: noMount },
);

faultCase(
  "D03",
  "tmpfs that fills up during a login: FULL, the old token intact, and writes work after it",
  async (harness) => {
    const folder = mountTmpfs(harness, "512k");
    const store = sqliteStore(join(folder, "state.db"));
    const rig = await openLoggedIn(harness, store);
    fillUp(join(folder, "ballast"));
    await harness.fails(store.put("more", "x".repeat(100_000)), { code: "FULL", withinMs: ONE_SECOND });
    await expectTokensToSurvive(harness, rig, { code: "FULL", withinMs: ONE_SECOND });
    rmSync(join(folder, "ballast"));
    await expectRecovery(rig);
    expect(await store.put("more", 1)).toBeGreaterThan(0);
  },
  { skip: noMount },
);

function fillUp(path: string): void {
  for (const size of [65_536, 4_096, 512, 1]) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(size), { flag: "a" });
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe("ENOSPC");
    }
  }
}

faultCase(
  "D03",
  "file system that became read-only: reported, the old token intact, and writes work after it",
  async (harness) => {
    const folder = mountTmpfs(harness, "1m");
    const store = sqliteStore(join(folder, "state.db"));
    const rig = await openLoggedIn(harness, store);
    const remount = (how: string) =>
      execFileSync("mount", ["-o", `remount,bind,${how}`, folder], { stdio: "pipe" });
    execFileSync("mount", ["--bind", folder, folder], { stdio: "pipe" });
    harness.atEnd(() => execFileSync("umount", ["--lazy", folder], { stdio: "pipe" }));
    remount("ro");
    const fresh = harness.keep(sqliteStore(join(folder, "state.db")));
    await harness.fails(fresh.put("a", 1), { code: "UNAVAILABLE", withinMs: ONE_SECOND });
    for (let calls = 0; calls < 10; calls++) expect(await rig.whoami()).toBe("ada");
    remount("rw");
    rig.bench.expireAccessTokens();
    await expectRecovery(rig);
    expect(await fresh.put("a", 1)).toBeGreaterThan(0);
  },
  { skip: noMount },
);

interface Filled {
  readonly error: Pick<StateError, "name" | "code">;
  readonly written: number;
  readonly token: string;
  readonly count: number;
}

const limits: Record<string, readonly string[] | undefined> = {
  "prlimit --fsize": findProgram("prlimit") === undefined ? undefined : ["prlimit", "--fsize=307200"],
  // Dash and bash count differently.
  "ulimit -f": process.platform === "win32" ? undefined : ["sh", "-c", 'ulimit -f 600; exec "$@"', "sh"],
};
for (const [name, limited] of Object.entries(limits)) {
  faultCase(
    "D03",
    `${name}: FULL, the old token and all written records intact`,
    async (harness) => {
      const { error, written, token, count } = await hosts
        .start(["fill", pathOf(harness)], limited)
        .result<Filled>();
      expect(error).toMatchObject({ name: "StateError", code: "FULL" });
      expect([token, count]).toEqual(["the old token", written]);
      expect(written).toBeGreaterThan(0);
      const store = harness.keep(
        sqliteStore(pathOf(harness), { onWarning: ({ message }) => expect.fail(message) }),
      );
      expect((await store.get("token"))?.value).toBe("the old token");
      expect(await store.put("a", 1)).toBeGreaterThan(0);
    },
    { skip: limited === undefined && "there is no such limit here", neighbour: false },
  );
}

for (const kind of ["a new file", "a saved file"]) {
  faultCase(
    "D03",
    `read-only folder, ${kind}: reported, and nothing changed`,
    async (harness) => {
      const folder = join(harness.folder, "read-only");
      const path = join(folder, "state.db");
      mkdirSync(folder);
      chmodSync(harness.folder, 0o755);
      if (kind === "a saved file") await saveToken(path);
      const before = existsSync(path) && readFileSync(path);
      for (const file of readdirSync(folder)) {
        if (isRoot) chownSync(join(folder, file), OTHER_USER, OTHER_USER);
        chmodSync(join(folder, file), 0o400);
      }
      chmodSync(folder, 0o555);
      harness.atEnd(() => chmodSync(folder, 0o755));
      const host = hosts.start(["read-only", path, String(OTHER_USER)]);
      const { error } = await host.result<{ error: StateError }>();
      expect(error).toMatchObject({ name: "StateError", code: "UNAVAILABLE" });
      expect(error.message).toContain(path);
      expect(existsSync(path) && readFileSync(path)).toEqual(before);
    },
    { skip: process.platform === "win32" && "Windows has other rights", neighbour: false },
  );
}

async function saveToken(path: string): Promise<void> {
  const store = sqliteStore(path);
  await store.put("token", "the old token", { secret: true });
  await store.close();
}
