/** The program as a real process: fast help, and complete cleanup in all cases. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { CLIENT_INFO } from "@toolport/base";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CommandLineBench, createCommandLineBench, ended } from "../../../test/support/command-line.js";
import { isAlive, waitForExit } from "../../../test/support/processes.js";
import { waitFor } from "../../../test/support/wait-for.js";

const script = fileURLToPath(new URL("../../../test/fixtures/servers/stdio-lean.mjs", import.meta.url));
const hook = (name: string) => new URL(`../../../test/fixtures/hosts/${name}.mjs`, import.meta.url).href;
let bench: CommandLineBench;
let pids = "";
beforeAll(async () => {
  bench = await createCommandLineBench();
  pids = join(bench.home, "pids");
  bench.configure({
    lean: { command: process.execPath, args: [script, `--pid-file=${pids}`, "--ignore-eof", "--child"] },
  });
});
afterAll(() => bench[Symbol.dispose]());

const startedPids = () => (existsSync(pids) ? readFileSync(pids, "utf8").trim().split("\n").map(Number) : []);

describe("help and version load only a few light modules", () => {
  test.each([[["--help"]], [["--version"]], [["call", "--help"]], [["nonsense"]]])("%j", async (args) => {
    const file = join(bench.home, `modules-${args.join("")}`);
    const options = { nodeArgs: ["--import", hook("list-modules")], env: { MODULES_FILE: file } };
    await bench.spawn(args, options);
    const loaded = readFileSync(file, "utf8").trim().split("\n");
    const own = loaded.filter((url) => url.startsWith("file:") && !url.includes("list-modules"));
    expect(own.filter((url) => url.includes("node_modules"))).toEqual([]);
    const heavy = own.filter((url) =>
      /\/(config|stores|transports|toolport|port|catalog|execution)[/.]/.test(
        url.split(/\/\.cache\/|\/packages\/toolport\/dist/)[1] ?? url,
      ),
    );
    expect(heavy).toEqual([]);
    expect(own.length).toBeLessThan(45);
  });

  test("prints help and version on stdout", async () => {
    const help = await bench.spawn(["--help"]);
    expect([help.code, help.stderr]).toEqual([0, ""]);
    for (const name of ["list", "call", "tools", "types", "watch"])
      expect(help.stdout).toMatch(new RegExp(`^  ${name} `, "m"));
    expect((await bench.spawn(["--version"])).stdout).toBe(`${CLIENT_INFO.version}\n`);
  });
});

test("prints one JSON document on stdout, and one JSON line on stderr after an error", async () => {
  const { code, json, stderr } = await bench.spawn(["list", "--json", "--yes"]);
  expect([code, stderr, json()["counts"]]).toEqual([
    0,
    "",
    { ok: 1, auth: 0, offline: 0, error: 0, disabled: 0 },
  ]);
  const wrong = await bench.spawn(["call", "lean.eco", "--json", "--yes"]);
  expect([wrong.code, wrong.stdout, wrong.error().next]).toEqual([1, "", "toolport call lean.echo"]);
  for (const pid of startedPids()) await waitForExit(pid);
});

describe.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const)("%s", (signal, exitCode) => {
  test(`ends the program with ${exitCode}, and its servers`, async () => {
    const before = startedPids().length;
    const child = bench.start(["call", "lean.slow", "ms:=60000", "--yes"]);
    const end = ended(child);
    await waitFor(() => startedPids().length >= before + 2);
    // The call may start slightly later, which does not affect the cleanup.
    child.kill(signal);
    const { code, stdout, stderr } = await end;
    expect({ code, stdout, stderr }).toEqual({ code: exitCode, stdout: "", stderr: "" });
    for (const pid of startedPids()) await waitForExit(pid);
  });
});

test("exits quietly when stdout is closed early", async () => {
  const child = bench.start(["call", "lean.big", "bytes:=3000000", "--yes"]);
  let stderr = "";
  child.stderr?.on("data", (text) => {
    stderr += String(text);
  });
  child.stdout?.once("data", () => child.stdout?.destroy());
  const code = await new Promise((resolve) => child.once("exit", resolve));
  expect([code, stderr]).toEqual([0, ""]);
  for (const pid of startedPids()) await waitForExit(pid);
});

test("watch prints a JSON line per event, including a crash and a reconnect, until Ctrl-C", async () => {
  const child = bench.start(["watch", "lean", "--yes"]);
  const end = ended(child);
  const events: { event: string; server: string; to?: string; at: string }[] = [];
  createInterface({ input: child.stdout! }).on("line", (line) => events.push(JSON.parse(line) as never));
  const states = () => events.filter(({ event }) => event === "state").map(({ to }) => to);
  await waitFor(() => states().includes("ready"));
  const [pid] = startedPids().filter(isAlive);
  process.kill(pid!, "SIGKILL");
  await waitFor(() => states().filter((to) => to === "ready").length === 2);
  expect(states()).toContain("reconnecting");
  expect(events[0]).toMatchObject({
    event: "state",
    server: "lean",
    at: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  child.kill("SIGINT");
  const { code, stderr } = await end;
  expect([code, stderr]).toEqual([130, ""]);
  for (const started of startedPids()) await waitForExit(started);
});
