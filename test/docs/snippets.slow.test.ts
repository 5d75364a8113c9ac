/** Checks the documentation: its code compiles, its files load, its links exist, its lists are complete. */
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { loadConfig } from "toolport/node";
import { describe, expect, it } from "vitest";
import { checkSnippets, isForWorkers } from "./check-snippets.js";
import { readDocumentation, readMarkdown, root } from "./markdown.js";

const MAX_README_LINES = 161;
/** Blocks marked `no-check` are not verified, so only a few are allowed: the four engines of docs/durable-engines.md. */
const MAX_UNCHECKED = 4;

const documents = readDocumentation();
const blocks = documents.flatMap(({ path, blocks: found }) => found.map((block) => ({ path, ...block })));

describe("ts blocks", () => {
  const typed = blocks.filter(({ language }) => ["ts", "typescript", "tsx"].includes(language));
  const checked = typed.filter(({ notes }) => notes !== "no-check");

  it("are checked, with few exceptions", () => {
    expect(checked.length).toBeGreaterThan(10);
    expect(typed.length - checked.length).toBeLessThanOrEqual(MAX_UNCHECKED);
    const odd = typed.filter(({ notes }) => notes !== "" && notes !== "no-check");
    expect(odd.map(({ path, line, notes }) => `${path}:${line - 1} ${notes}`)).toEqual([]);
  });

  it("compile against the sources", { timeout: 240_000 }, () => {
    // Those for Workers need other types: packages/adapters/test/agents-document.test.ts checks them.
    const forNode = checked.filter(({ text }) => !isForWorkers(text));
    expect(checked.length - forNode.length).toBe(2);
    expect(checkSnippets(forNode)).toEqual([]);
  });

  it("are reported with file and line when they do not", { timeout: 240_000 }, () => {
    const text = 'import { createToolport } from "toolport";\ncreateToolport({ nope: 1 });';
    const problems = checkSnippets([{ path: "docs/wrong.md", line: 7, text }]);
    expect(problems).toEqual([expect.stringMatching(/^docs\/wrong\.md:8 TS2353: .*'nope'/)]);
  });
});

describe("json blocks with servers", () => {
  const files = blocks.filter(
    ({ language, text }) => /^jsonc?$/.test(language) && text.includes('"mcpServers"'),
  );
  const anyVariable = new Proxy<Record<string, string>>({}, { get: () => "https://example.com/mcp" });

  it.each(files)("$path:$line loads", async ({ text }) => {
    const folder = await mkdtemp(join(tmpdir(), "toolport-docs-"));
    try {
      await writeFile(join(folder, "toolport.json"), text);
      const { mcpServers } = await loadConfig(folder, { env: anyVariable });
      expect(Object.keys(mcpServers).length).toBeGreaterThan(0);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("the documentation", () => {
  it(`has a README of less than ${MAX_README_LINES} lines`, () => {
    expect(readMarkdown("README.md").lines.length).toBeLessThan(MAX_README_LINES);
  });

  it("links only to files and headings that exist", () => {
    const broken = documents.flatMap(({ path, links }) =>
      links
        .filter(({ target }) => !/^[a-z]+:/i.test(target) && !leadsSomewhere(path, target))
        .map(({ target, line }) => `${path}:${line} ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it("names every guide in its index, and every option in the list of options", () => {
    const linked = ["docs", "docs/decisions"].flatMap((folder) =>
      readMarkdown(`${folder}/README.md`).links.map(({ target }) => posix.join(folder, target)),
    );
    const guides = documents.map(({ path }) => path).filter((path) => path.startsWith("docs/"));
    expect(guides.filter((path) => path !== "docs/README.md" && !linked.includes(path))).toEqual([]);

    const list = ["docs/options.md", "docs/docker.md"]
      .map((path) => readFileSync(join(root, path), "utf8"))
      .join("\n");
    const sources = [
      "packages/core/src/port/options.ts",
      "packages/core/src/config/server-entry.ts",
      "packages/core/src/protocol/server-requests/server-request-options.ts",
    ];
    const options = sources.flatMap((path) => {
      const text = readFileSync(join(root, path), "utf8");
      return [...text.matchAll(/^ {2}(\w+)\??: .*[^,]$/gm)].map(([, name = ""]) => name);
    });
    expect(options.length).toBeGreaterThan(60);
    expect(options.filter((name) => !new RegExp(`\\b${name}\\b`).test(list))).toEqual([]);
  });

  it("explains every error code", () => {
    const text = readFileSync(join(root, "docs/errors.md"), "utf8");
    const source = readFileSync(join(root, "packages/base/src/errors/toolport-error.ts"), "utf8");
    const unions = [...source.matchAll(/export type \w+ErrorCode =([^;]+);/g)];
    const codes = unions.flatMap(([, union = ""]) =>
      [...union.matchAll(/"([A-Z_]+)"/g)].map(([, code = ""]) => code),
    );
    expect(codes.length).toBeGreaterThan(20);
    expect(codes.filter((code) => !text.includes(`\`${code}\``))).toEqual([]);
  });
});

function leadsSomewhere(from: string, target: string): boolean {
  const [file = "", anchor] = target.split("#");
  const path = file === "" ? from : posix.join(dirname(from), file);
  if (!existsSync(join(root, path))) return false;
  return anchor === undefined || !path.endsWith(".md") || readMarkdown(path).anchors.has(anchor);
}
