/** A configuration file of every supported program loads, by its name and by its content. */
import { cp, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { createToolport } from "toolport";
import { loadConfig } from "toolport/node";
import { describe, expect, it } from "vitest";
import { fixtureFolder, fixtures, loadFixture, surroundings } from "../support/config-fixtures.js";

const expected = JSON.parse(await readFile(join(fixtureFolder, "expected.json"), "utf8")) as Record<
  string,
  unknown
>;

describe("a file of every dialect", () => {
  it("is among the fixtures", () => {
    expect(new Set(fixtures.map(({ kind }) => kind)).size).toBe(15);
  });

  it.each(fixtures)("$kind: $path loads", async (fixture) => {
    const loaded = (await loadFixture(fixture)) as { sources: Record<string, { kind: string }> };
    expect(loaded).toEqual(expected[fixture.path]);
    expect(new Set(Object.values(loaded.sources).map(({ kind }) => kind))).toEqual(new Set([fixture.kind]));
  });

  it.each(fixtures)("$kind: $path is accepted by createToolport", async ({ path }) => {
    const loaded = await loadConfig(join(fixtureFolder, path), surroundings);
    await using toolport = createToolport(loaded);
    expect(Object.keys(toolport.snapshot().servers)).toEqual(Object.keys(loaded.mcpServers));
  });

  it("is only read", async () => {
    const before = await contentOf(fixtureFolder);
    for (const fixture of fixtures) await loadFixture(fixture);
    expect(await contentOf(fixtureFolder)).toEqual(before);
  });
});

describe("a file whose name says nothing", () => {
  /** The other dialects have no distinctive fields. */
  const recognised = fixtures.filter(
    ({ kind, path }) =>
      !["claude-desktop", "cursor", "toolport", "copilot-cli"].includes(kind) &&
      path !== "claude-code/.claude.json",
  );

  it.each(recognised)("is recognised by its content: $kind", async ({ kind, path }) => {
    const folder = await mkdtemp(join(tmpdir(), "toolport-dialect-"));
    try {
      const original = (await loadConfig(join(fixtureFolder, path), surroundings)).files[0]!;
      const copy = join(folder, `copy${extname(original)}`);
      await cp(dirname(original), folder, { recursive: true });
      await cp(original, copy);
      const { sources } = await loadConfig(copy, { ...surroundings, onProblem: "report" });
      expect(new Set(Object.values(sources).map((source) => source.kind))).toEqual(new Set([kind]));
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("can be assigned to a program", async () => {
    const file = join(fixtureFolder, "langchain/servers.json");
    const { sources } = await loadConfig(file, { ...surroundings, dialect: "claude-code" });
    expect(sources["math"]?.kind).toBe("claude-code");
  });
});

async function contentOf(folder: string): Promise<Record<string, string>> {
  const names = await readdir(folder, { recursive: true });
  const content: Record<string, string> = {};
  for (const name of names) {
    const file = join(folder, name);
    const found = await stat(file);
    if (found.isFile()) content[name] = `${found.mtimeMs} ${await readFile(file, "utf8")}`;
  }
  return content;
}
