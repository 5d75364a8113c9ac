/** Random schemas: every keyword, in unusual combinations. */
import type { SeededRandom as Random } from "../support/random.js";

type Node = Record<string, unknown>;

const THEN = "then";
const NAMES = ["a", "b", "c", "$d", "e-f", "constructor"];
const SCALARS = [null, true, 0, 1, 2.5, "", "a", "abc"];

type MakeKeyword = (random: Random, depth: number) => Node;

const STRING: readonly MakeKeyword[] = [
  (random) => ({ minLength: random.below(3) }),
  (random) => ({ maxLength: 1 + random.below(3) }),
  (random) => ({ pattern: random.pick(["^a", "^[a-z]*$", "(?=a)"]) }),
  (random) => ({ format: random.pick(["date", "uri", "uuid"]) }),
  (random) => ({ enum: random.pick([["a", "abc"], ["a", ""], ["x"]]) }),
  () => ({ const: "a" }),
  () => ({ default: "a" }),
];
const NUMBER: readonly MakeKeyword[] = [
  (random) => ({ minimum: random.below(3) }),
  (random) => ({ exclusiveMaximum: 3 + random.below(9) }),
  () => ({ multipleOf: 2 }),
  () => ({ enum: [1, 2, 3] }),
];
const ARRAY: readonly MakeKeyword[] = [
  (random, depth) => ({ items: makeUp(random, depth - 1) }),
  (random, depth) => ({
    prefixItems: list(random, depth),
    ...(random.below(2) === 0 && { items: random.below(2) === 0 ? false : makeUp(random, depth - 1) }),
  }),
  (random) => ({ minItems: random.below(2) }),
  (random) => ({ maxItems: 1 + random.below(3) }),
  () => ({ uniqueItems: true }),
  (random, depth) => ({ contains: makeUp(random, depth - 1) }),
];
const OBJECT: readonly MakeKeyword[] = [
  (random, depth) => ({ properties: map(random, depth), required: [random.pick(NAMES)] }),
  (random, depth) => ({ properties: map(random, depth), additionalProperties: false }),
  (random, depth) => ({ properties: map(random, depth), additionalProperties: makeUp(random, depth - 1) }),
  (random, depth) => ({ properties: map(random, depth) }),
  (random, depth) => ({ patternProperties: { "^a": makeUp(random, depth - 1) } }),
  (random) => ({ propertyNames: { maxLength: 1 + random.below(4) } }),
  () => ({ minProperties: 1 }),
  (random) => ({ dependentRequired: { a: [random.pick(NAMES)] } }),
  (random) => ({ anyOf: [{ required: [random.pick(NAMES)] }, { required: [random.pick(NAMES)] }] }),
  () => ({ unevaluatedProperties: false }),
];
const ANY: readonly MakeKeyword[] = [
  (random, depth) => ({ [random.pick(["anyOf", "oneOf", "allOf"])]: list(random, depth) }),
  (random, depth) => ({ not: makeUp(random, depth - 1) }),
  (random, depth) => ({ if: makeUp(random, depth - 1), [THEN]: makeUp(random, depth - 1) }),
  (random) => ({ $ref: random.pick(["#/$defs/name", "#/$defs/node", "#/$defs/choice"]) }),
  (random) => ({ enum: [random.pick(SCALARS), random.pick(SCALARS), { a: 1 }] }),
  () => ({ description: "Words" }),
];
const TYPED: Readonly<Record<string, readonly MakeKeyword[]>> = {
  string: STRING,
  number: NUMBER,
  integer: NUMBER,
  boolean: [() => ({ default: true })],
  array: ARRAY,
  object: OBJECT,
  null: [() => ({})],
};

/** A schema of a tool. */
export function makeUpRoot(random: Random): Node {
  const root = typed(random, 3, "object");
  return {
    ...root,
    $defs: {
      name: { type: "string", minLength: 1 },
      node: { type: "object", properties: { next: { $ref: "#/$defs/node" }, a: { type: "integer" } } },
      choice: { oneOf: [{ type: "string" }, { type: "array", items: { $ref: "#/$defs/choice" } }] },
    },
  };
}

function makeUp(random: Random, depth: number): unknown {
  if (depth <= 0) return random.pick([true, {}, { type: "string" }, { type: "integer" }, { type: "null" }]);
  if (random.below(3) === 0) return random.pick(ANY)(random, depth);
  const types = Object.keys(TYPED);
  const schema = typed(random, depth, random.pick(types));
  return random.below(4) === 0
    ? { ...schema, type: [schema["type"], "null"].filter((t, i, all) => all.indexOf(t) === i) }
    : schema;
}

function typed(random: Random, depth: number, type: string): Node {
  const keywords = Array.from({ length: 1 + random.below(3) }, () =>
    random.pick(TYPED[type]!)(random, depth),
  );
  const more = random.below(4) === 0 ? random.pick(ANY)(random, depth) : {};
  return Object.assign({ type }, ...keywords, more);
}

const list = (random: Random, depth: number): unknown[] =>
  Array.from({ length: 1 + random.below(3) }, () => makeUp(random, depth - 1));

const map = (random: Random, depth: number): Node =>
  Object.fromEntries(
    Array.from({ length: 1 + random.below(3) }, () => [random.pick(NAMES), makeUp(random, depth - 1)]),
  );
