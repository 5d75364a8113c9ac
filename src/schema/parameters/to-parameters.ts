/** A tool's JSON Schema as a list of parameters. */
import { ChangeLog } from "../derive/change-log.js";
import { describe, sayKeywords } from "../derive/constraint-words.js";
import { flattenTree } from "../derive/flatten-tree.js";
import { inferTypes } from "../derive/keyword-families.js";
import { readTree } from "../derive/read-tree.js";
import { withRefLimits } from "../derive/ref-limits.js";
import type { SchemaTree } from "../derive/schema-tree.js";
import type { JsonSchema } from "../json-schema.js";
import type { Parameter, ParameterType } from "./parameter.js";

/** A parameter of a parameter of …: enough for people, and an end for recursion. */
const MAX_DEPTH = 16;
/** Keywords that a parameter has fields for; the rest is put into words. */
const FIELDS = new Set("type title description enum default properties required items".split(" "));
/** Says nothing that a reader of parameters needs. */
const SILENT = new Set(["additionalProperties", "unevaluatedProperties", "examples", "example"]);
const TYPES: ReadonlySet<string> = new Set("string number integer boolean array object".split(" "));

/**
 * The parameters that a schema describes. Null makes a parameter optional; what a parameter has no field for (lengths, bounds,
 * patterns, alternatives) is put into its description in words. Never throws: a schema it cannot read has no parameters.
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

function propertiesOf(tree: SchemaTree, depth: number): Parameter[] {
  const required = tree.strings("required");
  return [...tree.map("properties")].map(([name, property]) => {
    const { tree: real, isNullable } = withoutNull(flattenTree(property, new ChangeLog()));
    return { name, ...fieldsOf(real, depth + 1), required: required.includes(name) && !isNullable };
  });
}

function fieldsOf(tree: SchemaTree, depth: number): Omit<Parameter, "name" | "required"> {
  const type = typeOf(tree);
  const rest = [...tree.keywords.keys()].filter((keyword) => !FIELDS.has(keyword) && !SILENT.has(keyword));
  const words = [...sayTypes(tree), ...sayKeywords(tree, rest).map((sentence) => sentence.words)];
  words.push(...tree.spoken.map((spoken) => spoken.words));
  const description = describe(tree.get("description") ?? tree.get("title"), words);
  const values = tree.get("enum");
  const items = tree.tree("items");
  return {
    type,
    ...(description !== undefined && { description }),
    ...(Array.isArray(values) && { enum: values }),
    ...(tree.has("default") && { default: tree.get("default") }),
    ...(type === "array" && items !== undefined && depth < MAX_DEPTH && { items: itemsOf(items, depth) }),
    ...(type === "object" &&
      tree.has("properties") &&
      depth < MAX_DEPTH && { properties: propertiesOf(tree, depth) }),
  };
}

const itemsOf = (items: SchemaTree, depth: number): Omit<Parameter, "name" | "required"> =>
  fieldsOf(withoutNull(flattenTree(items, new ChangeLog())).tree, depth + 1);

/** The same schema for what is not null. */
function withoutNull(tree: SchemaTree): { tree: SchemaTree; isNullable: boolean } {
  const types = tree.types();
  if (types !== undefined && types.length > 1 && types.includes("null")) {
    const real = types.filter((type) => type !== "null");
    return { tree: tree.copy().set("type", real.length === 1 ? real[0] : real), isNullable: true };
  }
  const keyword = ["anyOf", "oneOf"].find((name) =>
    tree.trees(name).some((item) => item.types()?.join() === "null"),
  );
  if (keyword === undefined) return { tree, isNullable: false };
  const real = tree.trees(keyword).filter((item) => item.types()?.join() !== "null");
  const rest = tree.without(keyword);
  if (real.length !== 1) return { tree: rest.set(keyword, real), isNullable: true };
  return { tree: flattenTree(rest.set("allOf", real), new ChangeLog()), isNullable: true };
}

/** The one type that fits best; alternatives are left to the words. */
function typeOf(tree: SchemaTree): ParameterType {
  const alternatives = [...tree.trees("anyOf"), ...tree.trees("oneOf")].flatMap((item) => item.types() ?? []);
  const named = tree.types() ?? inferTypes(tree)?.types ?? alternatives;
  const known = named.filter((type): type is ParameterType => TYPES.has(type));
  // Anything can be written as text, and text is what most alternatives have among them.
  return known.length === 1 || !known.includes("string") ? (known[0] ?? "string") : "string";
}

function sayTypes(tree: SchemaTree): string[] {
  const types = tree.types() ?? [];
  return types.length > 1 ? [`Must be of type ${types.join(" or ")}.`] : [];
}
