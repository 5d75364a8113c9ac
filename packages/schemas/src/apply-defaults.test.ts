import { expect, it } from "vitest";
import { applyDefaults } from "./apply-defaults.js";
import type { JsonSchema } from "./json-schema.js";

const unit = { type: "string", default: "metric" };

it.each<[string, JsonSchema, Record<string, unknown>, unknown]>([
  ["a missing property", { properties: { unit } }, {}, { unit: "metric" }],
  ["a given one", { properties: { unit } }, { unit: "us" }, { unit: "us" }],
  ["an undefined one", { properties: { unit } }, { unit: undefined }, { unit: "metric" }],
  ["a null that was given", { properties: { unit } }, { unit: null }, { unit: null }],
  [
    "the defaults false, 0 and null",
    { properties: { a: { default: false }, b: { default: 0 }, c: { default: null } } },
    {},
    { a: false, b: 0, c: null },
  ],
  ["a given object", { properties: { o: { properties: { unit } } } }, { o: {} }, { o: { unit: "metric" } }],
  ["an object that is not there", { properties: { o: { properties: { unit } } } }, {}, {}],
  [
    "an object that is a default itself",
    { properties: { o: { default: {}, properties: { unit } } } },
    {},
    { o: { unit: "metric" } },
  ],
  [
    "objects in a list",
    { properties: { l: { items: { properties: { unit } } } } },
    { l: [{}, { unit: "us" }, 1] },
    { l: [{ unit: "metric" }, { unit: "us" }, 1] },
  ],
  [
    "prefix items of a list",
    { properties: { l: { prefixItems: [{ properties: { unit } }], items: {} } } },
    { l: [{}, {}] },
    { l: [{ unit: "metric" }, {}] },
  ],
  [
    "allOf",
    { allOf: [{ properties: { unit } }, { properties: { b: { default: 1 } } }] },
    {},
    { unit: "metric", b: 1 },
  ],
  [
    "a reference",
    { properties: { o: { $ref: "#/$defs/o" } }, $defs: { o: { default: {}, properties: { unit } } } },
    {},
    { o: { unit: "metric" } },
  ],
  [
    "a reference at the root",
    { $ref: "#/$defs/o", $defs: { o: { properties: { unit } } } },
    {},
    { unit: "metric" },
  ],
  ["a reference to nowhere", { properties: { o: { $ref: "#/$defs/none" } } }, {}, {}],
  ["a remote reference", { properties: { o: { $ref: "http://127.0.0.1/a.json" } } }, {}, {}],
  ["a schema that is itself", { $ref: "#" }, { a: 1 }, { a: 1 }],
  ["alternatives, which are left alone", { anyOf: [{ properties: { unit } }] }, {}, {}],
  ["properties that make no sense", { properties: ["a"], allOf: "b" }, { a: 1 }, { a: 1 }],
])("fills in %s", (_name, schema, args, expected) => {
  const before = structuredClone({ schema, args });
  expect(applyDefaults(schema, args)).toEqual(expected);
  expect({ schema, args }).toEqual(before);
});

it("limits the depth of recursion", () => {
  const schema = {
    $defs: { n: { default: {}, properties: { n: { $ref: "#/$defs/n" } } } },
    $ref: "#/$defs/n",
  };
  const text = JSON.stringify(applyDefaults(schema, {}));
  expect(text.length).toBeGreaterThan(10);
  expect(text.length).toBeLessThan(500);
});

it("limits branching recursion", () => {
  const again = Array.from({ length: 30 }, () => ({ $ref: "#" }));
  const names = Array.from({ length: 30 }, (_, index) => [`p${index}`, { default: {}, allOf: again }]);
  // Without a limit this would exceed the timeout of the test.
  expect(applyDefaults({ allOf: again, properties: Object.fromEntries(names) }, { a: 1 })).toMatchObject({
    a: 1,
  });
});

it("gives every caller its own copy of a default", () => {
  const schema = { properties: { tags: { default: ["a"] } } };
  const first = applyDefaults(schema, {}) as { tags: string[] };
  first.tags.push("b");
  expect(applyDefaults(schema, {})).toEqual({ tags: ["a"] });
});

it("always returns a copy, even of frozen arguments", () => {
  const args = Object.freeze({ o: Object.freeze({}) });
  const filled = applyDefaults({ properties: { o: { properties: { unit } }, b: unit } }, args);
  expect(filled).toEqual({ o: { unit: "metric" }, b: "metric" });
  expect(applyDefaults({}, args)).not.toBe(args);
});

it("cannot be used to change prototypes", () => {
  const schema = JSON.parse(
    '{"properties":{"__proto__":{"default":{"polluted":true}},"constructor":{"default":1}}}',
  );
  const filled = applyDefaults(schema, JSON.parse('{"a":{"__proto__":{"x":1}}}'));
  expect(Object.getPrototypeOf(filled)).toBe(Object.prototype);
  expect(Object.keys(filled).sort()).toEqual(["__proto__", "a", "constructor"]);
  expect((filled as { polluted?: unknown }).polluted).toBeUndefined();
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

it("does not change class instances", () => {
  const when = new Date(0);
  expect(applyDefaults({ properties: { when: { properties: { unit } } } }, { when })["when"]).toBe(when);
});
