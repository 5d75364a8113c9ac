import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findConfigs, loadConfig, ownConfigFile } from "./index.js";

let root: string;
let home: string;
let project: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "toolport-find-"));
  home = join(root, "home");
  project = join(home, "work", "shop");
  await mkdir(join(project, "src", "deep"), { recursive: true });
});

afterEach(() => rm(root, { recursive: true, force: true }));

async function put(
  file: string,
  servers: Record<string, unknown> = {},
  container = "mcpServers",
): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, JSON.stringify({ [container]: servers }));
}

const shown = async (options: Parameters<typeof findConfigs>[0]) =>
  (await findConfigs({ home, env: {}, platform: "linux", ...options })).map(
    ({ file, kind, scope }) => `${scope} ${kind} ${relative(home, file)}`,
  );

describe("findConfigs", () => {
  it("finds the nearest project's files, then the user's, in order of precedence", async () => {
    await put(join(project, ".vscode/mcp.json"));
    await put(join(project, "toolport.json"));
    await put(join(project, ".mcp.json"));
    await put(join(home, "work", ".mcp.json"));
    await put(join(home, ".cursor/mcp.json"));
    await put(join(home, ".claude.json"));
    await put(join(home, ".config/Claude/claude_desktop_config.json"));
    await put(join(home, ".config/toolport/toolport.json"));
    await mkdir(join(home, ".gemini/settings.json"), { recursive: true });
    expect(await shown({ cwd: join(project, "src", "deep") })).toEqual([
      "project toolport work/shop/toolport.json",
      "project claude-code work/shop/.mcp.json",
      "project vscode work/shop/.vscode/mcp.json",
      "user toolport .config/toolport/toolport.json",
      "user claude-code .claude.json",
      "user claude-desktop .config/Claude/claude_desktop_config.json",
      "user cursor .cursor/mcp.json",
    ]);
    expect(await shown({ cwd: project, dialects: ["cursor", "vscode"] })).toEqual([
      "project vscode work/shop/.vscode/mcp.json",
      "user cursor .cursor/mcp.json",
    ]);
    expect(await shown({ cwd: project, scope: "user", dialects: ["vscode"] })).toEqual([]);
  });

  it("does not treat the user's files as project files", async () => {
    await put(join(home, ".cursor/mcp.json"));
    await put(join(home, ".mcp.json"));
    expect(await shown({ cwd: project })).toEqual(["user cursor .cursor/mcp.json"]);
    expect(await shown({ cwd: home })).toEqual([
      "project claude-code .mcp.json",
      "user cursor .cursor/mcp.json",
    ]);
  });

  it.each([
    ["darwin", {}, "Library/Application Support/Claude/claude_desktop_config.json", "claude-desktop"],
    ["darwin", {}, "Library/Application Support/Code/User/mcp.json", "vscode"],
    ["win32", {}, "AppData/Roaming/Claude/claude_desktop_config.json", "claude-desktop"],
    ["linux", { XDG_CONFIG_HOME: "xdg" }, "xdg/opencode/opencode.json", "opencode"],
    ["linux", { CODEX_HOME: "codex" }, "codex/config.toml", "codex"],
    ["linux", { COPILOT_HOME: "copilot" }, "copilot/mcp-config.json", "copilot-cli"],
    ["linux", {}, ".codeium/windsurf/mcp_config.json", "windsurf"],
    ["linux", {}, ".config/zed/settings.json", "zed"],
    ["linux", {}, ".gemini/settings.json", "gemini-cli"],
    ["linux", {}, ".mcporter/mcporter.json", "mcporter"],
    ["linux", {}, ".mcp-inspector/mcp.json", "inspector"],
    [
      "linux",
      {},
      ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
      "cline",
    ],
  ] as const)("%s %j: %s", async (platform, variables, path, kind) => {
    await put(join(home, path));
    const env = Object.fromEntries(
      Object.entries(variables).map(([name, value]) => [name, join(home, value)]),
    );
    expect(await shown({ cwd: project, platform, env })).toEqual([`user ${kind} ${path}`]);
  });

  it("returns the path of Toolport's own file", () => {
    const of = (platform: NodeJS.Platform, env = {}) =>
      relative(home, ownConfigFile({ home, env, platform }));
    expect(of("linux")).toBe(".config/toolport/toolport.json");
    expect(of("win32")).toBe("AppData/Roaming/toolport/toolport.json");
    expect(of("linux", { XDG_CONFIG_HOME: join(home, "xdg") })).toBe("xdg/toolport/toolport.json");
  });
});

describe("loadConfig", () => {
  const surroundings = () => ({ home, env: {}, platform: "linux" as const });

  it("reads all files of a directory; the first of duplicate names takes precedence, with a warning", async () => {
    await put(join(project, ".mcp.json"), { both: { command: "claude" }, one: { command: "one" } });
    await put(
      join(project, ".vscode/mcp.json"),
      { both: { command: "code" }, two: { command: "two" } },
      "servers",
    );
    const loaded = await loadConfig(project, surroundings());
    expect(loaded.files).toEqual([join(project, ".mcp.json"), join(project, ".vscode/mcp.json")]);
    expect(loaded.mcpServers).toEqual({
      both: { command: "claude", cwd: project },
      one: { command: "one", cwd: project },
      two: { command: "two", cwd: project },
    });
    expect(loaded.warnings).toEqual([
      {
        file: join(project, ".vscode/mcp.json"),
        line: 1,
        path: "both",
        message: `is not used: ${join(project, ".mcp.json")}:1 has a server of this name and takes precedence`,
      },
    ]);
  });

  it("searches upwards without a path, and the user's files with scope all", async () => {
    await put(join(project, "toolport.json"), { own: { command: "own" } });
    await put(join(home, ".cursor/mcp.json"), { mine: { command: "mine" } });
    const cwd = join(project, "src", "deep");
    expect(Object.keys((await loadConfig(undefined, { ...surroundings(), cwd })).mcpServers)).toEqual([
      "own",
    ]);
    const all = await loadConfig(undefined, { ...surroundings(), cwd, scope: "all" });
    expect(Object.values(all.sources).map(({ scope }) => scope)).toEqual(["project", "user"]);
    // Servers of the user run in the current directory.
    expect(all.mcpServers["mine"]).toEqual({ command: "mine" });
  });

  it("reports that no file was found", async () => {
    const options = { ...surroundings(), cwd: project };
    await expect(loadConfig(undefined, options)).rejects.toMatchObject({
      code: "UNREADABLE_CONFIG",
      message: expect.stringContaining(
        `no configuration file with servers was found in ${project} or above it; create a toolport.json`,
      ),
    });
    expect(await loadConfig(undefined, { ...options, onProblem: "report" })).toMatchObject({
      mcpServers: {},
    });
  });

  it("accepts settings files without servers", async () => {
    await mkdir(join(project, ".gemini"), { recursive: true });
    await writeFile(join(project, ".gemini/settings.json"), '{ "theme": "x", "mcp": { "allowed": [] } }');
    expect(await loadConfig(project, surroundings())).toMatchObject({ mcpServers: {}, warnings: [] });
  });

  it("reads the files that an mcporter file imports, and no others", async () => {
    await mkdir(join(project, "config"));
    const own = { imports: ["cursor"], mcpServers: { own: { command: "own" } } };
    await writeFile(join(project, "config/mcporter.json"), JSON.stringify(own));
    await put(join(home, ".cursor/mcp.json"), { imported: { command: "x" }, own: { command: "y" } });
    await put(join(home, ".codex/config.toml"));
    const { mcpServers, sources } = await loadConfig(join(project, "config/mcporter.json"), surroundings());
    expect(mcpServers).toEqual({ own: { command: "own", cwd: project }, imported: { command: "x" } });
    expect(sources["imported"]).toMatchObject({ kind: "cursor", scope: "user" });
  });

  it("asks for each input once, and not for disabled servers", async () => {
    const asked: string[] = [];
    const variable = (id: string) => `\${input:${id}}`;
    await put(
      join(project, ".vscode/mcp.json"),
      {
        a: { command: "x", env: { K: variable("k"), L: variable("k") } },
        b: { command: "x", disabled: true, env: { K: variable("other") } },
      },
      "servers",
    );
    const inputs = (input: { id: string }) => {
      asked.push(input.id);
      return "answer";
    };
    const { mcpServers } = await loadConfig(project, { ...surroundings(), inputs });
    expect(asked).toEqual(["k"]);
    expect(mcpServers["a"]).toMatchObject({ env: { K: "answer", L: "answer" } });
  });

  it("returns the unexpanded entry together with the expanded one", async () => {
    const entry = { command: "./bin/x", env: { KEY: `$${"{KEY}"}` }, httpUrl: undefined };
    await put(join(project, ".mcp.json"), { a: entry });
    const { sources, mcpServers } = await loadConfig(project, { ...surroundings(), env: { KEY: "secret" } });
    expect(mcpServers["a"]).toMatchObject({ env: { KEY: "secret" } });
    expect(sources["a"]?.written).toEqual({ command: join(project, "bin/x"), env: { KEY: `$${"{KEY}"}` } });
  });
});
