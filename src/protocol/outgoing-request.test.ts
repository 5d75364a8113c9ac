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
  ["a call without progress", { wantsProgress: false }],
  ["a call with an envelope", { envelope }],
  ["a call with an empty envelope", { envelope: {} }],
  ["a call with an envelope and without progress", { envelope, wantsProgress: false }],
  ["a call with defaults for _meta", { envelope, metaDefaults: { level: "debug", version: "none" } }],
  ["a call with its own _meta", { envelope, params: { _meta: { trace: 1, version: 2 }, name: "a" } }],
  [
    "a call with _meta beside the envelope",
    { envelope, params: { _meta: { trace: 1, 'ä"': [] }, name: "a" } },
  ],
  ["a call with an empty _meta", { envelope, params: { _meta: {}, name: "a" } }],
  ["a call with _meta and without an envelope", { params: { _meta: { trace: 1 }, name: "a" } }],
  [
    "a call with a progress token of its own",
    { envelope, params: { _meta: { progressToken: 7 }, name: "a" } },
  ],
  ["a call with _meta that is no object", { envelope, params: { _meta: null, name: "a" } }],
  [
    "a call with _meta that serializes itself",
    { envelope, params: { _meta: { toJSON: () => 1 }, name: "a" } },
  ],
  ["a request with nothing but _meta", { params: { _meta: { trace: 1 } }, wantsProgress: false }],
  ["a request without parameters", { params: {}, wantsProgress: false }],
  ["a request with an undefined parameter", { params: { cursor: undefined, name: "a" } }],
])("toText() and toMessage() agree on %s", (_, more) => {
  const request = { ...plain, ...more };
  expect(JSON.parse(toText(request))).toEqual(JSON.parse(JSON.stringify(toMessage(request))));
});

test("the cached envelope gets a new token for every request", () => {
  const texts = ["toolport-1", "toolport-2"].map((id) => JSON.parse(toText({ ...plain, envelope, id })));
  expect(texts.map(({ id, params }) => [id, params._meta])).toEqual([
    ["toolport-1", { ...envelope, progressToken: "toolport-1" }],
    ["toolport-2", { ...envelope, progressToken: "toolport-2" }],
  ]);
});

test("arguments that cannot be serialized throw", () => {
  expect(() => toText({ ...plain, params: { arguments: { count: 1n } } })).toThrow(TypeError);
});
