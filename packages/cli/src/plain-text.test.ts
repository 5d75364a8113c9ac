import { expect, test } from "vitest";
import { oneLine, plainBlock, plainJson, plainLine, plainText } from "./plain-text.js";

test("escapes control characters and keeps line breaks and tabs", () => {
  expect(plainText("a\u001b[31mb\u0007c\u009bd\u202ee\r\nf\tg\u{e0041}")).toBe(
    "a\\x1b[31mb\\x07c\\x9bd\\u{202e}e\nf\tg\\u{e0041}",
  );
  expect(plainText("naïve 日本語 👩‍👩‍👧 ščř")).toBe("naïve 日本語 👩‍👩‍👧 ščř");
});

test("escapes line breaks in a line and indents the lines of a block", () => {
  expect(plainLine("a\nwarning: b\r\n\tc\u2028d")).toBe("a\\nwarning: b\\n\\tc\\u{2028}d");
  expect(plainBlock("s: first\nwarning: b")).toBe("s: first\n  warning: b");
});

test("shortens text to one line of the given width", () => {
  expect(oneLine(" a\n\n b\tc ")).toBe("a b c");
  expect(oneLine("abcdef", 4)).toBe("abc…");
});

test("prints JSON without control characters that parses to the same value", () => {
  const value = {
    "a\u009b": "\u001b]52;c;aGk=\u0007 \u202e \u{e0041} \u{e0100} \u200b\u00ad\u3164\u2028 \u007f ok 👩‍👧",
  };
  for (const space of [undefined, 2]) {
    const text = plainJson(value, space);
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]|[\u{e0000}-\u{e007f}]/u);
    expect(text).not.toMatch(/[\u200b\u00ad\u3164\u2028]|\u{e0100}/u);
    expect(text).toContain("👩‍👧");
    expect(JSON.parse(text)).toEqual(value);
  }
});
