import { redactValues, toPlainText } from "@toolport/base";
import { describe, expect, it } from "vitest";
import { TailBuffer } from "../find-message-id.js";
import { StderrTail } from "./process-transport.js";

describe("StderrTail", () => {
  it("returns undefined if nothing was written", () => {
    const tail = new StderrTail();
    tail.push(Buffer.from(" \n\u001b[0m\n"));
    expect(tail.tail()).toBeUndefined();
    expect(tail.cause()).toBeUndefined();
  });

  it("keeps the last 4 KiB, from the beginning of a line", () => {
    const tail = new StderrTail();
    for (let count = 0; count < 20_000; count += 1) tail.push(Buffer.from(`line ${count} ü\n`));
    const text = tail.tail() ?? "";
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4_096);
    expect(text).toMatch(/^line \d+ ü\n/);
    expect(text.endsWith("line 19999 ü")).toBe(true);
    expect(tail.cause()).toBe("line 19997 ü / line 19998 ü / line 19999 ü");
  });

  it("handles one endless line", () => {
    const tail = new StderrTail();
    tail.push(Buffer.from("ü".repeat(100_000)));
    expect(tail.tail()).toMatch(/^ü{2000,2048}$/);
    expect(tail.cause()).toHaveLength(301);
  });

  it("redacts the values of variables, not ordinary words", () => {
    const tail = new StderrTail(redactValues({ TOKEN: "tok-$&-123", LONG: "tok-$&-123456", MODE: "debug" }));
    tail.push(Buffer.from("bad token tok-$&-123, or tok-$&-123456, in debug"));
    expect(tail.tail()).toBe("bad token [redacted: TOKEN], or [redacted: LONG], in debug");
  });
});

describe("TailBuffer", () => {
  it("keeps the last bytes for any chunk size", () => {
    const all = Uint8Array.from({ length: 1_000 }, (_, at) => at % 256);
    for (const size of [1, 7, 16, 17, 40, 1_000]) {
      const buffer = new TailBuffer(16);
      for (let at = 0; at < all.length; at += size) buffer.add(all.subarray(at, at + size));
      expect(buffer.last(16)).toEqual(all.subarray(-16));
      expect(buffer.last(1_000).length).toBeLessThanOrEqual(32);
    }
  });
});

describe("toPlainText", () => {
  it.each([
    ["colour", "\u001b[1;31mred\u001b[0m", "red"],
    ["OSC 8 link", "\u001b]8;;http://x\u001b\\text\u001b]8;;\u0007", "text"],
    ["OSC 52 clipboard", "\u001b]52;c;aGk=\u0007ok", "ok"],
    ["unfinished OSC", "ok\u001b]0;title", "ok"],
    ["charset and keypad", "\u001b(B\u001b=ok", "ok"],
    ["C1 CSI", "\u009b31mok", "ok"],
    ["control characters", "a\u0000\u0007\b\u007f\u0085b", "ab"],
    ["bidi", "a\u202eb\u2066c", "abc"],
    ["line ends and tabs", "a\r\nb\rc\td\n", "a\nb\nc\td\n"],
  ])("strips %s", (_name, text, plain) => {
    expect(toPlainText(text)).toBe(plain);
  });
});
