import { expect, test } from "vitest";
import { shareRepeatedParts } from "./compact-schema.js";

const address = {
  type: "object",
  properties: { street: { type: "string", description: "Street and number" }, city: { type: "string" } },
};

test("writes a repeated part once", () => {
  const schema = {
    type: "object",
    properties: { from: address, to: address, via: { type: "array", items: address } },
  };
  const before = structuredClone(schema);
  const $ref = "#/$defs/p1";
  expect(shareRepeatedParts(schema)).toEqual({
    type: "object",
    properties: { from: { $ref }, to: { $ref }, via: { type: "array", items: { $ref } } },
    $defs: { p1: address },
  });
  expect(schema).toEqual(before);
});

test("shares parts of a shared part that occur elsewhere", () => {
  const person = { type: "object", properties: { home: address, work: address } };
  const schema = { type: "object", properties: { a: person, b: person, office: address } };
  expect(shareRepeatedParts(schema)).toEqual({
    type: "object",
    properties: { a: { $ref: "#/$defs/p1" }, b: { $ref: "#/$defs/p1" }, office: { $ref: "#/$defs/p2" } },
    $defs: {
      p1: { type: "object", properties: { home: { $ref: "#/$defs/p2" }, work: { $ref: "#/$defs/p2" } } },
      p2: address,
    },
  });
});

test.each<[string, Record<string, unknown>]>([
  ["short parts", { properties: { a: { type: "string" }, b: { type: "string" } } }],
  ["parts that occur once", { properties: { a: address } }],
  ["repeated data that is no schema", { properties: { a: { default: address }, b: { const: address } } }],
  ["a schema with its own definitions", { $defs: {}, properties: { a: address, b: address } }],
  ["a schema with its own references", { properties: { a: address, b: address, c: { $ref: "#" } } }],
])("leaves %s as they are", (_, schema) => {
  expect(shareRepeatedParts(schema)).toBe(schema);
});
