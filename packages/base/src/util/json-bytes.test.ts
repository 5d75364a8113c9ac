import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jsonBytes } from "./json.js";

const written = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");

describe("jsonBytes is the size of what JSON.stringify writes", () => {
  test.each([
    ["texts with escapes", { 'a"b': "\u0000\n\\\u007f\u2028", é: "😀", "\ud800": "\udc00" }],
    ["empty values", [{}, [], "", null, { a: undefined }, { a: undefined, b: {} }]],
    ["numbers", [0, -0, 1.5, 1e21, 1e-7, Number.NaN, Number.POSITIVE_INFINITY]],
    ["values without a form", [undefined, () => 1, Symbol("x"), { run: () => 1 }]],
    ["objects with a form of their own", { at: new Date(0), page: new URL("https://example.com") }],
    ["a field named toJSON", { toJSON: "text" }],
    ["inherited fields", Object.create({ inherited: 1 })],
    ["a key named __proto__", JSON.parse('{"__proto__":{"a":1}}')],
  ])("%s", (_name, value) => expect(jsonBytes(value)).toBe(written(value)));

  test("nothing", () => expect([undefined, () => 1].map(jsonBytes)).toEqual([0, 0]));

  test("any JSON value", () => {
    const texts = fc.string({ unit: "binary" });
    const isRight = (value: unknown) => jsonBytes(value) === written(value);
    fc.assert(fc.property(fc.oneof(fc.jsonValue(), fc.dictionary(texts, texts)), isRight), { numRuns: 100 });
  });

  test("the schemas of real servers", () => {
    const folder = new URL("../../../../test/fixtures/schemas/", import.meta.url);
    for (const file of readdirSync(folder)) {
      const value = JSON.parse(readFileSync(new URL(file, folder), "utf8"));
      expect([file, jsonBytes(value)]).toEqual([file, written(value)]);
    }
  });

  test("values that are nested deeply", () => {
    const value = JSON.parse(`${"[".repeat(2_000)}${"]".repeat(2_000)}`);
    expect(jsonBytes(value)).toBe(4_000);
  });
});
