import { describe, expect, it } from "vitest";
import { cpuTimeMs } from "../../test/support/cpu-time.js";
import { checkToolSchema } from "./check-schema.js";

const deep = (levels: number, wrap: (inner: unknown) => unknown): unknown => {
  let schema: unknown = { type: "string" };
  for (let level = 0; level < levels; level++) schema = wrap(schema);
  return schema;
};
const asProperty = (inner: unknown) => ({ type: "object", properties: { a: inner } });

describe("usable schemas", () => {
  it.each<[string, unknown]>([
    ["an empty one", {}],
    ["an ordinary one", { type: "object", properties: { city: { type: "string" } }, required: ["city"] }],
    ["one that is itself", { $ref: "#" }],
    [
      "mutual recursion",
      {
        type: "object",
        properties: { a: { $ref: "#/$defs/a" } },
        $defs: {
          a: { properties: { b: { $ref: "#/$defs/b" } } },
          b: { properties: { a: { $ref: "#/$defs/a" } } },
        },
      },
    ],
    ["an anchor", { properties: { a: { $ref: "#here" } }, $defs: { b: { $anchor: "here" } } }],
    ["dynamic references", { $dynamicAnchor: "node", properties: { a: { $dynamicRef: "#node" } } }],
    ["recursive references", { $recursiveAnchor: true, properties: { a: { $recursiveRef: "#" } } }],
    [
      "properties named like keywords",
      { properties: { pattern: { type: "string" }, $ref: { type: "string" }, enum: { type: "array" } } },
    ],
    ["a remote reference that is only an example", { examples: [{ $ref: "https://example.com/a.json" }] }],
    ["look-behind and property escapes", { properties: { a: { pattern: "(?<=a)\\p{L}" } } }],
    ["64 levels", deep(63, asProperty)],
    ["an enum of 10,000", { properties: { a: { enum: Array.from({ length: 10_000 }, (_, i) => i) } } }],
  ])("%s", (_name, schema) => {
    expect(checkToolSchema(schema, "input")).toBeUndefined();
  });

  it.each([
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2020-12/schema#",
    "http://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-04/schema#",
  ])("the dialect %s", ($schema) => {
    expect(checkToolSchema({ $schema, type: "object" }, "input")).toBeUndefined();
  });

  it("an output schema that is not an object", () => {
    expect(checkToolSchema({ type: "array" }, "output")).toBeUndefined();
  });
});

describe("schemas that are withheld", () => {
  it.each<[string, unknown, string]>([
    ["null", null, "inputSchema is not an object"],
    ["a list", [], "inputSchema is not an object"],
    ["a string", "object", "inputSchema is not an object"],
    ["nothing", undefined, "inputSchema is not an object"],
    ["another type at the root", { type: "string" }, "does not describe an object"],
    ["an unknown dialect", { $schema: "https://example.com/schema" }, "an unknown dialect"],
    ["a dialect that is a number", { $schema: 7 }, "an unknown dialect"],
    ["65 levels", deep(64, asProperty), "nested deeper than 64 levels"],
    ["10,000 levels", deep(10_000, asProperty), "nested deeper than 64 levels"],
    ["10,000 levels of allOf", deep(10_000, (inner) => ({ allOf: [inner] })), "nested deeper than"],
    ["10,000 levels of data", { default: deep(10_000, (inner) => [inner]) }, "nested deeper than"],
    [
      "too many subschemas",
      { properties: Object.fromEntries(Array.from({ length: 5_001 }, (_, i) => [`p${i}`, {}])) },
      "has more than 5000 subschemas",
    ],
    ["4 MiB", { description: "x".repeat(4 * 1024 * 1024) }, "is larger than 1 MiB"],
    ["an enum of 100,000", { enum: new Array(100_000).fill(1) }, "has an enum of 100000 entries"],
    ["http", { properties: { a: { $ref: "http://127.0.0.1/a.json" } } }, "refers to another document"],
    [
      "https",
      { $ref: "https://example.com/a.json?token=1" },
      'another document ("https://example.com/a.json")',
    ],
    ["file", { allOf: [{ $ref: "file:///etc/passwd" }] }, "refers to another document"],
    ["a file beside", { items: { $ref: "other.json#/a" } }, "refers to another document"],
    ["a broken pattern", { properties: { a: { pattern: "([" } } }, 'not a regular expression ("([")'],
    ["a pattern broken only with the flag u", { properties: { a: { pattern: "\\p{" } } }, "not a regular"],
    ["a broken pattern for names", { patternProperties: { "*": {} } }, "not a regular expression"],
  ])("%s", (_name, schema, reason) => {
    const before = cpuTimeMs();
    expect(checkToolSchema(schema, "input")).toContain(reason);
    expect(cpuTimeMs() - before).toBeLessThan(5_000);
  });

  it("names the schema in the reason", () => {
    expect(checkToolSchema({ $ref: "b.json" }, "output")).toMatch(/^outputSchema refers/);
  });

  it("a circular object", () => {
    const schema: Record<string, unknown> = {};
    schema["not"] = schema;
    expect(checkToolSchema(schema, "input")).toContain("nested deeper than 64 levels");
  });
});
