import { describe, expect, it, vi } from "vitest";
import { OVERSIZE_SAMPLE_BYTES } from "../find-message-id.js";
import { LineFraming, type OversizeLine } from "./message-reader.js";

function collect(maxBytes = 1_000_000) {
  const lines: string[] = [];
  const oversize: OversizeLine[] = [];
  const framing = new LineFraming({
    maxBytes,
    onLines: (buffer, start, end) => lines.push(...buffer.toString("utf8", start, end).split("\n")),
    onOversize: (line) => oversize.push(line),
  });
  return { framing, lines, oversize };
}

describe("LineFraming", () => {
  it("finds the same lines for any chunk size", () => {
    const text = "one\n\ntwö 🙂\nthree\n";
    const bytes = Buffer.from(text);
    for (let size = 1; size <= bytes.length; size += 1) {
      const { framing, lines } = collect();
      for (let at = 0; at < bytes.length; at += size) framing.push(bytes.subarray(at, at + size));
      expect(lines).toEqual(["one", "", "twö 🙂", "three"]);
    }
  });

  it("reports what follows the last newline as a line when the stream ends, once", () => {
    const { framing, lines } = collect();
    framing.push(Buffer.from("one\ntwo"));
    framing.end();
    framing.end();
    expect(lines).toEqual(["one", "two"]);
  });

  it.each([
    [4_096, 1_048_576, 1],
    [4_096, 4_194_304, 1],
    // Small chunks are joined early, to avoid an overhead of a hundred bytes for each.
    [1, 100_000, 2],
  ])("chunks of %i bytes: searches each of %i bytes once and copies it %i times", (size, bytes, times) => {
    const { framing, lines } = collect(8 * 1_024 * 1_024);
    let searched = 0;
    const copies = vi.spyOn(Uint8Array.prototype, "set");
    for (let left = bytes; left > 0; left -= size) {
      const chunk = Buffer.alloc(size, "x");
      chunk.indexOf = ((value: number, from: number = 0) => {
        searched += chunk.length - from;
        return Buffer.prototype.indexOf.call(chunk, value, from);
      }) as Buffer["indexOf"];
      chunk.lastIndexOf = ((value: number) => {
        searched += chunk.length;
        return Buffer.prototype.lastIndexOf.call(chunk, value);
      }) as Buffer["lastIndexOf"];
      framing.push(chunk);
    }
    framing.push(Buffer.from("\n"));
    const copied = copies.mock.calls.reduce((sum, [piece]) => sum + piece.length, 0);
    copies.mockRestore();
    expect(lines[0]).toHaveLength(bytes);
    expect(searched).toBe(bytes);
    expect(copied).toBeGreaterThanOrEqual(bytes);
    expect(copied).toBeLessThanOrEqual(times * bytes);
  });

  it("discards an oversized line, keeps its head and tail, and continues with the next", () => {
    const { framing, lines, oversize } = collect(100_000);
    framing.push(Buffer.from(`before\n{"head":1,`));
    for (let count = 0; count < 1_000; count += 1) {
      framing.push(Buffer.alloc(1_000, "x"));
      expect(framing.bufferedBytes).toBeLessThanOrEqual(100_000);
    }
    framing.push(Buffer.from(`,"tail":1}\nafter\n`));
    expect(lines).toEqual(["before", "after"]);
    expect(oversize).toHaveLength(1);
    expect(oversize[0]?.bytes).toBe(10 + 1_000_000 + 10);
    expect(oversize[0]?.head.toString()).toMatch(/^\{"head":1,x+$/);
    expect(oversize[0]?.tail.toString()).toMatch(/^x+,"tail":1\}$/);
    expect(oversize[0]?.head).toHaveLength(OVERSIZE_SAMPLE_BYTES);
    expect(oversize[0]?.tail).toHaveLength(OVERSIZE_SAMPLE_BYTES);
  });

  it("accepts a line of exactly the size limit and no longer one, also within one chunk", () => {
    const { framing, lines, oversize } = collect(10);
    framing.push(Buffer.from(`${"a".repeat(10)}\n${"b".repeat(11)}\nc\n`));
    expect(lines).toEqual(["aaaaaaaaaa", "c"]);
    expect(oversize.map(({ bytes, head }) => [bytes, head.toString()])).toEqual([[11, "bbbbbbbbbbb"]]);
  });

  it("passes on consecutive lines in one piece, wherever they begin in a chunk", () => {
    const pieces: string[] = [];
    const framing = new LineFraming({
      maxBytes: 12,
      onLines: (buffer, start, end) => pieces.push(buffer.toString("utf8", start, end)),
      onOversize: () => {},
    });
    framing.push(Buffer.from("a\nb\nc"));
    framing.push(Buffer.from("c\nd\ne\n"));
    framing.push(Buffer.from(`${"x".repeat(13)}\nf\ng\n`));
    expect(pieces).toEqual(["a\nb", "cc", "d\ne", "f\ng"]);
  });

  it("releases the memory of a long line", () => {
    const { framing } = collect(10_000_000);
    framing.push(Buffer.alloc(5_000_000, "x"));
    expect(framing.bufferedBytes).toBeGreaterThanOrEqual(5_000_000);
    framing.push(Buffer.from("\n"));
    expect(framing.bufferedBytes).toBe(0);
  });
});
