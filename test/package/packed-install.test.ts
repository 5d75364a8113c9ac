/**
 * The packed tarball in an empty directory, with production dependencies only, on every Node that is supported: the README's first
 * example, `demo`, `list`, `call`, and an uncaught error through a pipe. `npm run test:package`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../tree/source-files.js";
import { packInto } from "./pack.js";

const NODES = [20, 22, 24];
const SERVERS_OF_THE_README = [
  "@modelcontextprotocol/server-filesystem",
  "@modelcontextprotocol/server-everything",
];

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

let home: string;
let project: string;
/** The program that npm linked. */
let toolport: string;

/** Runs a program to its end. A program that hangs is killed and has no exit code. */
async function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Ended> {
  const child = spawn(command, args, {
    cwd: project,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 60_000,
  });
  const ended = once(child, "close");
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await ended;
  return { code, stdout, stderr };
}

/** The environment of a user, with this `node` first in the PATH. */
async function userOf(node: string, name: string): Promise<Record<string, string>> {
  const folder = join(home, name);
  await mkdir(folder);
  const path = `${dirname(node)}${delimiter}${process.env["PATH"]}`;
  return { PATH: path, HOME: folder, XDG_STATE_HOME: join(folder, "state"), NO_COLOR: "1" };
}

beforeAll(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), "toolport-installed-")));
  project = join(home, "project");
  toolport = join(project, "node_modules/.bin/toolport");
  await mkdir(project);
  await writeFile(join(project, "package.json"), '{ "private": true }');
  const options = ["--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const installed = await run("npm", ["install", ...options, await packInto(home)]);
  expect(installed).toMatchObject({ code: 0 });
  const server = { command: "node", args: ["node_modules/toolport/dist/cli/demo/notes-server.js"] };
  await writeFile(join(project, ".mcp.json"), JSON.stringify({ mcpServers: { notes: server } }));
}, 180_000);

afterAll(() => rm(home, { recursive: true, force: true }));

it("installs no development dependency and no optional package", async () => {
  const names = await readdir(join(project, "node_modules"));
  expect(names).toEqual(expect.arrayContaining(["toolport", "@modelcontextprotocol", "zod"]));
  expect(
    names.filter((name) => /^(vitest|typescript|@photostructure|ai|@langchain|ioredis|pg)$/.test(name)),
  ).toEqual([]);
});

it("takes at most 30 MiB, all dependencies included", async () => {
  const { stdout } = await run("du", ["-sm", "--apparent-size", "node_modules"]);
  expect(Number.parseInt(stdout, 10)).toBeLessThanOrEqual(30);
});

it("demo exits with an error when its servers cannot start", async () => {
  const ws = join(project, "node_modules/ws");
  await rename(ws, `${ws}-away`);
  try {
    const { code, stdout } = await run(process.execPath, [toolport, "demo"]);
    expect(stdout).toContain("Cannot find package 'ws'");
    expect(code).toBe(1);
  } finally {
    await rename(`${ws}-away`, ws);
  }
});

it("toolport/testing names the package that it needs", async () => {
  const program = join(project, "testing.mjs");
  const lines = [
    'import { createTestServer } from "toolport/testing";',
    "await createTestServer({}).http().catch(({ code, message }) => console.log(code, message));",
  ];
  await writeFile(program, lines.join("\n"));
  const { stdout } = await run(process.execPath, [program]);
  expect(stdout).toMatch(/^INVALID_CONFIG .*npm install --save-dev @modelcontextprotocol\/server/);
});

describe.each(NODES)("Node %i", (major) => {
  let node: string;
  let env: Record<string, string>;
  beforeAll(async () => {
    const { fetchNode } = await import("../../scripts/fetch-tool.mjs" as string);
    node = await fetchNode(major);
    env = await userOf(node, `node${major}`);
  }, 300_000);

  it("runs the README's first example", async () => {
    await Promise.all(SERVERS_OF_THE_README.map(provideServer));
    const program = join(project, `example-${major}.mjs`);
    await writeFile(program, await firstExample());
    const { code, stdout, stderr } = await run(node, [program], env);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^files ready \d+/m);
    expect(stdout).toMatch(/^everything ready \d+/m);
    expect(stdout).toContain("[FILE] package.json");
  });

  it("runs demo", async () => {
    const { code, stdout, stderr } = await run(node, [toolport, "demo", "--json"], env);
    const { ok, steps } = JSON.parse(stdout);
    expect(steps.filter((step: { ok: boolean }) => !step.ok)).toEqual([]);
    expect([ok, code, stderr]).toEqual([true, 0, ""]);
  });

  it("runs list and call, and keeps the user's consent between them", async () => {
    expect((await run(node, [toolport, "call", "notes.add_note", "text=hello"], env)).code).toBe(2);
    const listed = await run(node, [toolport, "list", "--yes", "--json"], env);
    expect([listed.code, listed.stderr]).toEqual([0, ""]);
    expect(JSON.parse(listed.stdout)).toMatchObject({
      counts: { ok: 1, error: 0 },
      // Node 20 has no SQLite.
      state: join(env["XDG_STATE_HOME"]!, "toolport", major === 20 ? "state.json" : "state.db"),
    });
    const called = await run(node, [toolport, "call", "notes.add_note", "text=hello"], env);
    expect(called).toEqual({ code: 0, stdout: "Note 1 is kept\n", stderr: "" });
  });

  it("exec names the missing package, and runs a program once it is installed", async () => {
    const program = join(project, "program.ts");
    await writeFile(program, "const id: string = await tools.notes.processId(); return Number(id) > 0;");
    await run(node, [toolport, "list", "--yes"], env);
    const peers = ["quickjs-wasi", "sucrase"];
    await Promise.all(
      peers.map((name) => rm(join(project, "node_modules", name), { recursive: true, force: true })),
    );
    const missing = await run(node, [toolport, "exec", program], env);
    expect(missing.stderr).toContain("npm install quickjs-wasi");
    expect(missing.code).toBe(2);
    await Promise.all(peers.map(provide));
    const ran = await run(node, [toolport, "exec", program], env);
    expect([ran.code, ran.stdout]).toEqual([0, "true\n"]);
    const cjs = `const { createToolport } = require("toolport"); const { createCodeMode } = require("toolport/code");
      const toolport = createToolport(); const code = createCodeMode(toolport);
      code.execute("return 6 * 7").then(async ({ value }) => { console.log(value); await code.close(); await toolport.close(); });`;
    expect((await run(node, ["-e", cjs], env)).stdout).toBe("42\n");
  });

  it("shows the message of an uncaught error through a pipe", async () => {
    const code = `import { createToolport } from "toolport"; createToolport({ mcpServers: { files: { transport: "x" } } })`;
    const script = ["-c", '"$@" 2>&1 | cat', "sh", node, "--input-type=module", "-e", code];
    const { stdout } = await run("sh", script, env);
    expect(stdout.length).toBeLessThan(4_096);
    expect(stdout).toContain("mcpServers.files.transport");
    expect(stdout).toContain(`Node.js v${major}.`);
  });
});

/** A package of this project, in place of an install from the registry. Copied: a link would find its dependencies here. */
async function provide(packageName: string): Promise<void> {
  const from = join(root, "node_modules", packageName);
  await cp(from, join(project, "node_modules", packageName), { recursive: true });
  const { dependencies = {} } = JSON.parse(await readFile(join(from, "package.json"), "utf8"));
  for (const name of Object.keys(dependencies))
    if (!existsSync(join(project, "node_modules", name))) await provide(name);
}

/** A server that `npx -y` would fetch. It is installed in the project, so no registry is needed. */
async function provideServer(packageName: string): Promise<void> {
  const target = join(project, "node_modules", packageName);
  await symlink(join(root, "node_modules", packageName), target, "junction").catch(ignoreExisting);
  const { bin } = JSON.parse(await readFile(join(target, "package.json"), "utf8"));
  const [[name, file]] = Object.entries<string>(bin) as [[string, string]];
  await symlink(join(target, file), join(project, "node_modules/.bin", name)).catch(ignoreExisting);
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

/** As a reader would paste it. */
async function firstExample(): Promise<string> {
  const [, example = ""] = /```ts\n(.*?)```/s.exec(await readFile(join(root, "README.md"), "utf8")) ?? [];
  return example;
}
