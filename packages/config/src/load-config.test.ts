// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts under test look like this
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "@toolport/base";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseServers } from "../../core/src/config/parse-servers.js";
import { loadConfig } from "./index.js";

let directory: string;
let file: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "toolport-config-"));
  file = join(directory, "toolport.json");
});

afterEach(() => rm(directory, { recursive: true, force: true }));

async function failureOf(
  content: string | Uint8Array,
  env: Record<string, string> = {},
): Promise<ConfigError> {
  await writeFile(file, content);
  const error = await loadConfig(file, { env }).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(ConfigError);
  return error as ConfigError;
}

const linesOf = (error: ConfigError) => error.issues.map(({ line, path }) => `${line} ${path}`);

const good = `{
  // a hand-written file
  "$schema": "https://example.com/schema.json",
  "mcpServers": {
    "files": { "command": "./bin/files", "args": ["\${ROOT:-.}"], "cwd": "data" },
    /* remote */
    "weather": {
      "url": "https://example.com/mcp",
      "headers": { "Authorization": "Bearer \${TOKEN}" },
    },
  },
}
`;

describe("a valid file", () => {
  test.each([
    ["by its path", () => file],
    ["by its directory", () => directory],
  ])("is read %s", async (_how, path) => {
    await writeFile(file, good);
    const config = await loadConfig(path(), { env: { TOKEN: "abc" } });
    expect(config).toMatchObject({
      mcpServers: {
        files: { command: join(directory, "bin/files"), args: ["."], cwd: join(directory, "data") },
        weather: { url: "https://example.com/mcp", headers: { Authorization: "Bearer abc" } },
      },
      files: [file],
      sources: {
        files: { file, line: 5, kind: "toolport", scope: "project" },
        weather: { file, line: 7, kind: "toolport", scope: "project" },
      },
      issues: [],
      warnings: [],
    });
    expect([...parseServers(config.mcpServers).keys()]).toEqual(["files", "weather"]);
  });

  test("may have any name, a byte order mark and Windows line breaks", async () => {
    file = join(directory, "my servers.jsonc");
    await writeFile(file, `\uFEFF${good.replaceAll("\n", "\r\n")}`);
    const { sources } = await loadConfig(file, { env: { TOKEN: "abc" } });
    expect(sources.weather?.line).toBe(7);
  });

  test("takes variables from the process by default", async () => {
    await writeFile(file, '{ "mcpServers": { "a": { "command": "x", "env": { "P": "${PATH}" } } } }');
    const { mcpServers } = await loadConfig(file);
    expect(mcpServers.a).toMatchObject({ env: { P: process.env.PATH } });
  });

  test("passes additional fields on", async () => {
    await writeFile(file, '{ "mcpServers": { "a": { "command": "x", "outputHandling": "content" } } }');
    expect(await loadConfig(file, { extraKeys: ["outputHandling"] })).toMatchObject({
      mcpServers: { a: { outputHandling: "content" } },
    });
  });

  test("may contain no servers", async () => {
    await writeFile(file, '{ "mcpServers": {} }');
    expect(await loadConfig(file)).toMatchObject({ mcpServers: {} });
  });
});

describe("a file that is not JSON", () => {
  test.each([
    ['{\n  "mcpServers": {\n    "a": { "command" "npx" }\n  }\n}', 3, "a colon is missing"],
    ['{\n  "mcpServers": {\n    "a": {}\n    "b": {}\n  }\n}', 4, "a comma is missing"],
    ['{\n  "mcpServers": {\n    "a": { "command": "npx }\n  }\n}', 3, "a string is not closed"],
    ['{\n  "mcpServers": {', 2, "a closing brace is missing"],
    ["{ mcpServers: {} }", 1, "unexpected text that is not JSON"],
    ["", 1, "a value is expected"],
  ])("%j fails at line %i", async (content, line, message) => {
    const error = await failureOf(content);
    expect(error.code).toBe("UNREADABLE_CONFIG");
    expect(error.issues).toMatchObject([{ file, line }]);
    expect(error.message).toMatch(new RegExp(`toolport.json:${line}: column \\d+: ${message}`));
  });

  test.each<[string, string | Uint8Array, string]>([
    ["too large", " ".repeat(50_000_000), "larger than 8388608 bytes; move other content elsewhere"],
    ["not UTF-8", new Uint8Array([0x7b, 0xff, 0x7d]), "not UTF-8"],
    ["endlessly nested", "[".repeat(500_000), "nested too deeply"],
    [
      "deeply nested",
      `${'{"a":'.repeat(3_000)}1${"}".repeat(3_000)}`,
      "toolport.json:1: it is nested too deeply",
    ],
  ])("%s", async (_name, content, message) => {
    const error = await failureOf(content);
    expect(error.code).toBe("UNREADABLE_CONFIG");
    expect(error.message).toContain(message);
  });

  test("is missing", async () => {
    await expect(loadConfig(directory)).rejects.toMatchObject({
      code: "UNREADABLE_CONFIG",
      issues: [{ file, message: "there is no such file" }],
    });
    await expect(loadConfig(join(directory, "nope", "x.json"))).rejects.toMatchObject({
      code: "UNREADABLE_CONFIG",
    });
  });
});

describe("a file with invalid entries", () => {
  test("reports every issue with its line", async () => {
    const error = await failureOf(`{
  "mcpServers": {
    "a": {
      "command": "npx",
      "args": [
        "x",
        1
      ]
    },
    "b": { "url": "nowhere" },
    "c": { "command": "npx", "comand": "npx" },
    "d": {},
    "a": { "command": "npx", "cwd": "x", "cwd": "y" }
  }
}`);
    expect(error.code).toBe("INVALID_CONFIG");
    expect(linesOf(error)).toEqual([
      "10 mcpServers.b.url",
      "11 mcpServers.c.comand",
      "12 mcpServers.d",
      "13 mcpServers.a",
      "13 mcpServers.a.cwd",
    ]);
    expect(error.message).toContain(`${file}:13: mcpServers.a: is given twice (first on line 3)`);
  });

  test("reports paths in arrays", async () => {
    const error = await failureOf('{\n"mcpServers": {\n"a": {\n"command": "x",\n"args": [\n"y",\n1\n] } } }');
    expect(linesOf(error)).toEqual(["7 mcpServers.a.args[1]"]);
  });

  test("reports each unset variable once", async () => {
    const error = await failureOf(`{
  "mcpServers": {
    "a": { "url": "\${BASE}/mcp",
           "headers": { "Authorization": "Bearer \${TOKEN}", "X-Other": "\${env:OTHER}" } }
  }
}`);
    expect(linesOf(error)).toEqual([
      "3 mcpServers.a.url",
      "4 mcpServers.a.headers.Authorization",
      "4 mcpServers.a.headers.X-Other",
    ]);
    expect(error.issues[0]?.message).toContain("needs the variable BASE, which is not set");
  });

  test("never reports the value of a variable", async () => {
    const error = await failureOf(
      '{ "mcpServers": { "a": { "url": "${SECRET}", "headers": { "A": "${LINES}" } } } }',
      {
        SECRET: "CANARY",
        LINES: "CANARY\r\nCANARY",
      },
    );
    expect(linesOf(error)).toEqual(["1 mcpServers.a.url", "1 mcpServers.a.headers.A"]);
    expect(JSON.stringify(error.issues) + error.message).not.toContain("CANARY");
  });

  test("cannot modify the prototype of objects", async () => {
    const error = await failureOf(
      '{ "mcpServers": { "__proto__": { "command": "x" }, "a": { "command": "x", "__proto__": {} } } }',
    );
    expect(linesOf(error)).toEqual(["1 mcpServers.__proto__", "1 mcpServers.a.__proto__"]);
    expect(({} as Record<string, unknown>).command).toBeUndefined();
  });

  test.each([
    ['{ "mcpservers": {} }', '(did you mean it instead of "mcpservers"?)'],
    ["[]", "is missing"],
    ['{ "mcpServers": [] }', "must be an object"],
    ['{ "mcpServers": null }', "must be an object"],
  ])("%s has no servers", async (content, message) => {
    const error = await failureOf(content);
    expect(linesOf(error)).toEqual(["1 mcpServers"]);
    expect(error.message).toContain(message);
  });
});
