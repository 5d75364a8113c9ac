/** Random schemas and values, the same on every run. */
import { createSeededRandom } from "./random.js";

/** `alone`: a `$ref` hides its siblings, as in draft-07. */
export const createRandom = (seed: number, alone = false) => ({ alone, ...createSeededRandom(seed) });
export type Random = ReturnType<typeof createRandom>;

const THEN = "then";
/** Ajv ignores a schema for `__proto__`; drafts.test.ts covers that. */
const SCHEMA_KEYS = ["a", "b", "c", "constructor", "x-1"];
const KEYS = ["a", "b", "c", "__proto__", "constructor", "x-1"];
const SCALARS = [
  null,
  true,
  false,
  0,
  1,
  -1,
  2,
  2.5,
  10,
  "",
  "a",
  "ab",
  "abc",
  "1",
  "😀",
  "2024-02-29",
  "a@b.co",
];

export function randomValue(random: Random, depth = 3): unknown {
  const kind = depth === 0 ? 0 : random.below(4);
  if (kind <= 1) return random.pick(SCALARS);
  const size = random.below(4);
  if (kind === 2) return Array.from({ length: size }, () => randomValue(random, depth - 1));
  return fromEntries(Array.from({ length: size }, () => [random.pick(KEYS), randomValue(random, depth - 1)]));
}

/** Like JSON.parse: `__proto__` becomes an ordinary property. */
const fromEntries = (entries: [string, unknown][]): object =>
  JSON.parse(`{${entries.map(([key, item]) => `${JSON.stringify(key)}:${JSON.stringify(item)}`).join(",")}}`);

type MakeKeyword = (random: Random, depth: number) => Record<string, unknown>;
const list = (random: Random, depth: number) =>
  Array.from({ length: 1 + random.below(3) }, () => randomSchema(random, depth - 1));
const map = (random: Random, depth: number) =>
  fromEntries(
    Array.from({ length: 1 + random.below(3) }, () => [
      random.pick(SCHEMA_KEYS),
      randomSchema(random, depth - 1),
    ]),
  );

const SHARED: readonly MakeKeyword[] = [
  (random) => ({ type: random.pick(["string", "number", "integer", "boolean", "object", "array", "null"]) }),
  (random) => ({
    type: random.pick([
      ["string", "null"],
      ["integer", "array"],
      ["object", "number"],
    ]),
  }),
  (random) => ({ enum: [randomValue(random, 1), randomValue(random, 1), random.pick(SCALARS)] }),
  (random) => ({ const: randomValue(random, 1) }),
  (random) => ({
    [random.pick(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"])]: random.below(3),
  }),
  (random) => ({ multipleOf: random.pick([0.5, 1, 2]) }),
  (random) => ({ [random.pick(["minLength", "maxLength"])]: random.below(4) }),
  (random) => ({
    [random.pick(["minItems", "maxItems", "minProperties", "maxProperties"])]: random.below(3),
  }),
  (random) => ({ pattern: random.pick(["^a", "^[a-z]+$", "^(a+)+$", "b|c", "(?=a)"]) }),
  () => ({ uniqueItems: true }),
  (random) => ({ required: [random.pick(KEYS), random.pick(KEYS)] }),
  (random, depth) => ({ properties: map(random, depth) }),
  (random, depth) => ({
    properties: map(random, depth),
    additionalProperties: randomSchema(random, depth - 1),
  }),
  (random, depth) => ({
    patternProperties: { [random.pick(["^a", "c", "^(x-?)+1"])]: randomSchema(random, depth - 1) },
  }),
  (random, depth) => ({ propertyNames: randomSchema(random, depth - 1) }),
  (random, depth) => ({ items: randomSchema(random, depth - 1) }),
  (random, depth) => ({ contains: randomSchema(random, depth - 1) }),
  (random, depth) => ({ [random.pick(["allOf", "anyOf", "oneOf"])]: list(random, depth) }),
  (random, depth) => ({ not: randomSchema(random, depth - 1) }),
  (random, depth) => {
    const [condition, then, otherwise] = [0, 1, 2].map(() => randomSchema(random, depth - 1));
    return { if: condition, [THEN]: then, else: otherwise };
  },
  (random) => ({ $ref: random.pick(["#/$defs/a", "#/$defs/b"]) }),
  (random) => ({ dependencies: { [random.pick(KEYS.slice(0, 3))]: [random.pick(KEYS)] } }),
];

export function randomSchema(random: Random, depth: number): unknown {
  if (depth <= 0 || random.below(10) === 0)
    return random.pick([true, false, {}, { type: "string" }, { type: "number" }]);
  const parts = Array.from({ length: 1 + random.below(3) }, () => random.pick(SHARED)(random, depth));
  const schema = Object.assign({}, ...parts);
  // The drafts differ for keywords beside a reference, but Ajv treats all of them like the newest.
  return "$ref" in schema && random.alone ? { $ref: schema.$ref } : schema;
}
