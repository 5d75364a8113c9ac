import { describe, expect, it } from "vitest";
import { EventFrames, type OversizedEvent } from "./event-frames.js";

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (data: Uint8Array) => new TextDecoder().decode(data);

function frames(maxBytes: number, oversized: "stop" | "skip" = "skip") {
  const out: string[] = [];
  const skipped: OversizedEvent[] = [];
  const calls = { oversized: 0, endless: 0 };
  const instance = new EventFrames({
    maxBytes,
    onEvent: (data) => out.push(text(data)),
    onOversized: () => {
      calls.oversized++;
      return oversized;
    },
    onSkipped: (event) => skipped.push(event),
    onEndless: () => calls.endless++,
  });
  return { instance, out, skipped, calls };
}

const STREAMS = {
  LF: "data: a\n\ndata: b\n\n",
  CRLF: "data: a\r\n\r\ndata: b\r\n\r\n",
  CR: "data: a\r\rdata: b\r\r",
  mixed: "\ufeffdata: a\r\n\ndata: b\u0085c\n\r\n: note\r\n\r",
};

describe.each(Object.entries(STREAMS))("lines ended by %s", (_name, stream) => {
  it.each([1, 2, 3, 5, 1000])("passes every byte in chunks of %i", (size) => {
    const passed: Uint8Array[] = [];
    // One more event at the end: the LF of a CR LF that was split belongs to the next event.
    const data = bytes(`${stream}data: end\n\n`);
    const instance = new EventFrames({
      maxBytes: 30,
      onEvent: (piece) => passed.push(piece),
      onOversized: () => expect.unreachable(),
    });
    for (let at = 0; at < data.length; at += size) instance.push(data.subarray(at, at + size));
    instance.end();
    expect(passed.flatMap((piece) => [...piece])).toEqual([...data]);
  });

  it("counts the bytes of one event, not of the stream", () => {
    const { instance, calls } = frames(24);
    for (let round = 0; round < 100; round++) instance.push(bytes(stream));
    expect(calls.oversized).toBe(0);
  });
});

it("buffers an event until it is complete, and does not copy a whole chunk", () => {
  const seen: Uint8Array[] = [];
  const instance = new EventFrames({
    maxBytes: 100,
    onEvent: (data) => seen.push(data),
    onOversized: () => "stop",
  });
  const whole = bytes("data: 1\n\n");
  instance.push(whole);
  expect(seen[0]).toBe(whole);
  instance.push(bytes("data: 2\n"));
  expect(seen).toHaveLength(1);
  instance.push(bytes("\ndata: 3"));
  expect(seen.map(text).join("")).toBe("data: 1\n\ndata: 2\n\n");
});

it.each([1, 7, 4096])("skips one large event and continues, in chunks of %i", (size) => {
  const { instance, out, skipped } = frames(1_000);
  const large = `data: {"id":1,${"x".repeat(3_000)},"end":2}\n\n`;
  const data = bytes(`data: before\n\n${large}data: after\n\n`);
  for (let at = 0; at < data.length; at += size) instance.push(data.subarray(at, at + size));
  expect(out.join("")).toBe("data: before\n\ndata: after\n\n");
  expect(skipped).toHaveLength(1);
  expect(text(skipped[0]!.head).startsWith('data: {"id":1,')).toBe(true);
  expect(text(skipped[0]!.tail).endsWith(',"end":2}\n\n')).toBe(true);
});

it('stops when onOversized returns "stop"', () => {
  const { instance, out, calls } = frames(10, "stop");
  instance.push(bytes("data: 0123456789"));
  instance.push(bytes("\n\ndata: 1\n\n"));
  instance.end();
  expect(calls.oversized).toBe(1);
  expect(out).toEqual([]);
});

it("gives up on an endless event at eight times the limit", () => {
  const { instance, calls } = frames(1_000);
  for (let sent = 0; sent < 7_900; sent += 100) instance.push(bytes("x".repeat(100)));
  expect(calls.endless).toBe(0);
  for (let sent = 0; sent < 1_000; sent += 100) instance.push(bytes("x".repeat(100)));
  expect(calls.endless).toBe(1);
});

it("accepts a large event in very small chunks", () => {
  const data = bytes(`data: ${"x".repeat(1_000_000)}\n\n`);
  const { instance, out } = frames(2_000_000);
  for (let at = 0; at < data.length; at += 16) instance.push(data.subarray(at, at + 16));
  expect(out.join("").length).toBe(data.length);
});
