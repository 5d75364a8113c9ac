import { describe, expect, test } from "vitest";
import { joinBytes } from "./chunk-list.js";
import { isDeferred, keepTexts, keptTextOf, parseMessageBytes, parseMessageText } from "./kept-texts.js";
import { parseBytesInParts, parseTextInParts } from "./parse-in-parts.js";

const parsers = { parseTextInParts, parseBytesInParts };
const big = "x".repeat(40_000);
const contentOf = (message: unknown): unknown => (message as { result: { content: unknown } }).result.content;

const bytesKept = (message: unknown): string => {
  const kept = keptTextOf(contentOf(message))!;
  return typeof kept === "string" ? kept : new TextDecoder().decode(joinBytes(kept));
};

describe("texts of large results", () => {
  test("are kept while a gateway runs", () => {
    const text = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      result: { content: [{ type: "text", text: big }] },
    });
    expect(keptTextOf(contentOf(parseMessageText(text)))).toBeUndefined();
    const stop = keepTexts(parsers);
    const message = parseMessageText(text);
    expect(message).toEqual(JSON.parse(text));
    expect(keptTextOf(contentOf(message))).toBe(JSON.stringify(contentOf(message)));
    stop();
    expect(keptTextOf(contentOf(parseMessageText(text)))).toBeUndefined();
  });

  test.each(["\n", "\r\n"])(
    "are not kept with line breaks between values (%j): they are passed on in one line",
    (space) => {
      const stop = keepTexts(parsers);
      const block = JSON.stringify({ type: "text", text: `two\nlines ${big}` });
      const content = contentOf(parseMessageText(`{"id":1,"result":{"content":[${space}${block}${space}]}}`));
      stop();
      expect(content).toEqual([JSON.parse(block)]);
      expect(keptTextOf(content)).toBeUndefined();
    },
  );

  test.each([
    ["fields before and after", { a: [1], content: [{ text: big }], isError: false, _meta: { b: 2 } }],
    ["an array after the content", { content: [{ text: big }], _meta: { b: [2] } }],
    ["content in another field", { structuredContent: { content: [] }, content: [{ text: big }] }],
    ["brackets in texts", { content: [{ text: `${big}]}],"content":[` }], note: "]" }],
    ["no content", { contents: [{ text: big }] }],
    ["content that is no array", { content: { text: big } }],
  ])("equal the parsed value: %s", (_, result) => {
    const stop = keepTexts(parsers);
    const text = JSON.stringify({ jsonrpc: "2.0", id: 1, result });
    const message = parseMessageText(text);
    stop();
    expect(message).toEqual(JSON.parse(text));
    const kept = keptTextOf(contentOf(message));
    if (kept !== undefined) expect(JSON.parse(String(kept))).toEqual(contentOf(message));
  });

  test.each([
    [
      "closes the result",
      `{"jsonrpc":"2.0","id":1,"result":{"content":["${big}"]},"id":2,"result":{"content":[]}}`,
    ],
    ["repeats the content", `{"jsonrpc":"2.0","id":1,"result":{"content":["${big}"],"content":["b"]}}`],
    ["adds a field", `{"jsonrpc":"2.0","id":1,"result":{"content":["${big}"],"_meta":{"a":["b"]}}}`],
    ["is cut", `{"jsonrpc":"2.0","id":1,"result":{"content":["${big}"]`],
  ])("are one array, if the server %s", (_, text) => {
    const stop = keepTexts(parsers);
    const message = parseMessageText(text);
    stop();
    const kept = message === undefined ? undefined : keptTextOf(contentOf(message));
    if (kept !== undefined) expect(Array.isArray(JSON.parse(String(kept)))).toBe(true);
  });

  test.each([
    ["in an escape", `{"result":{"\\u0063ontent":[],"other":{"content":[{"type":"text","text":"${big}"}]}}}`],
    [
      "with a space after it",
      `{"result":{"content" :[],"isError":true},"x":{"content":[{"type":"text","text":"${big}"}]}}`,
    ],
    ["of a longer name", `{"result":{"content" :[],"a\\"content":[{"type":"text","text":"${big}"}]}}`],
  ])("are not those of another field, if the server writes the key %s", (_, text) => {
    const stop = keepTexts(parsers);
    const bytes = new TextEncoder().encode(text);
    const message = parseMessageText(text, bytes);
    const deferred = parseMessageBytes([bytes], true);
    stop();
    expect(message).toEqual(JSON.parse(text));
    expect(keptTextOf(contentOf(message))).toBeUndefined();
    expect(deferred).toBeUndefined();
  });

  test.each([
    ["bytes, if all are ASCII", big, (bytes: Uint8Array) => bytes, true],
    ["text, if a character needs two bytes", `${big}é`, (bytes: Uint8Array) => bytes, false],
    ["text, if a byte is broken", `${big}?`, (bytes: Uint8Array) => broken(bytes), false],
  ])("are kept as %s", (_, content, change, isBytes) => {
    const stop = keepTexts(parsers);
    const text = JSON.stringify({ jsonrpc: "2.0", id: 1, result: { content: [content] } });
    const bytes = change(new TextEncoder().encode(text));
    const message = parseMessageText(new TextDecoder().decode(bytes), bytes);
    stop();
    const kept = keptTextOf(contentOf(message))!;
    expect(typeof kept === "string").toBe(!isBytes);
    expect(JSON.parse(bytesKept(message))).toEqual(contentOf(message));
  });
});

/** With a byte in the middle that is no UTF-8. Its text has the same length. */
function broken(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(bytes);
  copy[copy.length >> 1] = 0xff;
  return copy;
}

describe("bytes of large results", () => {
  const encoder = new TextEncoder();
  const parse = (text: string, isUtf8 = true): unknown => {
    const stop = keepTexts(parsers);
    try {
      // In the middle of a buffer, as chunks of a stream are.
      const bytes = encoder.encode(`abc${text}`).subarray(3);
      const whole = parseMessageBytes([bytes], isUtf8);
      for (const size of [1_000, 7_001, bytes.length - 100]) {
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
          bytes.subarray(index * size, (index + 1) * size),
        );
        const parsed = parseMessageBytes(pieces, isUtf8);
        expect(JSON.stringify(parsed)).toBe(JSON.stringify(whole));
        if (parsed !== undefined) expect(bytesKept(parsed)).toBe(bytesKept(whole));
      }
      return parseMessageBytes([bytes], isUtf8);
    } finally {
      stop();
    }
  };
  const messageOf = (result: unknown): string => JSON.stringify({ jsonrpc: "2.0", id: 1, result });
  const block = (text: string) => ({ type: "text", text });

  test.each([
    ["one text", { content: [block(big)] }],
    ["several texts, small and large", { content: [block(big), block("small"), block(`${big}"\\\n\u0000`)] }],
    [
      "fields around them",
      { isError: true, content: [{ ...block(big), _meta: { a: 1 } }], _meta: { b: "ü" } },
    ],
    ["characters of every length", { content: [block(`é漢🙂${big}`)], _meta: { ü: "🙂" } }],
  ])("are passed on without being decoded: %s", (_, result) => {
    const stop = keepTexts(parsers);
    const message = parse(messageOf(result));
    expect(isDeferred(contentOf(message))).toBe(true);
    stop();
    expect(bytesKept(message)).toBe(JSON.stringify(result.content));
    expect(message).toEqual({ jsonrpc: "2.0", id: 1, result });
    expect(JSON.stringify(message)).toBe(messageOf(result));
  });

  test("can be assigned", () => {
    const content = contentOf(parse(messageOf({ content: [block(big)] }))) as { text: string }[];
    content[0]!.text = "new";
    expect(content).toEqual([block("new")]);
  });

  test("can be read from a frozen block", () => {
    const content = contentOf(parse(messageOf({ content: [block(big)] }))) as { text: string }[];
    Object.freeze(content[0]);
    expect(content[0]!.text).toBe(big);
    expect(content[0]!.text).toBe(big);
  });

  test.each([
    [
      "a block that is no text",
      messageOf({ content: [block(big), { type: "image", data: "", mimeType: "a/b" }] }),
    ],
    ["a block without a text", messageOf({ content: [{ type: "text", other: big }] })],
    ["a large text in another field", messageOf({ content: [{ ...block("a"), _meta: { big } }] })],
    ["a string that is no block", messageOf({ content: [big] })],
    ["many strings", messageOf({ content: Array.from({ length: 100 }, () => block("x".repeat(1_000))) })],
    ["line breaks between values", `{"id":1,"result":{"content":[\n${JSON.stringify(block(big))}]}}`],
    ["two lines", `${messageOf({})}\n${messageOf({ content: [block(big)] })}`],
    ["a control character", messageOf({ content: [block(`${big}TAB`)] }).replace("TAB", "\t")],
    ["an unknown escape", messageOf({ content: [block(`${big}ESC`)] }).replace("ESC", "\\x")],
    ["a byte order mark", `\uFEFF${messageOf({ content: [block(big)] })}`],
    [
      "deep nesting",
      messageOf({ content: [block(big)], _meta: JSON.parse(`${"[".repeat(50)}${"]".repeat(50)}`) }),
    ],
    ["a cut message", messageOf({ content: [block(big)] }).slice(0, -1)],
    [
      "more after the content",
      `{"result":{"content":[${JSON.stringify(block(big))}]},"result":{"content":[]}}`,
    ],
  ])("are left to the decoder: %s", (_, text) => {
    expect(parse(text)).toBeUndefined();
  });

  test("are left to the decoder, if they are in another encoding", () => {
    expect(parse(messageOf({ content: [block(`é${big}`)] }), false)).toBeUndefined();
    const stop = keepTexts(parsers);
    const bytes = broken(encoder.encode(messageOf({ content: [block(big)] })));
    expect(parseMessageBytes([bytes], true)).toBeUndefined();
    stop();
    expect(parse(messageOf({ content: [block("small")] }))).toBeUndefined();
  });
});
