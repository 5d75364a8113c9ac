/** Any split of a stream into chunks gives the same messages and events, within the memory limit. */
import fc from "fast-check";
import { expect } from "vitest";
import {
  EventFrames,
  parseEvent,
  type ServerEvent,
} from "../../packages/core/src/transports/http/event-frames.js";
import { createLineDecoder, MessageReader } from "../../packages/core/src/transports/stdio/message-reader.js";
import { fuzzModel } from "./fuzz-model.js";

const MAX_BYTES = 64;

/** Bytes of lines: messages, long ones, garbage. */
const line = fc.oneof(
  fc.nat(999).map((id) => `{"jsonrpc":"2.0","id":${id},"result":{}}`),
  fc.nat(999).map((id) => `{"jsonrpc":"2.0","id":${id},"result":{"x":"${"ü".repeat(60)}"}}`),
  fc.string({ unit: "binary", maxLength: 90 }),
  fc.constantFrom("", "\r", "[]", "null", "\ufeff{}", '10%\r{"jsonrpc":"2.0","id":1,"result":{}}'),
);
const lines = fc
  .tuple(fc.array(line, { maxLength: 8 }), fc.boolean())
  .map(([all, ended]) => Buffer.from(all.join("\n") + (ended ? "\n" : "")));
const cuts = fc.array(fc.nat(), { maxLength: 30 });

function chunksOf(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((start, index) => bytes.subarray(start, at[index] ?? bytes.length));
}

function readMessages(chunks: readonly Buffer[]): unknown[] {
  const seen: unknown[] = [];
  const reader = new MessageReader({
    server: "s",
    maxMessageBytes: MAX_BYTES,
    decode: createLineDecoder("utf8", "s"),
    redact: (text) => text,
    onMessage: (message) => seen.push(message),
    onDiscard: ({ id, error }) => seen.push({ discarded: id, code: error.code }),
    onWarning: ({ code }) => seen.push({ warned: code }),
  });
  for (const chunk of chunks) reader.push(chunk);
  reader.end();
  return seen;
}

fuzzModel(
  "line framing",
  fc.property(lines, cuts, (bytes, places) => {
    expect(readMessages(chunksOf(bytes, places))).toEqual(readMessages([bytes]));
  }),
);

const field = fc.oneof(
  fc.constantFrom("data: {}", "id: 1", "retry: 5", ": comment", "event: message", "data", "data: \u0085"),
  fc.string({ unit: "binary", maxLength: 90 }).map((text) => `data: ${text}`),
);
const eventStream = fc
  .tuple(
    // A byte order mark is only valid at the start.
    fc.constantFrom("", "\ufeff"),
    fc.array(fc.tuple(field, fc.constantFrom("\n", "\r", "\r\n", "\n\n", "\r\r", "\r\n\r\n")), {
      maxLength: 12,
    }),
  )
  .map(([mark, parts]) => Buffer.from(mark + parts.flat().join("")));

const isEmpty = ({ type, data, id, retryMs }: ServerEvent): boolean =>
  type === "" && data === undefined && id === undefined && retryMs === undefined;

function readEvents(chunks: readonly Buffer[], maxBytes = MAX_BYTES): unknown[] {
  const seen: unknown[] = [];
  const frames = new EventFrames({
    maxBytes,
    onEvent(bytes) {
      const event = parseEvent(bytes);
      if (!isEmpty(event)) seen.push(event);
    },
    onOversized: () => "skip",
    onSkipped: () => seen.push("skipped"),
  });
  for (const chunk of chunks) frames.push(chunk);
  frames.end();
  return seen;
}

fuzzModel(
  "event framing",
  fc.property(eventStream, cuts, (bytes, places) => {
    const whole = readEvents([bytes]);
    // A line feed after its carriage return counts towards the next event, which matters exactly at the limit.
    fc.pre(
      JSON.stringify([readEvents([bytes], MAX_BYTES - 1), readEvents([bytes], MAX_BYTES + 1)]) ===
        JSON.stringify([whole, whole]),
    );
    expect(readEvents(chunksOf(bytes, places))).toEqual(whole);
  }),
);
