import { expect, test } from "vitest";
import { utf8Length } from "./text.js";

test.each(["", "abc", "é", "€", "😀", "a😀b", "\ud83d", "\ude00\ud83d", "x\ud83dy", "日本語 text"])(
  "%j is as long as its encoding",
  (text) => expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length),
);
