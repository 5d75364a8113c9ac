import { sanitiseText } from "@toolport/base";
import { describe, expect, test } from "vitest";
import { cpuTimeMs } from "../../../../../test/support/cpu-time.js";
import { readSourceTool, type SourceTool } from "../source-tool.js";
import { findSuspicious, suspiciousIn } from "./sanitise.js";

const tags = (text: string) =>
  [...text].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join("");

/** Hidden text, and its number of characters. */
const HIDDEN: readonly [string, string, number][] = [
  ["control characters", "\u0000\u0007\u001b\u007f\u0085\u009b", 6],
  ["direction marks", "\u202a\u202e\u2066\u2069\u200e\u200f\u061c", 7],
  ["zero-width characters", "\u200b\ufeff\u2060\u2064\u180e\u200c\u200d", 7],
  ["Unicode tags", `\u{e0001}${tags("do evil")}\u{e007f}`, 9],
  ["variation selectors and fillers", "\ufe00\ufe0f\u{e0100}\u{e01ef}\u3164\u115f\ufff9", 7],
];

/** A definition as it is read from a list. */
function read(fields: Record<string, unknown>): SourceTool {
  const result = readSourceTool({ name: "t", inputSchema: {}, ...fields }, { withHeaders: false });
  if (!("tool" in result)) throw new Error(result.withheld.reason);
  return result.tool;
}

describe.each(HIDDEN)("%s", (_what, hidden, count) => {
  const dirty = `List ${hidden}files`;

  test.each<[string, (tool: SourceTool) => string | undefined, Record<string, unknown>]>([
    ["title", (tool) => tool.title, { title: dirty }],
    ["description", (tool) => tool.description, { description: dirty }],
    [
      "annotation title",
      (tool) => tool.annotations?.title,
      { annotations: { title: dirty, readOnlyHint: true } },
    ],
  ])("are removed from the %s and counted", (_field, textOf, fields) => {
    const tool = read(fields);
    expect(textOf(tool)).toBe("List files");
    expect(tool.removedCharacters).toBe(count);
    expect(suspiciousIn(tool).count).toBe(0);
    if (fields["annotations"]) expect(tool.annotations?.readOnlyHint).toBe(true);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["name", { name: dirty }, "/name"],
    ["enum", { inputSchema: { enum: ["a", dirty] } }, "/inputSchema/enum/1"],
    [
      "default",
      { inputSchema: { properties: { a: { default: dirty } } } },
      "/inputSchema/properties/a/default",
    ],
    [
      "parameter name",
      { inputSchema: { properties: { x: {}, [dirty]: {} } } },
      `/inputSchema/properties/${dirty}`,
    ],
    ["output schema", { outputSchema: { title: dirty } }, "/outputSchema/title"],
  ])("in the %s are only reported", (_field, fields, path) => {
    const tool = read(fields);
    expect(tool).toMatchObject(fields);
    expect(tool.removedCharacters).toBe(0);
    expect(suspiciousIn(tool)).toEqual({ count, paths: [path] });
  });
});

test("counts hidden characters of all texts of a tool together, and ignores values that are not text", () => {
  const tool = read({ title: "a\u200b", description: "b\u200b\u200b", annotations: { title: "c\u200b" } });
  expect(tool).toMatchObject({
    title: "a",
    description: "b",
    annotations: { title: "c" },
    removedCharacters: 4,
  });
  const odd = read({ title: 42, description: null, annotations: { title: 7 } });
  expect(odd).toMatchObject({ title: undefined, description: undefined, removedCharacters: 0 });
});

describe("keeps legitimate characters", () => {
  test.each([
    ["plain text", "Reads a file.\n\t- quickly"],
    ["accents", "Crée un résumé"],
    ["an emoji", "fire 🔥!"],
    ["a family", "👨‍👩‍👧‍👦"],
    ["a skin colour", "👩🏽‍💻 codes"],
    ["a heart that needs a selector", "❤️"],
    ["a heart on fire", "❤️‍🔥"],
    ["a rainbow flag", "🏳️‍🌈"],
    ["a national flag", "🇳🇴"],
    ["the flag of Scotland", `🏴${tags("gbsct")}\u{e007f}`],
    ["keycaps", "1️⃣ #️⃣"],
    ["a sign as text", "☎\ufe0e"],
    ["Persian", "می\u200cخواهم"],
    ["Arabic with vowels", "مُ\u200dحَ"],
    ["Hindi", "क्\u200dष"],
    ["a Malayalam chillu at the end", "ന്\u200d"],
    ["Sinhala", "ශ්\u200dරී"],
    ["Bengali", "র\u200c্য"],
    ["Mongolian", "ᠠ\u180b"],
    ["Hebrew", "שלום"],
    ["Chinese", "天气查询"],
  ])("%s: %j", (_what, text) => {
    expect(sanitiseText(text)).toEqual({ text, removed: 0 });
  });
});

describe("removes characters that are not needed", () => {
  test.each([
    ["joiners between Latin letters", "a\u200db\u200cc", "abc", 2],
    ["one of two joiners in a row", "👨\u200d\u200d👩", "👨\u200d👩", 1],
    ["a joiner before nothing", "👨\u200d", "👨", 1],
    ["a selector on a letter", "a\ufe0f", "a", 1],
    ["a selector on a digit that is not a keycap", "1\ufe0f2", "12", 1],
    ["a second selector", "❤\ufe0f\ufe0f", "❤\ufe0f", 1],
    ["selectors that carry bytes", "😊\u{e0158}\u{e0155}", "😊", 2],
    ["tags after an invalid flag", `🏴${tags("evil")}\u{e007f}`, "🏴", 5],
    ["tags after a valid flag", `🏴${tags("gbeng")}\u{e007f}${tags("x")}`, `🏴${tags("gbeng")}\u{e007f}`, 1],
    ["a joiner next to a removed character", "👨\u200d\u200b👩", "👨\u200d👩", 1],
    ["carriage returns", "a\r\nb", "a\nb", 1],
    ["terminal sequences", "\u001b[31mred\u001b]8;;x\u0007", "[31mred]8;;x", 3],
    ["half a pair", "a\ud83db\udc00", "a\ufffdb\ufffd", 2],
    ["two halves of a pair around a removed character", "\ud83d\u200b\ude00", "\ufffd\ufffd", 3],
  ])("%s", (_what, text, expected, removed) => {
    expect(sanitiseText(text)).toEqual({ text: expected, removed });
  });
});

test("is idempotent", () => {
  const alphabet = [
    ...["a", "1", "#", " ", "\n", "\r", "\u001b", "\u200b", "\u200c", "\u200d", "\ufe0e", "\ufe0f", "\ufe00"],
    ...[
      "\u20e3",
      "👨",
      "🏽",
      "🏴",
      "❤",
      "م",
      "क",
      "\u094d",
      "ᠠ",
      "\u180b",
      "\u{e0067}",
      "\u{e0062}",
      "\u{e007f}",
    ],
    ...["\ud83d", "\ude00", "\u202e", "\u{e0100}", `🏴${tags("gbeng")}\u{e007f}`],
  ];
  let seed = 42;
  const next = (below: number) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  for (let round = 0; round < 20_000; round += 1) {
    const text = Array.from({ length: next(10) }, () => alphabet[next(alphabet.length)]).join("");
    const once = sanitiseText(text).text;
    expect(sanitiseText(once), JSON.stringify(text)).toEqual({ text: once, removed: 0 });
  }
});

describe("checking a schema", () => {
  test("reports the first locations only, escaped", () => {
    const list = Array.from({ length: 100 }, () => "a\u200b");
    const { count, paths } = findSuspicious({ "a/b~c": list });
    expect(count).toBe(100);
    expect(paths).toHaveLength(20);
    expect(paths[0]).toBe("/a~1b~0c/0");
  });

  test("supports any depth and circular values", () => {
    let deep: unknown = "\u200b";
    for (let level = 0; level < 100_000; level += 1) deep = { a: deep };
    expect(findSuspicious(deep).count).toBe(1);
    const round: Record<string, unknown> = { a: "\u200b" };
    round["self"] = round;
    expect(findSuspicious(round).count).toBe(1);
  });
});

test("sanitises a long text of hidden characters in linear time", () => {
  const started = cpuTimeMs();
  expect(sanitiseText("a\u200d".repeat(200_000)).removed).toBe(200_000);
  expect(cpuTimeMs() - started).toBeLessThan(2_000);
});
