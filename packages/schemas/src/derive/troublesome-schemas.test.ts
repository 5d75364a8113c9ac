import { describe, expect, it } from "vitest";
import { cpuTimeMs } from "../../../../test/support/cpu-time.js";
import type { JsonSchema } from "../json-schema.js";
import { deriveSchema } from "./derive-schema.js";
import type { SchemaTarget } from "./derived-schema.js";

const TARGETS: SchemaTarget[] = [
  "plain",
  "openai",
  "openai-strict",
  "anthropic",
  "gemini-json",
  "gemini-openapi",
];
const object = (properties: Record<string, unknown>, required?: string[]): JsonSchema => ({
  type: "object",
  properties,
  ...(required && { required }),
});

describe("hostile schemas", () => {
  const wide = { ...object({ a: { $ref: "#/$defs/a" } }), $defs: {} as Record<string, unknown> };
  for (let level = 0; level < 20; level++)
    wide.$defs[String.fromCharCode(97 + level)] = object(
      Object.fromEntries(
        Array.from({ length: 10 }, (_, i) => [
          `p${i}`,
          { $ref: `#/$defs/${String.fromCharCode(98 + level)}` },
        ]),
      ),
    );
  let deep: unknown = { type: "string" };
  for (let level = 0; level < 5_000; level++) deep = { allOf: [deep] };
  const filter = {
    ...object({ where: { $ref: "#/$defs/f" } }),
    $defs: {
      f: {
        anyOf: [
          object({ and: { type: "array", items: { $ref: "#/$defs/f" } } }),
          object({ or: { type: "array", items: { $ref: "#/$defs/f" } } }),
          object({ not: { $ref: "#/$defs/f" } }),
        ],
      },
    },
  };
  const cases: [string, unknown][] = [
    ["itself", { $ref: "#" }],
    ["itself in allOf", { allOf: [{ $ref: "#" }, { $ref: "#" }] }],
    ["references that grow", wide],
    ["recursion that branches", filter],
    ["5,000 levels", deep],
    [
      "nonsense",
      {
        type: 3,
        properties: [],
        required: "a",
        enum: {},
        anyOf: {},
        items: 1,
        minLength: -1,
        description: {},
      },
    ],
    ["no schema", "string"],
    ["null", null],
    [
      "10,000 properties",
      object(Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`p${i}`, {}]))),
    ],
    [
      "many alternatives beside many others",
      object({
        a: {
          allOf: Array.from({ length: 40 }, () => ({
            anyOf: Array.from({ length: 40 }, (_, i) => object({ [`k${i}`]: { type: "string" } })),
          })),
        },
      }),
    ],
    [
      "prototypes",
      JSON.parse(
        '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{}},"required":["__proto__"]}',
      ),
    ],
  ];

  it.each(
    cases.flatMap(([name, schema]) => TARGETS.slice(1).map((target) => [name, target, schema] as const)),
  )("%s for %s", (_name, target, schema) => {
    const before = cpuTimeMs();
    const { schema: derived, changes } = deriveSchema(schema as JsonSchema, target);
    expect(cpuTimeMs() - before).toBeLessThan(50_000);
    expect(JSON.stringify(derived).length).toBeLessThan(2_000_000);
    expect(String(derived["type"]).toLowerCase()).toBe("object");
    expect(changes.length).toBeLessThanOrEqual(1_000);
    expect(({} as { type?: unknown }).type).toBeUndefined();
  });

  it("reports that a schema could not be derived", () => {
    expect(deriveSchema(deep as JsonSchema, "openai")).toMatchObject({
      schema: { type: "object", properties: {} },
      changes: [{ path: "#", what: "replaced" }],
    });
  });
});
