import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import type { ConnectionError } from "@toolport/base";
import { describe, expect, it } from "vitest";
import { createLineDecoder, MessageReader } from "./message-reader.js";

function read(text: string | Buffer, maxMessageBytes = 100_000) {
  const messages: JSONRPCMessage[] = [];
  const warnings: ConnectionError[] = [];
  const discarded: { id?: unknown; error: ConnectionError }[] = [];
  const reader = new MessageReader({
    server: "compact",
    maxMessageBytes,
    decode: createLineDecoder("utf8", "compact"),
    redact: (line) => line.replaceAll("s3cret", "[redacted]"),
    onMessage: (message) => messages.push(message),
    onWarning: (error) => warnings.push(error),
    onDiscard: (entry) => discarded.push(entry),
  });
  reader.push(Buffer.from(text));
  reader.end();
  return { messages, warnings, discarded, reader };
}

const ping = { jsonrpc: "2.0", id: 1, method: "ping" } as const;
const line = JSON.stringify(ping);

describe("MessageReader", () => {
  it("skips and counts lines that are not messages, with one warning", () => {
    const garbage = [
      "Listening, token s3cret\u001b[31m",
      "{half",
      "\u0000\u0001x",
      "42",
      "null",
      "{}",
      '{"jsonrpc":"1.0"}',
    ];
    const { messages, warnings, reader } = read(`${garbage.join("\n")}\n\n \r\n${line}\r\n`);
    expect(messages).toEqual([ping]);
    expect(reader.skippedLines).toBe(garbage.length);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatchObject({ code: "BAD_RESPONSE", server: "compact" });
    expect(warnings[0]?.message).toContain('("Listening, token [redacted]")');
  });

  it("accepts invalid UTF-8", () => {
    const bytes = Buffer.concat([Buffer.from([0xff, 0xfe, 0xc3, 0x0a]), Buffer.from(`${line}\n`)]);
    expect(read(bytes).messages).toEqual([ping]);
  });

  it("ignores a batch, with a separate warning", () => {
    const { messages, warnings } = read(`[${line},${line}]\nnoise\n[]\n${line}\n`);
    expect(messages).toEqual([ping]);
    expect(warnings.map((warning) => warning.code)).toEqual(["BAD_RESPONSE", "BAD_RESPONSE"]);
    expect(warnings[0]?.what).toContain("batch");
  });

  it("fails the requests that a batch answers at once", () => {
    const answers = [
      { jsonrpc: "2.0", id: "toolport-1", result: {} },
      { id: 2, error: {} },
      { id: "toolport-1" },
      7,
      null,
    ];
    const { messages, discarded, warnings } = read(`${JSON.stringify([ping, ...answers])}\n`);
    expect(messages).toEqual([]);
    expect(warnings).toHaveLength(1);
    expect(discarded).toMatchObject([
      { id: "toolport-1", error: { code: "BAD_RESPONSE", server: "compact" } },
      { id: 2, error: { code: "BAD_RESPONSE" } },
    ]);
  });

  it("finds a message after a progress display or a byte order mark", () => {
    expect(read(`10%\r50%\r${line}\n`).messages).toEqual([ping]);
    expect(read(`\uFEFF${line}\n`).messages).toEqual([ping]);
  });

  it("discards an oversized response, reports its id and continues", () => {
    const big = JSON.stringify({ result: { text: "x".repeat(20_000) }, jsonrpc: "2.0", id: "toolport-4" });
    const { messages, discarded } = read(`${big}\n${line}\n`, 10_000);
    expect(messages).toEqual([ping]);
    expect(discarded).toMatchObject([
      { id: "toolport-4", error: { code: "MESSAGE_TOO_LARGE", server: "compact" } },
    ]);
  });

  it("fails no request for an oversized notification", () => {
    const big = JSON.stringify({
      jsonrpc: "2.0",
      method: "notifications/message",
      params: "x".repeat(20_000),
    });
    const { discarded, warnings } = read(`${big}\n`, 10_000);
    expect(discarded).toEqual([]);
    expect(warnings).toMatchObject([{ code: "MESSAGE_TOO_LARGE" }]);
  });
});

describe("createLineDecoder", () => {
  it.each([
    ["utf8", Buffer.from("é"), "é"],
    ["UTF-8", Buffer.from("é"), "é"],
    ["latin1", Buffer.from([0xe9]), "é"],
    ["windows-1251", Buffer.from([0xc6]), "Ж"],
    ["shift_jis", Buffer.from([0x82, 0xa0]), "あ"],
  ])("decodes %s", (encoding, bytes, text) => {
    const padded = Buffer.concat([Buffer.from("["), bytes, Buffer.from("]")]);
    expect(createLineDecoder(encoding, "compact")(padded, 1, padded.length - 1)).toBe(text);
  });

  it.each(["utf16le", "utf-16", "ucs2", "base64", "hex", "no-such-thing", "iso-2022-jp"])(
    "refuses %s",
    (encoding) => {
      expect(() => createLineDecoder(encoding, "compact")).toThrow(/encoding/);
    },
  );
});
