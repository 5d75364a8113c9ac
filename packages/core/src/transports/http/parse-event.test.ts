import { describe, expect, it } from "vitest";
import { parseEvent } from "./event-frames.js";

const parse = (text: string) => parseEvent(new TextEncoder().encode(text));

describe("parseEvent", () => {
  it.each([
    ['data: {"a":1}\n\n', { type: "", data: '{"a":1}', id: undefined, retryMs: undefined }],
    ["event: message\ndata:x\n\n", { type: "message", data: "x" }],
    ["data: a\r\ndata:\r\ndata: b\r\n\r\n", { data: "a\n\nb" }],
    ["data: a\rid: 7\r\r", { data: "a", id: "7" }],
    ["id: e-1\nretry: 300\ndata:\n\n", { data: "", id: "e-1", retryMs: 300 }],
    ["data\n\n", { data: "" }],
    [": note\n\n", { data: undefined, id: undefined }],
    ["\nretry: soon\nid: a\0b\ndata:  two\n\n", { data: " two", id: undefined, retryMs: undefined }],
    ["\ufeffdata: é🙂\u2028\n\n", { data: "é🙂\u2028" }],
    ["other: 1\ndatabase: 2\n\n", { data: undefined }],
  ])("%j", (text, expected) => {
    expect(parse(text)).toMatchObject(expected);
  });
});
