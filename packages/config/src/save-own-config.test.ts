import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { exportConfig, loadConfig, saveOwnConfig } from "./index.js";

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolport-save-"));
  file = join(folder, "toolport.json");
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

const written = `{
    // what we use
    "mcpServers": {
        "files": { "command": "npx" /* pinned */, "args": ["-y", "server"] }, // keep
        "time": {
            "command": "uvx",
            "disabled": true,
        },
    },
    "other": [1,   2],
}
`;

describe("saveOwnConfig", () => {
  it("creates a file that loads", async () => {
    const path = join(folder, "new", "toolport.json");
    await saveOwnConfig(path, { add: { time: { command: "uvx", args: ["mcp-server-time"] } } });
    expect(await readFile(path, "utf8")).toBe(
      '{\n  "mcpServers": {\n    "time": {\n      "command": "uvx",\n      "args": [\n        "mcp-server-time"\n      ]\n    }\n  }\n}\n',
    );
    expect(Object.keys((await loadConfig(path)).mcpServers)).toEqual(["time"]);
    expect(await modeOf(path)).toBe("644");
    expect(await readdir(join(folder, "new"))).toEqual(["toolport.json"]);
  });

  it("keeps comments, order and formatting", async () => {
    await writeFile(file, written);
    await saveOwnConfig(file, { disable: ["files"], enable: ["time"] });
    const text = await readFile(file, "utf8");
    expect(text).toContain("// what we use");
    expect(text).toContain("/* pinned */");
    expect(text).toContain("// keep");
    expect(text).toContain('"other": [1,   2],');
    const { mcpServers } = await loadConfig(file);
    expect(mcpServers).toMatchObject({ files: { enabled: false } });
    expect(mcpServers["time"]).toEqual({ command: "uvx" });
    await saveOwnConfig(file, { enable: ["files"], remove: ["time"], add: { more: { command: "x" } } });
    const after = await readFile(file, "utf8");
    expect(after).toContain("/* pinned */");
    expect(after).toMatch(/^ {8}"more": \{$/m);
    expect(Object.keys((await loadConfig(file)).mcpServers)).toEqual(["files", "more"]);
  });

  it("makes a file with secrets private, and keeps the mode of other files", async () => {
    await writeFile(file, '{ "mcpServers": {} }');
    await chmod(file, 0o664);
    const variable = `$${"{TOKEN}"}`;
    await saveOwnConfig(file, {
      add: { a: { url: "https://x.example/", headers: { Authorization: variable } } },
    });
    expect(await modeOf(file)).toBe("664");
    await saveOwnConfig(file, { add: { b: { command: "x", env: { KEY: "secret" } } } });
    expect(await modeOf(file)).toBe("600");
  });

  it("copies a server from another program's file without its secrets", async () => {
    await mkdir(join(folder, ".cursor"));
    const variable = `$${"{env:KEY}"}`;
    const entry = { url: `${variable}/mcp`, headers: { "X-Key": variable } };
    await writeFile(join(folder, ".cursor/mcp.json"), JSON.stringify({ mcpServers: { a: entry } }));
    const env = { KEY: "https://x.example" };
    const { sources } = await loadConfig(folder, { env });
    await saveOwnConfig(file, { add: { a: sources["a"]!.written } });
    expect(await readFile(file, "utf8")).not.toContain("x.example");
    expect((await loadConfig(file, { env })).mcpServers["a"]).toMatchObject({ url: "https://x.example/mcp" });
  });

  it("changes the target of a symbolic link", async () => {
    await writeFile(join(folder, "real.json"), '{ "mcpServers": {} }');
    await symlink(join(folder, "real.json"), file);
    await saveOwnConfig(file, { add: { a: { command: "x" } } });
    expect(await readFile(join(folder, "real.json"), "utf8")).toContain('"a"');
  });

  it.each([
    [{ remove: ["fils"] }, "UNKNOWN_SERVER", /no server "fils" in the file; did you mean "files"\?/],
    [{ enable: ["nope"] }, "UNKNOWN_SERVER", /no server "nope"/],
    [{ add: { files: { command: "x" } } }, "DUPLICATE_SERVER", /already contains a server "files"/],
    [{ add: { bad: { url: "nowhere" } } }, "INVALID_CONFIG", /bad\.url/],
    [
      { add: { bad: { url: "https://x.example", headers: () => ({}) } } },
      "INVALID_CONFIG",
      /which a file cannot contain/,
    ],
  ])("rejects %j and changes nothing", async (changes, code, message) => {
    await writeFile(file, written);
    const failure = saveOwnConfig(file, changes);
    await expect(failure).rejects.toMatchObject({ code });
    await expect(failure).rejects.toThrow(message);
    expect(await readFile(file, "utf8")).toBe(written);
    expect(await readdir(folder)).toEqual(["toolport.json"]);
  });

  it.each([".mcp.json", "claude_desktop_config.json", ".vscode/mcp.json", ".codex/config.toml"])(
    "%s belongs to another program",
    async (name) => {
      const failure = saveOwnConfig(join(folder, name), { add: { a: { command: "x" } } });
      await expect(failure).rejects.toThrow(
        "belongs to another program, whose files Toolport does not change",
      );
      expect(await readdir(folder)).toEqual([]);
    },
  );
});

describe("exportConfig", () => {
  const servers = {
    files: { command: "npx", args: ["-y", "server"], env: { KEY: "CANARY" }, cwd: "/srv" },
    weather: { url: "https://x.example/mcp", headers: { Authorization: "Bearer CANARY" } },
    time: { image: "mcp/time", mounts: ["/a:/b"] },
    live: { url: "wss://x.example/mcp" },
    off: { command: "x", enabled: false },
  } as const;

  it.each(["vscode", "claude", "cursor", "toolport"] as const)(
    "writes a file for %s that loads again",
    async (dialect) => {
      const { text, variables, warnings } = exportConfig(servers, dialect);
      expect({ text, variables, warnings }).toMatchSnapshot();
      expect(text).not.toContain("CANARY");
      const path = {
        vscode: ".vscode/mcp.json",
        claude: ".mcp.json",
        cursor: ".cursor/mcp.json",
        toolport: "toolport.json",
      };
      await mkdir(join(folder, ".vscode"));
      await mkdir(join(folder, ".cursor"));
      await writeFile(join(folder, path[dialect]), text);
      const env = { KEY: "one", WEATHER_AUTHORIZATION: "two" };
      const { mcpServers } = await loadConfig(join(folder, path[dialect]), { env, inputs: env });
      expect(mcpServers).toMatchObject({
        files: { command: "npx", env: { KEY: "one" } },
        weather: { headers: { Authorization: "Bearer two" } },
      });
    },
  );

  it("distinguishes equal names of two servers, and keeps existing references", () => {
    const { text, variables } = exportConfig(
      {
        a: { command: "x", env: { KEY: "one", SAME: "s", REF: `$${"{env:OUTER}"}` } },
        b: { command: "y", env: { KEY: "two", SAME: "s" } },
      },
      "claude",
    );
    expect(variables).toEqual(["KEY", "SAME", "OUTER", "B_KEY"]);
    expect(text).toContain(`"REF": "$${"{OUTER}"}"`);
  });

  it("includes secrets only on request", () => {
    expect(exportConfig(servers, "claude", { secrets: "keep" }).text).toContain("Bearer CANARY");
  });
});
