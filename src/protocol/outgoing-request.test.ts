import { expect, test } from "vitest";
import { type OutgoingRequest, toMessage, toText } from "./outgoing-request.js";

const plain: OutgoingRequest = {
  id: "toolport-1",
  method: "tools/call",
  params: { name: 'a "quoted" näme', arguments: { text: "line\nbreak", list: [1, null], none: undefined } },
  wantsProgress: true,
  envelope: undefined,
  metaDefaults: undefined,
};
const envelope = { version: "2026-07-28", client: { name: "toolport" } };

test.each<[string, Partial<OutgoingRequest>]>([
  ["a plain call", {}],
  ["one without progress", { wantsProgress: false }],
  ["one in an envelope", { envelope }],
  ["one in an empty envelope", { envelope: {} }],
  ["one in an envelope without progress", { envelope, wantsProgress: false }],
  ["one with defaults", { envelope, metaDefaults: { level: "debug", version: "none" } }],
  ["one with _meta of its own", { envelope, params: { _meta: { trace: 1, version: 2 }, name: "a" } }],
  ["one with nothing but _meta", { params: { _meta: { trace: 1 } }, wantsProgress: false }],
  ["one without parameters", { params: {}, wantsProgress: false }],
  ["one with a parameter that is not there", { params: { cursor: undefined, name: "a" } }],
])("as text %s says what it says as a message", (_, more) => {
  const request = { ...plain, ...more };
  expect(JSON.parse(toText(request))).toEqual(JSON.parse(JSON.stringify(toMessage(request))));
});

test("the envelope is the same for the next request, and the token is not", () => {
  const texts = ["toolport-1", "toolport-2"].map((id) => JSON.parse(toText({ ...plain, envelope, id })));
  expect(texts.map(({ id, params }) => [id, params._meta])).toEqual([
    ["toolport-1", { ...envelope, progressToken: "toolport-1" }],
    ["toolport-2", { ...envelope, progressToken: "toolport-2" }],
  ]);
});

test("arguments that are no JSON are refused", () => {
  expect(() => toText({ ...plain, params: { arguments: { count: 1n } } })).toThrow(TypeError);
});
