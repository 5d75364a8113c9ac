/** Servers that come with a project start nothing before the user has seen the exact commands and agreed. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type CommandLinePlace, createCommandLinePlace } from "../support/command-line.js";

const script = fileURLToPath(new URL("../fixtures/servers/stdio-lean.mjs", import.meta.url));
let place: CommandLinePlace;
let started = "";
beforeAll(() => {
  place = createCommandLinePlace();
  started = join(place.home, "started");
});
afterAll(() => place[Symbol.dispose]());
beforeEach(() => rmSync(started, { force: true }));

const local = (more: Record<string, unknown> = {}, ...flags: string[]) => ({
  command: process.execPath,
  args: [script, `--pid-file=${started}`, ...flags],
  ...more,
});
const statusOf = async (args: readonly string[], env = {}) => {
  const { json } = await place.run(["list", ...args, "--json"], { env });
  const { servers } = json<{
    servers: { name: string; status: string; error?: { code: string; next: string } }[];
  }>();
  return servers.map(({ name, status, error }) => [name, status, error?.code]);
};

test("without a terminal and without --yes: nothing is started, and the error says which command to run", async () => {
  place.configure({ tool: local(), web: { url: "http://127.0.0.1:9/mcp" } });
  expect(await statusOf([])).toEqual([
    ["tool", "error", "NOT_TRUSTED"],
    ["web", "offline", "UNREACHABLE"],
  ]);
  const { code, error } = await place.run(["call", "tool.echo", "text=hi", "--json"]);
  expect([code, error().code, error().next]).toEqual([2, "NOT_TRUSTED", "toolport list tool --yes"]);
  const { stderr } = await place.run(["list"]);
  expect(stderr).toContain(
    `comes from ${join(place.project, "toolport.json")}:3:\n  runs      ${process.execPath} ${script}`,
  );
  expect(existsSync(started)).toBe(false);
});

describe("agreed to once", () => {
  test("it is used from then on, until anything of it changes", async () => {
    place.configure({ tool: local() });
    expect(await statusOf(["--yes"])).toEqual([["tool", "ok", undefined]]);
    expect(await statusOf([])).toEqual([["tool", "ok", undefined]]);
    expect(readFileSync(started, "utf8").trim().split("\n").length).toBeGreaterThan(1);
    for (const changed of [
      local({}, "--garbage"),
      local({ env: { TOKEN: "x" } }),
      local({ cwd: place.home }),
      local({ command: "node" }),
    ]) {
      place.configure({ tool: changed });
      expect(await statusOf([])).toEqual([["tool", "error", "NOT_TRUSTED"]]);
    }
    const { stderr } = await place.run(["list"]);
    expect(stderr).toContain("has changed since you agreed to it");
    place.configure({ tool: local() });
    expect(await statusOf([])).toEqual([["tool", "ok", undefined]]);
  });

  test("a new value of a variable that is no program's business asks nothing", async () => {
    const withVariable = local({ env: { SOME_TOKEN: `\${SOME_TOKEN}` } });
    place.configure({ tool: withVariable });
    expect(await statusOf(["--yes"], { SOME_TOKEN: "a" })).toEqual([["tool", "ok", undefined]]);
    expect(await statusOf([], { SOME_TOKEN: "b" })).toEqual([["tool", "ok", undefined]]);
  });

  test("it holds for that server only, and not without the state it is kept in", async () => {
    place.configure({ one: local(), two: local() });
    expect(await statusOf(["one", "--yes"])).toEqual([["one", "ok", undefined]]);
    expect((await statusOf([])).map(([, status]) => status)).toEqual(["ok", "error"]);
    expect((await statusOf(["--no-state"])).map(([, status]) => status)).toEqual(["error", "error"]);
  });
});

test("a remote server of a project that is sent values of this machine needs it, too; one that is not does not", async () => {
  place.configure({
    thief: { url: "http://127.0.0.1:9/mcp", headers: { "X-Key": `\${SECRET_KEY}` } },
    plain: { url: "http://127.0.0.1:9/mcp" },
  });
  expect(await statusOf([], { SECRET_KEY: "s3cret" })).toEqual([
    ["thief", "error", "NOT_TRUSTED"],
    ["plain", "offline", "UNREACHABLE"],
  ]);
});

test("the user's own file needs none; a disabled server asks nothing", async () => {
  place.configure({ off: { ...local(), enabled: false } });
  const own = join(place.home, ".config", "toolport", "toolport.json");
  mkdirSync(dirname(own), { recursive: true });
  writeFileSync(own, JSON.stringify({ mcpServers: { mine: local() } }));
  expect(await statusOf([])).toEqual([
    ["off", "disabled", "DISABLED"],
    ["mine", "ok", undefined],
  ]);
});
