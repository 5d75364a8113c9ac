import { describe, expect, test } from "vitest";
import { keepTexts, keptTextOf, parseMessageText } from "./kept-texts.js";

const big = "x".repeat(40_000);
const contentOf = (message: unknown): unknown => (message as { result: { content: unknown } }).result.content;

describe("texts of large results", () => {
  test("are kept while a gateway runs", () => {
    const text = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      result: { content: [{ type: "text", text: big }] },
    });
    expect(keptTextOf(contentOf(parseMessageText(text)))).toBeUndefined();
    const stop = keepTexts();
    const message = parseMessageText(text);
    expect(message).toEqual(JSON.parse(text));
    expect(keptTextOf(contentOf(message))).toBe(JSON.stringify(contentOf(message)));
    stop();
    expect(keptTextOf(contentOf(parseMessageText(text)))).toBeUndefined();
  });

  test.each(["\n", "\r\n"])(
    "are not kept with line breaks between values (%j): they are passed on in one line",
    (space) => {
      const stop = keepTexts();
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
    const stop = keepTexts();
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
    const stop = keepTexts();
    const message = parseMessageText(text);
    stop();
    const kept = message === undefined ? undefined : keptTextOf(contentOf(message));
    if (kept !== undefined) expect(Array.isArray(JSON.parse(String(kept)))).toBe(true);
  });

  test.each([
    ["bytes, if all are ASCII", big, (bytes: Uint8Array) => bytes, true],
    ["text, if a character needs two bytes", `${big}é`, (bytes: Uint8Array) => bytes, false],
    ["text, if a byte is broken", `${big}?`, (bytes: Uint8Array) => broken(bytes), false],
  ])("are kept as %s", (_, content, change, isBytes) => {
    const stop = keepTexts();
    const text = JSON.stringify({ jsonrpc: "2.0", id: 1, result: { content: [content] } });
    const bytes = change(new TextEncoder().encode(text));
    const message = parseMessageText(new TextDecoder().decode(bytes), bytes);
    stop();
    const kept = keptTextOf(contentOf(message))!;
    expect(kept instanceof Uint8Array).toBe(isBytes);
    const keptText = kept instanceof Uint8Array ? new TextDecoder().decode(kept) : kept;
    expect(JSON.parse(keptText)).toEqual(contentOf(message));
  });
});

/** With a byte in the middle that is no UTF-8. Its text has the same length. */
function broken(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(bytes);
  copy[copy.length >> 1] = 0xff;
  return copy;
}
