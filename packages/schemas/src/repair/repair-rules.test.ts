import { describe, expect, test } from "vitest";
import type { SchemaNode } from "../compile-schema.js";
import { allowedKinds, candidatesFor, isPlaceholder, kindOf, lettersOf } from "./create-repairer.js";

const candidates = (value: unknown, ...nodes: SchemaNode[]) => [...candidatesFor(value, nodes)];
const values = (value: unknown, ...nodes: SchemaNode[]) =>
  candidates(value, ...nodes).map((candidate) => candidate.value);

describe("kinds", () => {
  test.each([
    [null, "null"],
    [true, "boolean"],
    [1.5, "number"],
    ["", "string"],
    [[], "array"],
    [{}, "object"],
  ])("%j is a value of kind %s", (value, kind) => expect(kindOf(value)).toBe(kind));

  test("are those that all schemas allow", () => {
    expect(allowedKinds([]).size).toBe(6);
    expect([...allowedKinds([{ type: ["integer", "null"] }])]).toEqual(["null", "number"]);
    expect([...allowedKinds([{ type: ["string", "null"] }, { enum: ["a", 1] }])]).toEqual(["string"]);
    expect([...allowedKinds([{ const: null }])]).toEqual(["null"]);
    expect([...allowedKinds([{ type: "string" }, { type: "object" }])]).toEqual([]);
  });
});

test("placeholders are an empty text, null or None as text, and an empty object", () => {
  expect(["", "null", "None", {}].filter(isPlaceholder)).toHaveLength(4);
  expect([" ", "nil", null, [], { a: 1 }, 0, false].filter(isPlaceholder)).toEqual([]);
});

test("names are compared by their letters and digits", () => {
  expect(lettersOf("max_Results-2")).toBe("maxresults2");
});

describe("JSON text", () => {
  test("becomes an object or a list", () => {
    expect(candidates(' {"a":1}', { type: "object" })).toEqual([
      { value: { a: 1 }, change: "parsed JSON text" },
    ]);
    expect(values("[1]", { type: "array" })).toEqual([[1]]);
  });

  test("stays unchanged if the schema allows a text, another kind, or if a number would lose digits", () => {
    expect(values('{"a":1}', { type: ["string", "object"] })).toEqual([]);
    expect(values("[1]", { type: "object" })).toEqual([]);
    expect(values('{"a":12345678901234567890}', { type: "object" })).toEqual([]);
    expect(values('{"a":1', { type: "object" })).toEqual([]);
    expect(values("text", { type: "object" })).toEqual([]);
  });

  test("is parsed up to one MiB", () => {
    const jsonOf = (length: number) => `["${"x".repeat(length - 4)}"]`;
    expect(values(jsonOf(1024 * 1024), { type: "array" })).toHaveLength(1);
    expect(values(jsonOf(1024 * 1024 + 1), { type: "array", maxItems: 1 })).toEqual([]);
  });
});

describe("texts, numbers and booleans", () => {
  test.each([
    ["12", 12],
    [" -1.5e3 ", -1500],
    ["9007199254740991", 9007199254740991],
  ])("%j becomes the number %d", (text, number) =>
    expect(candidates(text, { type: "number" })).toEqual([{ value: number, change: "text to number" }]),
  );

  test.each(["012", "0x1f", "1,000", "9007199254740993", "1e999", ""])("%j is not a number", (text) =>
    expect(values(text, { type: "number" })).toEqual([]),
  );

  test("True and FALSE become booleans, yes does not", () => {
    expect(values("True", { type: "boolean" })).toEqual([true]);
    expect(values("FALSE", { type: "boolean" })).toEqual([false]);
    expect(values("yes", { type: "boolean" })).toEqual([]);
    expect(values("true", { type: "string" })).toEqual([]);
  });

  test("a safe integer becomes a text, a fraction does not", () => {
    expect(candidates(12, { type: "string" })).toEqual([{ value: "12", change: "number to text" }]);
    expect(values(1.1, { type: "string" })).toEqual([]);
    expect(values(12, { type: "boolean" })).toEqual([]);
  });

  test("a text takes the case of the only matching enum member", () => {
    expect(candidates("celsius", { enum: ["Celsius", "Kelvin"] })).toEqual([
      { value: "Celsius", change: "other case" },
    ]);
    expect(values("celsius", { enum: ["Celsius", "CELSIUS"] })).toEqual([]);
    expect(values("Celsius", { enum: ["Celsius"] })).toEqual([]);
    expect(values("kelvin", { const: "Kelvin" })).toEqual(["Kelvin"]);
  });
});

describe("one value becomes a list", () => {
  const list = { type: "array" };

  test.each([["a"], [1], [false], [{ a: 1 }]])("%j", (value) =>
    expect(candidates(value, list)).toEqual([{ value: [value], change: "one value to a list" }]),
  );

  test.each([[null], [""], ["None"], [{}], ["a, b"], ["a;b"], ["a\nb"], ["a\rb"], [' "a"']])(
    "not %j",
    (value) => expect(values(value, list)).toEqual([]),
  );

  test("not for a list, nor if the schema allows no list", () => {
    expect(values(["a"], list)).toEqual([]);
    expect(values(1, { type: "number" })).toEqual([]);
  });
});
