import { expect, test } from "vitest";
import { oneLine, plainBlock, plainJson, plainLine, plainText } from "./plain-text.js";

test("what could steer a terminal is spelled out; line breaks and tabs stay", () => {
  expect(plainText("a\u001b[31mb\u0007c\u009bd\u202ee\r\nf\tg\u{e0041}")).toBe(
    "a\\x1b[31mb\\x07c\\x9bd\\u{202e}e\nf\tg\\u{e0041}",
  );
  expect(plainText("naïve 日本語 👩‍👩‍👧 ščř")).toBe("naïve 日本語 👩‍👩‍👧 ščř");
});

test("a line holds no line break; a block cannot begin a line of its own", () => {
  expect(plainLine("a\nwarning: b\r\n\tc\u2028d")).toBe("a\\nwarning: b\\n\\tc\\u{2028}d");
  expect(plainBlock("s: first\nwarning: b")).toBe("s: first\n  warning: b");
});

test("one line is one line, and no longer than asked", () => {
  expect(oneLine(" a\n\n b\tc ")).toBe("a b c");
  expect(oneLine("abcdef", 4)).toBe("abc…");
});

test("JSON is safe to print and reads back as it was", () => {
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
