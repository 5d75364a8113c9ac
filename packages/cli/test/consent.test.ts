/** Servers of a project are used only after the user agrees, and need new consent after every change. */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CommandLinePlace, createCommandLinePlace } from "../../../test/support/command-line.js";
import { startRecordingHttpServer } from "../../../test/support/recording-http-server.js";

const script = fileURLToPath(new URL("../../../test/fixtures/servers/stdio-lean.mjs", import.meta.url));
let place: CommandLinePlace;
let started = "";
beforeEach(() => {
  place = createCommandLinePlace();
  started = join(place.home, "started");
});
afterEach(() => place[Symbol.dispose]());

const local = (more: Record<string, unknown> = {}, ...flags: string[]) => ({
  command: process.execPath,
  args: [script, `--pid-file=${started}`, ...flags],
  ...more,
});
const write = (path: string, content: unknown) => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
};
const statusOf = async (args: readonly string[] = [], env = {}) => {
  const { json } = await place.run(["list", ...args, "--json"], { env });
  const { servers } = json<{ servers: { name: string; status: string; error?: { code: string } }[] }>();
  return servers.map(({ name, status, error }) => [name, status, error?.code]);
};
const OK = [["tool", "ok", undefined]];
const REFUSED = [["tool", "error", "NOT_TRUSTED"]];

test("starts and contacts nothing without a terminal, and suggests the command that gives consent", async () => {
  await using web = await startRecordingHttpServer();
  place.configure({
    tool: local(),
    "admin panel": { url: `${web.origin}/admin/shutdown`, headers: { "X-Confirm": "yes" } },
    events: { type: "sse", url: `${web.origin}/sse` },
    socket: { type: "websocket", url: `${web.origin.replace("http", "ws")}/ws` },
    box: { image: "mcp/time", engine: join(place.project, "engine.sh") },
  });
  write(join(place.project, "engine.sh"), `#!/bin/sh\ntouch ${started}\n`);
  const names = ["tool", "admin panel", "events", "socket", "box"];
  expect(await statusOf()).toEqual(names.toSorted().map((name) => [name, "error", "NOT_TRUSTED"]));
  const { code, error } = await place.run(["call", "tool.echo", "text=hi", "--json"]);
  expect([code, error().code, error().next]).toEqual([2, "NOT_TRUSTED", "toolport list tool --yes"]);
  const { code: listed, stderr } = await place.run(["list"]);
  expect(listed).toBe(2);
  expect(stderr).toContain(`"tool" of ${join(place.project, "toolport.json")}:3`);
  expect(stderr).toContain(`"args": ["${script}", "--pid-file=${started}"]`);
  expect(stderr).toContain("Try: toolport list tool 'admin panel' events socket box --yes");
  expect([existsSync(started), web.requests, web.connections]).toEqual([false, [], 0]);
});

test("requires consent for a project file of --config, and suggests a command with that file", async () => {
  await using web = await startRecordingHttpServer();
  write(join(place.project, "other servers.json"), { mcpServers: { web: { url: `${web.origin}/x` } } });
  const { code, error } = await place.run(["list", "-c", "other servers.json", "--json"]);
  expect([code, error().next]).toEqual([2, "toolport list web --config 'other servers.json' --yes"]);
  expect(web.connections).toBe(0);
});

test("needs no consent for a server that the user added to the project file", async () => {
  await using web = await startRecordingHttpServer();
  await place.run(["add", "web", `${web.origin}/mcp`, "--project", "--no-check"]);
  expect(web.connections).toBe(0);
  expect((await statusOf())[0]?.[2]).not.toBe("NOT_TRUSTED");
  expect(web.connections).toBeGreaterThan(0);
});

describe("after consent", () => {
  test("uses the server until any part of it changes", async () => {
    place.configure({ tool: local() });
    expect(await statusOf(["--yes"])).toEqual(OK);
    expect(await statusOf()).toEqual(OK);
    expect(readFileSync(started, "utf8").trim().split("\n").length).toBeGreaterThan(1);
    for (const changed of [
      local({}, "--garbage"),
      local({ env: { TOKEN: "x" } }),
      local({ cwd: place.home }),
      local({ command: "node" }),
      local({ timeoutMs: 5_000 }),
    ]) {
      place.configure({ tool: changed });
      expect(await statusOf()).toEqual(REFUSED);
    }
    const { stderr } = await place.run(["list"]);
    expect(stderr).toContain("it has changed since you agreed to it");
    place.configure({ tool: local() });
    expect(await statusOf()).toEqual(OK);
  });

  // `packages/config/src/trust-records.test.ts` covers more names.
  test.each(["HOME", "PYTHONUSERBASE", "ANY_NAME_AT_ALL"])(
    "asks again after a new value of %s in the file, and starts nothing",
    async (name) => {
      place.configure({ tool: local({ env: { [name]: "/one" } }) });
      expect(await statusOf(["--yes"])).toEqual(OK);
      rmSync(started);
      place.configure({ tool: local({ env: { [name]: "/two" } }) });
      expect(await statusOf()).toEqual(REFUSED);
      expect(existsSync(started)).toBe(false);
    },
  );

  test("asks again after a new header, default of a variable or query of a URL", async () => {
    await using web = await startRecordingHttpServer();
    const remote = (query: string, header: string) => ({
      tool: { url: `${web.origin}/mcp?x=${query}`, headers: { "X-Fixed": header } },
    });
    place.configure(remote("1", "a"));
    await place.run(["list", "--yes"]);
    for (const changed of [remote("2", "a"), remote("1", "b"), remote(`\${X:-1}`, "a")]) {
      const before = web.connections;
      place.configure(changed);
      expect(await statusOf()).toEqual(REFUSED);
      expect(web.connections).toBe(before);
    }
  });

  test("does not ask after a change of the user's environment or home", async () => {
    write(join(place.home, "secret.txt"), "one");
    write(join(place.home, "mine.env"), "MINE=one");
    place.configure({
      tool: local({
        env: { SOME_TOKEN: `\${SOME_TOKEN}`, SECRET: `\${file:~/secret.txt}` },
        envFile: "~/mine.env",
      }),
    });
    expect(await statusOf(["--yes"], { SOME_TOKEN: "a" })).toEqual(OK);
    write(join(place.home, "secret.txt"), "two");
    write(join(place.home, "mine.env"), "MINE=two");
    expect(await statusOf([], { SOME_TOKEN: "b" })).toEqual(OK);
  });

  test.each([
    ["envFile", ".env", { envFile: ".env" }],
    ["envFile by a word", ".env", { envFile: `\${workspaceFolder}/.env` }],
    ["envFile by a variable", "dev.env", { envFile: `./\${STAGE}.env` }],
    ["a file in a variable", "key.txt", { env: { KEY: `\${file:./key.txt}` } }],
  ])(
    "asks again after a change of a project file that the entry refers to: %s",
    async (_what, file, more) => {
      const env = { STAGE: "dev" };
      write(join(place.project, file), "NODE_OPTIONS=");
      place.configure({ tool: local(more) });
      expect(await statusOf(["--yes"], env)).toEqual(OK);
      expect(await statusOf([], env)).toEqual(OK);
      rmSync(started);
      write(join(place.project, file), "NODE_OPTIONS=--no-warnings");
      expect(await statusOf([], env)).toEqual(REFUSED);
      const { stderr } = await place.run(["list"], { env });
      expect(stderr).toContain("a project file that it reads has changed since you agreed to it");
      rmSync(join(place.project, file));
      expect(await statusOf([], env)).toEqual(REFUSED);
      expect(existsSync(started)).toBe(false);
      write(join(place.project, file), "NODE_OPTIONS=");
      expect(await statusOf([], env)).toEqual(OK);
    },
  );

  test("treats files of the same repository and linked files as project files", async () => {
    const root = join(place.project, "..", "repository");
    mkdirSync(join(root, ".git"), { recursive: true });
    renameSync(place.project, join(root, "part"));
    symlinkSync(realpathSync(join(root, "part")), place.project);
    write(join(place.home, "one.txt"), "same");
    write(join(place.home, "two.txt"), "other");
    const link = join(place.project, "link.txt");
    symlinkSync(join(place.home, "one.txt"), link);
    write(join(root, "shared.env"), "A=1");
    const config = join(root, "part", "toolport.json");
    write(config, {
      mcpServers: { tool: local({ envFile: "../shared.env", env: { LINKED: `\${file:./link.txt}` } }) },
    });
    const run = () => statusOf(["--config", config]);
    expect(await statusOf(["--config", config, "--yes"])).toEqual(OK);
    expect(await run()).toEqual(OK);
    write(join(root, "shared.env"), "A=2");
    expect(await run()).toEqual(REFUSED);
    write(join(root, "shared.env"), "A=1");
    expect(await run()).toEqual(OK);
    rmSync(link);
    symlinkSync(join(place.home, "two.txt"), link);
    expect(await run()).toEqual(REFUSED);
  });

  test("asks again after a change of an input's default", async () => {
    const file = join(place.project, ".vscode/mcp.json");
    const withDefault = (value: string) => ({
      inputs: [
        { id: "mode", type: "promptString", default: value },
        { id: "unused", type: "promptString", default: value },
      ],
      servers: { tool: local({ env: { MODE: `\${input:mode}` } }) },
    });
    write(file, withDefault("a"));
    expect(await statusOf(["--yes"])).toEqual(OK);
    expect(await statusOf()).toEqual(OK);
    write(file, withDefault("b"));
    expect(await statusOf()).toEqual(REFUSED);
  });

  test("asks again if the same text is read in another dialect", async () => {
    const servers = { tool: { ...local(), env: { A: "$B" } } };
    write(join(place.project, "s.json"), { mcpServers: servers });
    expect(await statusOf(["-c", "s.json", "--yes"])).toEqual(OK);
    write(join(place.project, "s.json"), {
      mcpServers: { ...servers, other: { httpUrl: "http://127.0.0.1:9", disabled: true } },
    });
    expect((await statusOf(["-c", "s.json"])).at(-1)).toEqual(REFUSED[0]);
  });

  test("applies to that server only, and only with the same state", async () => {
    place.configure({ one: local(), two: local() });
    expect(await statusOf(["one", "--yes"])).toEqual([["one", "ok", undefined]]);
    expect((await statusOf()).map(([, status]) => status)).toEqual(["ok", "error"]);
    expect((await statusOf(["--no-state"])).map(([, status]) => status)).toEqual(["error", "error"]);
    const { error } = await place.run(["tools", "--no-state", "--json"]);
    expect(error().next).toBe("toolport tools … --yes");
  });
});

test("asks about an entry named like a property of Object.prototype", async () => {
  write(
    join(place.project, "toolport.json"),
    `{"mcpServers":{"toString":{"command":"\${NODE}"},"__proto__":{"command":"\${NODE}"}}}`,
  );
  const { code, stdout, error } = await place.run(["list", "--json"], { env: { NODE: process.execPath } });
  expect([code, error().server]).toEqual([2, "toString"]);
  expect(stdout).not.toContain("is not set");
});

test("does not suggest a command with a name that looks like an option", async () => {
  place.configure({ "--config=other.json": local(), "$(touch x)": local() });
  const { error } = await place.run(["tools", "--json"]);
  expect(error().next).toBe("toolport tools … --yes");
  const { error: one } = await place.run(["tools", "$(touch x)", "--json"]);
  expect(one().next).toBe("toolport list '$(touch x)' --yes");
});

test("needs no consent for the user's own file or for a disabled server, which is not expanded", async () => {
  place.configure({ off: { ...local(), enabled: false, env: { A: `\${NOT_SET}` } } });
  write(join(place.home, ".config", "toolport", "toolport.json"), { mcpServers: { mine: local() } });
  expect(await statusOf()).toEqual([
    ["mine", "ok", undefined],
    ["off", "disabled", "DISABLED"],
  ]);
  const { stderr } = await place.run(["list", "--verbose"]);
  expect(stderr).not.toContain("NOT_SET");
});

test("asks about a fallback in a project file together with the server that uses it", async () => {
  await using web = await startRecordingHttpServer();
  write(join(place.home, ".config", "toolport", "toolport.json"), {
    mcpServers: { mine: { url: "http://127.0.0.1:9/mcp", fallback: "theirs" } },
  });
  place.configure({ theirs: { url: `${web.origin}/mcp` } });
  const { code, error } = await place.run(["call", "mine.x", "--json"]);
  expect([code, error().next]).toEqual([2, "toolport list theirs --yes"]);
  expect(web.connections).toBe(0);
});

test("shows the unexpanded entry with its risks, escaped for the terminal", async () => {
  place.configure({
    tool: local({
      env: {
        HTTPS_PROXY: "http://proxy.example:8080",
        https_proxy: "http://proxy.example:8080",
        NODE_TLS_REJECT_UNAUTHORIZED: "0",
        NODE_EXTRA_CA_CERTS: "./ca.pem",
        NODE_OPTIONS: "--import ./x.js",
        TEXT: "right\u202eleft\u001b[2J",
      },
    }),
    web: {
      url: "http://example.com/mcp?api_key=CANARY-123",
      headers: {
        Authorization: "Bearer CANARY-456",
        "X-Key": `\${file:~/.ssh/id_rsa}`,
        "X-User": `\${USER}`,
      },
    },
  });
  const { stderr } = await place.run(["list", "--no-color"]);
  expect(stderr).toContain('"HTTPS_PROXY": "http://proxy.example:8080"');
  expect(stderr).toMatch(
    /DANGER +sets HTTPS_PROXY, https_proxy, which can redirect its traffic through another machine/,
  );
  expect(stderr).toMatch(
    /DANGER +sets NODE_TLS_REJECT_UNAUTHORIZED, NODE_EXTRA_CA_CERTS, which can change or disable certificate checks/,
  );
  expect(stderr).toMatch(/DANGER +sets NODE_OPTIONS, which can change which code runs/);
  expect(stderr).toMatch(/DANGER +reads ~\/\.ssh\/id_rsa/);
  expect(stderr).toMatch(/DANGER +is not encrypted/);
  expect(stderr).toMatch(/note +takes USER from your environment/);
  expect(stderr).toContain("right\\u{202e}left");
  expect(stderr.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  // Without a terminal, the output may end up in a log.
  expect(stderr).not.toContain("CANARY");
});
