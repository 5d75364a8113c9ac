import { describe, expect, test } from "vitest";
import { visibleLine, visibleText } from "./visible-text.js";

/** Visible characters of these classes: Arabic, Syriac and Kaithi signs that enclose or precede digits. */
const VISIBLE = /[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]/u;
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

test("every control, format, separator and ignorable character of Unicode is escaped", () => {
  const shown: string[] = [];
  for (let code = 0; code <= 0x10ffff; code += 1) {
    const character = String.fromCodePoint(code);
    if (!HIDDEN.test(character) || VISIBLE.test(character) || "\n\t\r".includes(character)) continue;
    if (!/^a\\(x[0-9a-f]{2}|u\{[0-9a-f]+\})b$/.test(visibleText(`a${character}b`)))
      shown.push(code.toString(16));
  }
  expect(shown).toEqual([]);
});

describe("legitimate text stays unchanged", () => {
  test.each([
    ["lines and tabs", "a\n\tb"],
    ["a family", "👨‍👩‍👧‍👦"],
    ["a heart on fire", "❤️‍🔥"],
    ["the flag of Scotland", "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}"],
    ["keycaps", "1️⃣"],
    ["Persian", "می\u200cخواهم"],
    ["Hindi", "क्\u200dष"],
    ["Mongolian", "ᠠ\u180b"],
    ["Korean", "한국어"],
    ["an Arabic number sign", "\u0600\u0661"],
  ])("%s", (_what, text) => {
    expect(visibleText(text)).toBe(text);
  });
});

test.each([
  ["a joiner between letters", "a\u200db", "a\\u{200d}b"],
  ["a joiner beside a hidden character", "👨\u200d\u200b👩", "👨\\u{200d}\\u{200b}👩"],
  ["selectors that carry bytes", "😊\u{e0158}", "😊\\u{e0158}"],
  ["half a pair", "a\ud83db", "a\\u{d83d}b"],
  ["a line break", "a\r\nb\tc", "a\\nb\\tc"],
])("on one line: %s", (_what, text, shown) => {
  expect(visibleLine(text)).toBe(shown);
});
