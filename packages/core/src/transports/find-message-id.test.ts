import { describe, expect, it } from "vitest";
import { findMessageId, peekMessage } from "./find-message-id.js";

const filler = "x".repeat(5_000);
/** The head and the tail of a message, as the framing keeps them. */
const ends = (json: string, size = 4_096): [string, string] => [json.slice(0, size), json.slice(-size)];

describe("findMessageId", () => {
  it.each([
    ["id before the result", { jsonrpc: "2.0", id: 7, result: { text: filler } }, 7],
    ["id after the result", { result: { text: filler }, jsonrpc: "2.0", id: 7 }, 7],
    ["a string", { jsonrpc: "2.0", id: "toolport-12", result: { text: filler } }, "toolport-12"],
    [
      "a string after the result",
      { result: { text: filler }, id: "toolport-12", jsonrpc: "2.0" },
      "toolport-12",
    ],
    ["a string with quotation marks", { result: [filler], jsonrpc: "2.0", id: 'a"\\"b' }, 'a"\\"b'],
    [
      "an id inside the result does not count",
      { jsonrpc: "2.0", result: { id: 3, text: filler, last: { id: 4 } } },
      undefined,
    ],
    ["an error", { jsonrpc: "2.0", id: 9, error: { code: 1, message: filler } }, 9],
    ["a negative number", { result: filler, id: -1 }, -1],
    ["null is not an id", { jsonrpc: "2.0", id: null, error: { message: filler } }, undefined],
    [
      "a request from the server",
      { jsonrpc: "2.0", id: 5, method: "sampling/createMessage", params: { filler } },
      undefined,
    ],
    ["text that looks like members", { result: { text: `${filler}","id":5}` }, jsonrpc: "2.0" }, undefined],
    ["two ids that differ", `{"id":1,"result":"${filler}","id":2}`, undefined],
    ["the same id twice", `{"id":1,"result":"${filler}","id":1}`, 1],
    ["no object", `["id",1,"${filler}"]`, undefined],
    ["a number cut by the end of the head", `{"id":12${"3".repeat(5_000)},"result":1}`, undefined],
    ["white space", `{ "result" : "${filler}" ,\t"id" : 8 } `, 8],
  ])("%s", (_name, message, id) => {
    const json = typeof message === "string" ? message : JSON.stringify(message);
    expect(findMessageId(...ends(json))).toBe(id);
  });

  it("never returns a wrong id, wherever the text is cut", () => {
    const text = 'a"b\\",\\\\"id":5,{"id":6}';
    const message = { result: { id: 3, list: [{ id: 4 }, text, { text }] }, jsonrpc: "2.0", id: "right" };
    const json = JSON.stringify(message);
    for (let size = 1; size <= json.length; size += 1) {
      expect(["right", undefined]).toContain(findMessageId(...ends(json, size)));
    }
    expect(findMessageId(...ends(json, 40))).toBe("right");
  });

  it("recognises a notification by its method", () => {
    const json = JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { filler } });
    expect(peekMessage(...ends(json))).toEqual({ id: undefined, hasMethod: true });
  });
});
