import { utf8Length } from "@toolport/base";
import { beforeEach, describe, expect, test } from "vitest";
import { ArtifactStore, type Artifacts } from "../../execution/artifacts/artifact-store.js";
import { readArtifact } from "./read-artifact.js";

let artifacts: Artifacts;
beforeEach(() => {
  artifacts = new ArtifactStore().createPart();
});

const read = (text: string, args: Record<string, unknown> = {}) => {
  const { content, isError } = readArtifact(artifacts, { id: artifacts.keep(text), ...args });
  const texts = content.map((block) => (block as { text: string }).text);
  const [note = "", ...rest] = texts.join("\n").split("\n");
  const shown = rest.length === 0 ? undefined : rest.join("\n");
  expect(utf8Length(texts.join("\n"))).toBeLessThanOrEqual(20_000);
  return { note, shown, isError, value: () => JSON.parse(shown ?? "null") as unknown };
};

const rows = (count: number) =>
  Array.from({ length: count }, (_, id) => ({
    id,
    title: `Title ${id}`,
    user: { login: `u${id % 7}`, "e.mail": `${id}@x` },
    labels: [{ name: "bug" }, { name: `p${id % 3}` }],
  }));
const issues = JSON.stringify({ total: 1_300, issues: rows(1_300), next: null }, null, 2);
const lines = Array.from({ length: 2_000 }, (_, index) => `line ${index}`).join("\n");

describe("paging", () => {
  test("shows items of the longest list, and where to go on", () => {
    const { note, value } = read(issues, { from: 50 });
    expect(note).toBe("Items 50 to 99 of 1300 of issues. Next: from 100.");
    expect(value()).toEqual(rows(1_300).slice(50, 100));
  });

  test("the last page says nothing about a next one", () => {
    const { note, value } = read(issues, { from: 1_299, count: 10 });
    expect(note).toBe("Item 1299 of 1300 of issues.");
    expect(value()).toHaveLength(1);
  });

  test("following the notes gives every item once", () => {
    const seen: unknown[] = [];
    for (let from: number | undefined = 0; from !== undefined; ) {
      const { note, value } = read(issues, { from, count: 1_000 });
      seen.push(...(value() as unknown[]));
      const next = /Next: from (\d+)\./.exec(note)?.[1];
      from = next === undefined ? undefined : Number(next);
    }
    expect(seen).toEqual(rows(1_300));
  });

  test("shows lines of text, as they are written", () => {
    const { note, shown } = read(lines, { from: 10, count: 3 });
    expect(note).toBe("Lines 10 to 12 of 2000. Next: from 13.");
    expect(shown).toBe("line 10\nline 11\nline 12");
  });

  test("following the notes gives one huge line back, whole characters only", () => {
    const text = "😀a€".repeat(15_000);
    let whole = "";
    for (let from: string | undefined = "0"; from !== undefined; ) {
      const { note, shown = "" } = read(text, { from, count: 100 });
      expect(/\p{Cs}/u.test(shown)).toBe(false);
      whole += shown;
      from = /Next: from (\d+)\./.exec(note)?.[1];
    }
    expect(whole === text).toBe(true);
  });

  test("entries of an object with very many members", () => {
    const value = Object.fromEntries(
      Array.from({ length: 100_000 }, (_, id) => [`key ${id}`, { id, "a:b": "}" }]),
    );
    const page = read(JSON.stringify(value), { from: 99_999, fields: ["id"] });
    expect(page.note).toBe("Entry 99999 of 100000.");
    expect(page.value()).toEqual({ "key 99999": { id: 99_999 } });
  });

  test("an item that is larger than an answer becomes an artifact of its own", () => {
    const text = JSON.stringify([
      { name: "a", log: rows(2_000) },
      { name: "b", log: rows(2_000) },
    ]);
    const { note, shown } = read(text, { from: 1 });
    expect(note).toMatch(/^Item 1 of 2 alone has \d+ bytes\. Shape: \{ name: text, log: list of 2000 /);
    expect(shown?.startsWith('{"name":"b","log":[{"id":0,')).toBe(true);
    const [, id, from] = /read_artifact with \{"id":"([\w-]+)","from":(\d+)\}/.exec(note) ?? [];
    const inner = readArtifact(artifacts, { id, from: Number(from), count: 1 });
    expect(inner.text).toContain(`Item ${from} of 2000 of log.`);
  });
});

describe("find", () => {
  test("finds items by plain text, in any case, also escaped and unicode", () => {
    const value = [...rows(500), { id: 500, title: 'Say "Grüß Gott" to C:\\temp' }];
    const json = JSON.stringify(value);
    const ascii = json.replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
    for (const text of [json, ascii])
      for (const find of ['say "grüß', "GRÜSS".replace("SS", "ß"), "c:\\TEMP", '"id":500'])
        expect(read(text, { find }).note).toBe(
          `1 of 501 items contain ${JSON.stringify(find)}. Below: item 500.`,
        );
  });

  test("regular expressions mean nothing", () => {
    expect(read("a.b\naxb\n(a+)+$", { find: "a.b" }).shown).toBe("a.b");
    expect(read("a.b\naxb\n(a+)+$", { find: "(a+)+$" }).shown).toBe("(a+)+$");
  });

  test("counts all, and pages through them", () => {
    const first = read(issues, { find: '"u3"', count: 2 });
    expect(first.note).toBe(
      '186 of 1300 items of issues contain "\\"u3\\"". Below: items 3, 10. Next: from 17.',
    );
    const next = read(issues, { find: '"u3"', count: 2, from: 17 });
    expect(next.note).toContain("184 of 1300 items of issues, from 17 on contain");
    expect((next.value() as { id: number }[]).map(({ id }) => id)).toEqual([17, 24]);
    expect(read(issues, { find: "nowhere" }).note).toBe('None of 1300 items of issues contains "nowhere".');
  });

  test("without a match, nothing is said about fields", () => {
    expect(read(issues, { find: "nowhere", fields: ["id"] }).note).toBe(
      'None of 1300 items of issues contains "nowhere".',
    );
  });

  test("finds addresses that a server wrote with escaped slashes", () => {
    const value = Array.from({ length: 500 }, (_, id) => ({
      url: `https://example.com/p/${id}`,
      path: "C:\\x",
    }));
    const text = JSON.stringify(value).replaceAll("/", "\\/");
    expect(read(text, { find: "https://example.com/p/499" }).note).toContain("Below: item 499.");
    expect(read(text, { find: "c:\\x", count: 1 }).note).toMatch(/^500 of 500 items contain/);
  });

  test("finds a text where a long line was divided", () => {
    const text = `${"x".repeat(1_995)}needle in a haystack${"x".repeat(50_000)}`;
    expect(read(text, { find: "NEEDLE" }).note).toContain("1 of 27 lines contain");
  });

  test("searches 5 MB", () => {
    const text = `${"some words of a log line\n".repeat(200_000)}the needle\n`;
    expect(text.length).toBeGreaterThan(5_000_000);
    expect(read(text, { find: "needle" }).shown).toBe("the needle\n");
    const json = JSON.stringify(
      Array.from({ length: 60_000 }, (_, id) => ({ id, text: "words ".repeat(12) })),
    );
    expect(json.length).toBeGreaterThan(5_000_000);
    expect(read(json, { find: '"id":59999,' }).note).toContain("Below: item 59999.");
  });
});

describe("fields", () => {
  test("picks names and paths, through lists too, and keeps large numbers", () => {
    const text = JSON.stringify(rows(100)).replace('"id":1,', '"id":12345678901234567890,');
    const { shown } = read(text, {
      from: 1,
      count: 1,
      fields: ["id", "user.login", "labels.name", "user.e.mail", "labels.1.name"],
    });
    expect(shown).toBe(
      '[{"id":12345678901234567890,"user.login":"u1","labels.name":["bug","p1"],"user.e.mail":"1@x","labels.1.name":"p1"}]',
    );
  });

  test("names from the whole, and fields of the whole, are found too", () => {
    const { note, value } = read(issues, { count: 2, fields: "issues.title, total" });
    expect(note).toBe('Items 0 to 1 of 1300 of issues. Of the whole: {"total":1300}. Next: from 2.');
    expect(value()).toEqual([{ "issues.title": "Title 0" }, { "issues.title": "Title 1" }]);
  });

  test("a large field of the whole becomes an artifact", () => {
    const text = JSON.stringify({ big: rows(3_000), other: rows(1_000) });
    const { note } = read(text, { fields: ["other"] });
    const [, id] = /Of the whole: "other"\. .*"id":"([\w-]+)"/.exec(note) ?? [];
    expect(readArtifact(artifacts, { id, count: 1 }).text).toContain("Item 0 of 1000");
  });

  test("a field that is nowhere: the shape helps", () => {
    const { note, shown, isError } = read(issues, { fields: ["titel"] });
    expect(note).toMatch(/^Not found: "titel"\. Shape: \{ total: number, issues: list of 1300 /);
    expect([shown, isError]).toEqual([undefined, false]);
  });

  test("hostile paths end", () => {
    const deep = `[${"[".repeat(50_000)}${"]".repeat(50_000)},1]`;
    expect(read(deep, { fields: ["a.b.c"] }).note).toContain("Not found");
    expect(read(issues, { fields: ["__proto__", "constructor", ".", "...", "a..b"] }).note).toContain(
      "Not found",
    );
  });

  test("a name with dots does not hide a longer path", () => {
    const value = rows(500).map((row) => ({ ...row, "user.login": "dotted", "user.e": 1 }));
    const { shown } = read(JSON.stringify(value), { count: 1, fields: ["user.login", "user.e.mail"] });
    expect(shown).toBe('[{"user.login":"dotted","user.e.mail":"0@x"}]');
  });

  test("a name that is asked for twice is shown once", () => {
    expect(read(issues, { count: 1, fields: ["id", "title", "id"] }).shown).toBe(
      '[{"id":0,"title":"Title 0"}]',
    );
  });

  test("many paths through a large list are refused instead of holding the process", () => {
    const text = JSON.stringify(
      Array.from({ length: 40_000 }, (_, id) => ({ id, text: "words ".repeat(5) })),
    );
    const fields = Array.from({ length: 50 }, (_, index) => `${"a.".repeat(90)}${index}`);
    expect(read(text, { fields })).toMatchObject({
      isError: true,
      note: "That is too much to read at once: name fewer fields, or use from, count and find.",
    });
    expect(read(text, { fields: ["id", "nowhere"] }).note).toContain('Not found: "nowhere"');
  });

  test("apply to JSON only", () => {
    expect(read(lines, { fields: ["a"] })).toMatchObject({
      isError: true,
      note: expect.stringContaining("JSON only"),
    });
    expect(read(JSON.stringify({ path: "a.log", content: lines }), { fields: ["path"] }).note).toBe(
      'Of the whole: {"path":"a.log"}.',
    );
  });
});

describe("mistakes of the model", () => {
  test.each<[Record<string, unknown>, string]>([
    [{ id: undefined }, "id is missing"],
    [{ id: 7 }, "id is missing"],
    [{ id: "0123456789abcdef" }, "Call the tool that returned it again"],
    [{ id: "__proto__" }, "Call the tool that returned it again"],
    [{ id: "x".repeat(100_000) }, "Call the tool that returned it again"],
    [{ from: -1 }, "from must be"],
    [{ from: 1.5 }, "from must be"],
    [{ from: "two" }, "from must be"],
    [{ from: Number.MAX_SAFE_INTEGER }, "but there are 2000 lines"],
    [{ count: 0 }, "count must be"],
    [{ count: {} }, "count must be"],
    [{ find: 7 }, "find must be"],
    [{ find: "x".repeat(1_001) }, "find must be"],
    [{ fields: 7 }, "fields must be"],
    [{ fields: [7] }, "fields must be"],
    [{ fields: ["x".repeat(201)] }, "fields must be"],
    [{ fields: Array.from({ length: 51 }, String) }, "fields must be"],
  ])("%#: an error that says what to do", (args, said) => {
    const { note, isError } = read(lines, args);
    expect(isError).toBe(true);
    expect(note).toContain(said);
    expect(note.length).toBeLessThan(300);
  });

  test("numbers as text, and empty values, are understood", () => {
    const { note } = read(lines, { from: "5", count: "2", find: "", fields: [] });
    expect(note).toBe("Lines 5 to 6 of 2000. Next: from 7.");
    expect(read(lines, { from: null, count: null, find: null, fields: null }).isError).toBe(false);
  });
});
