import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeAll, describe, expect, it } from "vitest";
import { cpuTimeMs } from "../../../test/support/cpu-time.js";
import { createSchemaValidator } from "./create-validator.js";
import type { JsonSchema } from "./json-schema.js";
import type { ValidationIssue } from "./schema-validator.js";

const validator = createSchemaValidator();
const validate = (schema: JsonSchema, value: unknown): ValidationIssue[] => {
  const issues = validator.validate(schema, value);
  if (!Array.isArray(issues)) throw new Error("The validator is not prepared");
  return issues;
};
const lines = (schema: JsonSchema, value: unknown): string[] =>
  validate(schema, value).map(({ path, message }) => `${path} ${message}`);

it("is asynchronous the first time, then synchronous", async () => {
  const first = createSchemaValidator().validate({ type: "string" }, 1);
  expect(await first).toEqual([{ path: "$", message: "must be a string, but is a number" }]);
  await validator.prepare();
  expect(validate({ type: "string" }, "x")).toEqual([]);
});

describe("issues", () => {
  beforeAll(() => validator.prepare());

  it("contain the path of every problem", () => {
    const schema = {
      type: "object",
      properties: {
        city: { type: "string" },
        days: { type: "integer", minimum: 1 },
        items: {
          type: "array",
          items: { type: "object", properties: { name: { type: "string", maxLength: 3 } } },
        },
      },
      required: ["city", "unit"],
      additionalProperties: false,
    };
    const value = { days: 0.5, items: [{}, { name: "abc" }, { name: "abcd" }], "odd key": 1 };
    expect(lines(schema, value)).toEqual([
      "$.city is required",
      "$.unit is required",
      "$.days must be an integer, but has a fraction",
      "$.days must be at least 1",
      "$.items[2].name must have at most 3 characters",
      '$["odd key"] is not allowed',
    ]);
  });

  it.each<[JsonSchema, unknown, string[]]>([
    [{ enum: ["a", "b"] }, "c", ['$ must be one of "a", "b"']],
    [
      { enum: Array.from({ length: 30 }, (_, i) => i) },
      "c",
      ["$ must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 20 more"],
    ],
    [{ const: "a" }, "b", ['$ must be "a"']],
    [{ type: ["string", "null"] }, 1, ["$ must be a string or null, but is a number"]],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, [], ["$ must be a string or null, but is an array"]],
    [{ anyOf: [{ const: 1 }, { enum: [2, 3] }] }, 4, ["$ must be one of 1, 2, 3"]],
    [
      { anyOf: [{ type: "string", minLength: 2 }, { type: "number" }] },
      "a",
      ["$ must have at least 2 characters"],
    ],
    [{ anyOf: [{ required: ["a"] }, { required: ["b"] }] }, {}, ["$ matches none of 2 alternatives"]],
    [
      { oneOf: [{ type: "number" }, { type: "integer" }] },
      1,
      ["$ must match exactly one of 2 alternatives, but matches several"],
    ],
    [{ allOf: [{ minimum: 3 }, { maximum: 1 }] }, 2, ["$ must be at least 3", "$ must be at most 1"]],
    [{ $ref: "#/$defs/a", $defs: { a: { pattern: "^a" } } }, "b", ["$ must match the pattern ^a"]],
    [{ properties: { a: { format: "email" } } }, { a: "x" }, ["$.a must have the format email"]],
    [
      { propertyNames: { maxLength: 2 } },
      { abc: 1 },
      ["$.abc has a name that is not allowed: it must have at most 2 characters"],
    ],
    [{ dependentRequired: { a: ["b"] } }, { a: 1 }, ['$.b is required beside "a"']],
    [
      { contains: { type: "string" } },
      [1, 2],
      ["$ must contain an item that matches the schema of `contains`, but contains none"],
    ],
    [
      { contains: { type: "string" }, minContains: 2 },
      [1, "a"],
      ["$ must contain at least 2 items that match the schema of `contains`"],
    ],
    [
      { uniqueItems: true, maxItems: 1 },
      [1, 1],
      ["$ must have at most 1 item", "$ must not contain duplicate items"],
    ],
    [{ not: { type: "string" } }, "a", ["$ is a value that the schema excludes"]],
    [
      { properties: { "a/b~c d": { type: "string" } } },
      { "a/b~c d": 1 },
      ['$["a/b~c d"] must be a string, but is a number'],
    ],
    [{ if: { type: "string" }, else: { minimum: 5 } }, 1, ["$ must be at least 5"]],
    [
      { patternProperties: { "^x#/": { type: "string" } } },
      { "x#/1": 1 },
      ['$["x#/1"] must be a string, but is a number'],
    ],
  ])("%j on %j", (schema, value, expected) => {
    expect(lines(schema, value)).toEqual(expected);
  });

  it("are those of the intended alternative", () => {
    const circle = {
      properties: { kind: { const: "circle" }, radius: { type: "number" } },
      required: ["radius"],
    };
    const square = {
      properties: { kind: { const: "square" }, side: { type: "number" } },
      required: ["side"],
    };
    const schema = { properties: { shapes: { items: { oneOf: [circle, square] } } } };
    expect(
      lines(schema, {
        shapes: [
          { kind: "circle", radius: 1 },
          { kind: "square", side: "x" },
        ],
      }),
    ).toEqual(["$.shapes[1].side must be a number, but is a string"]);
  });

  it("are at most twenty and never contain the value", () => {
    const issues = validate({ items: { type: "string" } }, new Array(50_000).fill(123_456_789));
    expect(issues).toHaveLength(20);
    expect(JSON.stringify(issues)).not.toContain("123456789");
  });
});

describe("values are validated in the form in which JSON sends them", () => {
  const schema = { type: "object", properties: { a: { type: "string" } }, additionalProperties: false };
  it.each<[string, unknown, string[]]>([
    ["undefined properties are not there", { a: "x", b: undefined }, []],
    ["dates are text", { a: new Date(0) }, []],
    [
      "a circular value",
      (() => {
        const o: Record<string, unknown> = {};
        o["a"] = o;
        return o;
      })(),
      ["$ is nested deeper than 500 levels"],
    ],
    ["a bigint", { a: 1n }, ["$ cannot be written as JSON"]],
    ["nothing", undefined, ["$ is missing"]],
    ["NaN is null", { a: Number.NaN }, ["$.a must be a string, but is null"]],
  ])("%s", (_name, value, expected) => {
    expect(lines(schema, value)).toEqual(expected);
  });
});

describe("schemas that cannot be used", () => {
  it.each<[string, JsonSchema, unknown, string]>([
    ["a schema that is itself", { $ref: "#" }, {}, "refers to itself without end"],
    ["no schema at all", false as never, {}, "the schema is not an object"],
  ])("%s is reported", (_name, schema, value, expected) => {
    expect(lines(schema, value)).toEqual([expect.stringContaining(expected)]);
  });

  it("a chain of 4,000 references neither throws nor passes", () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 4_000 }, (_, i) => [
        `d${i}`,
        i === 3_999 ? { type: "string" } : { $ref: `#/$defs/d${i + 1}` },
      ]),
    );
    expect(validate({ $ref: "#/$defs/d0", $defs }, 1)).toHaveLength(1);
  });

  it("rejects 10,000 levels quickly", () => {
    let schema: JsonSchema = {};
    for (let level = 0; level < 10_000; level++) schema = { properties: { a: schema } };
    const before = cpuTimeMs();
    expect(lines(schema, {})).toEqual([expect.stringContaining("nested deeper than 64 levels")]);
    expect(cpuTimeMs() - before).toBeLessThan(5_000);
  });
});

it("never fetches a reference", async () => {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests++;
    response.end('{"type":"string"}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    for (const ref of [
      `http://127.0.0.1:${port}/a.json`,
      `//127.0.0.1:${port}/a.json`,
      "file:///etc/passwd",
      "a.json",
    ]) {
      for (const schema of [
        { $ref: ref },
        { $id: ref, properties: { a: { $dynamicRef: ref } }, $schema: undefined },
      ])
        await validator.validate(schema as JsonSchema, { a: 1 });
      expect(await validator.validate({ $ref: ref }, {})).toEqual([]);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(requests).toBe(0);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

it("does not change schemas and values, which may be frozen", () => {
  const schema = Object.freeze({
    properties: Object.freeze({ a: Object.freeze({ $ref: "#/$defs/s" }) }),
    $defs: Object.freeze({ s: Object.freeze({ type: "string" }) }),
  });
  const value = Object.freeze({ a: 1 });
  expect(lines(schema, value)).toEqual(["$.a must be a string, but is a number"]);
  expect(Reflect.ownKeys(schema.properties.a)).toEqual(["$ref"]);
});

it("compiles each of a thousand schemas on first use", () => {
  let reads = 0;
  const schemas = Array.from({ length: 1_000 }, (_, index) => ({
    type: "object",
    get properties() {
      reads++;
      return { [`p${index}`]: { type: "string", pattern: `^a${index}` } };
    },
  }));
  expect(reads).toBe(0);
  const before = cpuTimeMs();
  for (const [index, schema] of schemas.entries())
    expect(validate(schema, { [`p${index}`]: 1 })).toHaveLength(1);
  expect(cpuTimeMs() - before).toBeLessThan(10_000);
  const afterFirst = reads;
  for (const schema of schemas) validate(schema, {});
  expect(reads).toBe(afterFirst);
});

describe("a custom validator", () => {
  it("replaces the built-in one, compiles once, and its errors do not reach the caller", async () => {
    let compiled = 0;
    const own = createSchemaValidator({
      validator: {
        compile(schema) {
          compiled++;
          if (schema["bad"]) throw new Error("no such keyword");
          return (value) => (value === 1 ? undefined : [{ path: "$", message: "must be the one" }]);
        },
      },
    });
    const schema = {};
    expect(own.validate(schema, 1)).toEqual([]);
    expect(own.validate(schema, 2)).toEqual([{ path: "$", message: "must be the one" }]);
    expect(compiled).toBe(1);
    expect(own.validate({ bad: true }, 1)).toEqual([
      { path: "$", message: "cannot be checked: no such keyword", unchecked: true },
    ]);
    await own.prepare();
  });
});
