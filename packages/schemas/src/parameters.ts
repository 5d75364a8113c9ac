/** Lists of parameters, for code that uses them instead of JSON Schema, and the conversion in both directions. */

import { describe, sayKeywords } from "./derive/derivation.js";
import { ChangeLog } from "./derive/derived-schema.js";
import { flattenTree } from "./derive/flatten-tree.js";
import { readTree, type SchemaTree, withRefLimits } from "./derive/schema-tree.js";
import { inferTypes } from "./derive/target-rules.js";
import type { JsonSchema } from "./json-schema.js";
import { setKey } from "./json-value.js";

/** The type of a parameter, as JSON Schema names it. */
export type ParameterType = "string" | "number" | "integer" | "boolean" | "array" | "object";

/** A parameter, or a property of one. */
export interface Parameter {
  readonly name: string;
  readonly type: ParameterType;
  /** The description of the schema, followed by constraints that have no field here: `Must be >= 1 and <= 100 characters.` */
  readonly description?: string;
  /** Also false for required properties that may be null: leaving them out means null. */
  readonly required: boolean;
  /** The allowed values, without null. */
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  /** The items of a list. */
  readonly items?: Omit<Parameter, "name" | "required">;
  /** The properties of an object. */
  readonly properties?: readonly Parameter[];
  /** Which other properties an object may have: none (`false`), any (`true`), or those of one type. A hint for checks. */
  readonly additionalProperties?: boolean | Omit<Parameter, "name" | "required">;
}

/**
 * Returns the schema of an object with the parameters as its properties.
 *
 * @example
 * ```ts
 * fromParameters([{ name: "city", type: "string", required: true }]);
 * // { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
 * ```
 */
export function fromParameters(parameters: readonly Parameter[]): JsonSchema {
  return { type: "object", ...writeProperties(parameters) };
}

function writeProperties(parameters: readonly Parameter[]): JsonSchema {
  const properties: Record<string, unknown> = {};
  for (const parameter of parameters) setKey(properties, parameter.name, writeParameter(parameter));
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name);
  return { properties, ...(required.length > 0 && { required }) };
}

function writeParameter(parameter: Omit<Parameter, "name" | "required">): JsonSchema {
  const { type, description, enum: values, items, properties, additionalProperties: others } = parameter;
  return {
    type,
    ...(description !== undefined && { description }),
    ...(values !== undefined && { enum: values }),
    ...("default" in parameter && { default: parameter.default }),
    ...(items !== undefined && { items: writeParameter(items) }),
    ...(properties !== undefined && writeProperties(properties)),
    ...(others !== undefined && {
      additionalProperties: typeof others === "boolean" ? others : writeParameter(others),
    }),
  };
}

/** Maximum depth of nested parameters, which also limits recursion. */
const MAX_DEPTH = 16;
/** Keywords that a parameter has fields for; all others are described in words. */
const FIELDS = new Set("type title description enum default properties required items".split(" "));
/** Keywords that are not relevant for parameters. */
const SILENT = new Set(["examples", "example"]);
const TYPES: ReadonlySet<string> = new Set("string number integer boolean array object".split(" "));

/**
 * Returns the parameters that a schema describes. A parameter that may be null is optional, and null is not in its values. Constraints
 * without a field (lengths, bounds, patterns, alternatives) are described in its description. Never throws: a
 * schema that cannot be read has no parameters.
 *
 * @example
 * ```ts
 * toParameters({ type: "object", properties: { name: { type: "string", minLength: 1 } }, required: ["name"] });
 * // [{ name: "name", type: "string", description: "Must be >= 1 character.", required: true }]
 * ```
 */
export function toParameters(schema: JsonSchema): Parameter[] {
  try {
    const read = withRefLimits((limits) => {
      const tree = readTree(schema, new ChangeLog(), limits);
      return propertiesOf(flattenTree(tree, new ChangeLog()), 0);
    });
    return read ?? [];
  } catch {
    return [];
  }
}

type Shape = Omit<Parameter, "name" | "required">;

function propertiesOf(tree: SchemaTree, depth: number): Parameter[] {
  const required = tree.strings("required");
  return [...tree.map("properties")].map(([name, property]) => {
    const { tree: real, isNullable } = withoutNull(flattenTree(property, new ChangeLog()));
    return { name, ...fieldsOf(real, depth + 1), required: required.includes(name) && !isNullable };
  });
}

function fieldsOf(tree: SchemaTree, depth: number): Shape {
  const type = typeOf(tree);
  const rest = [...tree.keywords.keys()].filter((keyword) => !FIELDS.has(keyword) && !SILENT.has(keyword));
  // Only "no other properties" gets a sentence; other rules have a field.
  const isClosed = tree.tree("additionalProperties")?.isNever() === true;
  const said = isClosed ? rest : rest.filter((keyword) => keyword !== "additionalProperties");
  const words = [...sayTypes(tree), ...sayKeywords(tree, said).map((sentence) => sentence.words)];
  words.push(...tree.remarks.map((remark) => remark.words));
  const description = describe(tree.get("description") ?? tree.get("title"), words);
  const values = tree.get("enum");
  const items = tree.tree("items");
  const isDeep = depth >= MAX_DEPTH;
  return {
    type,
    ...(description !== undefined && { description }),
    ...(Array.isArray(values) && { enum: values }),
    ...(tree.has("default") && { default: tree.get("default") }),
    ...(type === "array" && items !== undefined && !isDeep && { items: shapeOf(items, depth) }),
    ...(type === "object" && !isDeep && objectFields(tree, depth)),
  };
}

function objectFields(
  tree: SchemaTree,
  depth: number,
): Pick<Parameter, "properties" | "additionalProperties"> {
  const others = tree.tree("additionalProperties");
  return {
    ...(tree.has("properties") && { properties: propertiesOf(tree, depth) }),
    ...(others !== undefined && { additionalProperties: othersOf(others, depth) }),
  };
}

function othersOf(others: SchemaTree, depth: number): boolean | Shape {
  if (others.isNever()) return false;
  return others.keywords.size === 0 && others.remarks.length === 0 ? true : shapeOf(others, depth);
}

/** Items cannot be left out, so the description mentions null. */
function shapeOf(value: SchemaTree, depth: number): Shape {
  const { tree, isNullable, isNull } = withoutNull(flattenTree(value, new ChangeLog()));
  return fieldsOf(isNullable && !isNull ? say(tree, "May be null.") : tree, depth + 1);
}

interface NotNull {
  readonly tree: SchemaTree;
  readonly isNullable: boolean;
  /** Only null is accepted. */
  readonly isNull?: boolean;
}

/** The same schema without null. */
function withoutNull(tree: SchemaTree): NotNull {
  const types = tree.types();
  const real = types?.filter((type) => type !== "null");
  if (real?.length === 0 || (tree.has("const") && tree.get("const") === null)) return onlyNull(tree);
  const allowsNull = types === undefined || types.includes("null");
  let isNullable = types?.includes("null") === true;
  let rest = isNullable ? tree.copy().set("type", real?.length === 1 ? real[0] : real) : tree;
  const values = tree.get("enum");
  if (Array.isArray(values) && values.includes(null)) {
    const others = values.filter((value) => value !== null);
    if (others.length === 0) return onlyNull(tree);
    rest = rest.copy().set("enum", others);
    isNullable ||= allowsNull;
  }
  for (const keyword of ["anyOf", "oneOf"]) {
    const branches = rest.trees(keyword).map(withoutNull);
    if (!branches.some((branch) => branch.isNullable)) continue;
    const left = branches.filter((branch) => branch.isNull !== true).map((branch) => branch.tree);
    if (left.length === 0) return onlyNull(tree);
    const outer = rest.without(keyword);
    rest =
      left.length === 1 ? flattenTree(outer.set("allOf", left), new ChangeLog()) : outer.set(keyword, left);
    isNullable ||= allowsNull;
  }
  return { tree: rest, isNullable };
}

const onlyNull = (tree: SchemaTree): NotNull => ({
  tree: say(tree.without("type", "const", "enum", "anyOf", "oneOf"), "Must be null."),
  isNullable: true,
  isNull: true,
});

function say(tree: SchemaTree, words: string): SchemaTree {
  const copy = tree.copy();
  copy.remarks.push({ keyword: "type", words, from: [tree.at] });
  return copy;
}

/** The best single type; alternatives are described in words. */
function typeOf(tree: SchemaTree): ParameterType {
  const alternatives = [...tree.trees("anyOf"), ...tree.trees("oneOf")].flatMap((item) => item.types() ?? []);
  const named = tree.types() ?? inferTypes(tree)?.types ?? alternatives;
  const known = named.filter((type): type is ParameterType => TYPES.has(type));
  // Every value can be written as text, and most alternatives include a string.
  return known.length === 1 || !known.includes("string") ? (known[0] ?? "string") : "string";
}

function sayTypes(tree: SchemaTree): string[] {
  const types = tree.types() ?? [];
  return types.length > 1 ? [`Must be of type ${types.join(" or ")}.`] : [];
}
