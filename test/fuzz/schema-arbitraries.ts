/** Arbitrary schemas of servers: valid, unusual and invalid ones. */
import fc from "fast-check";
import { makeUpRoot } from "../contract/made-up-schemas.js";
import { createSeededRandom } from "../support/random.js";
import { almost, oddText, wireValue } from "./arbitraries.js";

const name = fc.oneof(
  fc.constantFrom(
    "a",
    "b",
    "query",
    "__proto__",
    "constructor",
    "toString",
    "$ref",
    "properties",
    "",
    "ü",
    "a b",
    "x".repeat(80),
  ),
  oddText,
);
const ref = fc.constantFrom(
  "#",
  "#/$defs/a",
  "#/$defs/b",
  "#/properties/a",
  "#/$defs/none",
  "#a",
  "http://x/y",
  "file:///etc",
  "%",
  "#/%",
);
const pattern = fc.constantFrom(
  "^a+$",
  "^(a+)+$",
  "([",
  "(?<=a)b",
  "\\p{L}",
  "a{1,99999}",
  "(a|a)*b",
  "^[\\w-]+$",
  "\\u{110000}",
);
const type = fc.constantFrom("object", "string", "integer", "number", "array", "boolean", "null", "any");
const amount = fc.oneof(fc.integer({ min: -2, max: 40 }), fc.constantFrom(0, -1, 1e308, 2 ** 53, 0.5));
const dialect = fc.constantFrom(
  "https://json-schema.org/draft/2020-12/schema",
  "http://json-schema.org/draft-07/schema#",
  "http://json-schema.org/draft-04/schema#",
  "https://json-schema.org/draft/2019-09/schema",
  "urn:none",
);

const { schema } = fc.letrec<{ schema: unknown }>((tie) => {
  const sub = tie("schema");
  const map = fc.dictionary(name, sub, { maxKeys: 3 });
  const list = fc.array(sub, { maxLength: 3 });
  return {
    schema: fc.oneof(
      { maxDepth: 4, depthSize: "small" },
      fc.boolean(),
      fc.constant({}),
      fc.record({ type }),
      almost(
        {
          type: fc.oneof(type, fc.array(type, { maxLength: 3 })),
          properties: map,
          required: fc.array(name, { maxLength: 3 }),
          additionalProperties: sub,
          patternProperties: fc.dictionary(pattern, sub, { maxKeys: 2 }),
          propertyNames: sub,
          items: fc.oneof(sub, list),
          prefixItems: list,
          contains: sub,
          anyOf: list,
          oneOf: list,
          allOf: list,
          not: sub,
          if: sub,
          // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
          then: sub,
          else: sub,
          enum: fc.array(wireValue, { maxLength: 4 }),
          const: wireValue,
          default: wireValue,
          examples: fc.array(wireValue, { maxLength: 2 }),
          pattern,
          format: fc.constantFrom("date", "uri", "email", "regex", "uuid", "int32", "nope"),
          minLength: amount,
          maxLength: amount,
          minimum: amount,
          exclusiveMaximum: amount,
          multipleOf: amount,
          minItems: amount,
          maxItems: amount,
          uniqueItems: fc.boolean(),
          minProperties: amount,
          dependentRequired: fc.dictionary(name, fc.array(name, { maxLength: 2 }), { maxKeys: 2 }),
          dependentSchemas: map,
          dependencies: map,
          unevaluatedProperties: sub,
          $ref: ref,
          $dynamicRef: ref,
          $id: fc.constantFrom("urn:a", "#a", "http://x/"),
          $anchor: fc.constantFrom("a", "b"),
          $defs: map,
          definitions: map,
          title: oddText,
          description: oddText,
          "x-mcp-header": fc.oneof(oddText, fc.constant("X-Tenant")),
        },
        { maxKeys: 6 },
      ),
    ),
  };
});

/** Any schema; most describe an object, as the schema of a tool must. */
export const anySchema: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: schema },
  {
    weight: 3,
    arbitrary: fc.tuple(schema, fc.option(dialect, { nil: undefined })).map(([some, $schema]) => ({
      ...(typeof some === "object" ? some : {}),
      type: "object",
      ...($schema !== undefined && { $schema }),
    })),
  },
  {
    weight: 2,
    arbitrary: fc.integer({ min: 1, max: 1e9 }).map((seed) => makeUpRoot(createSeededRandom(seed))),
  },
  { weight: 1, arbitrary: wireValue },
);

const toolFields = almost({
  name: fc.oneof(fc.constantFrom("echo", "search", "__proto__", "a".repeat(2_000)), oddText),
  title: oddText,
  description: oddText,
  inputSchema: anySchema,
  outputSchema: anySchema,
  annotations: almost({ title: oddText, readOnlyHint: fc.boolean() }),
  icons: fc.array(wireValue, { maxLength: 2 }),
  execution: almost({ taskSupport: fc.constantFrom("required", "optional", "forbidden") }),
  _meta: wireValue,
});

/** An entry of `tools/list`, or an arbitrary value. */
export const listedTool: fc.Arbitrary<unknown> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(toolFields, anySchema)
      .map(([more, inputSchema]) => ({ name: "echo", ...more, inputSchema })),
  },
  { weight: 3, arbitrary: toolFields },
  { weight: 1, arbitrary: wireValue },
);
