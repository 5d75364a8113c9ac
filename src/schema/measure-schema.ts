/** Estimates what validating one value may cost, so that schemas made to be slow are told from honest ones. */
import type { SchemaNode } from "./compile-schema.js";

export interface SchemaMeasure {
  /** Most subschemas that are held against one and the same value. */
  readonly weight: number;
  /** Whether the cost may grow faster than the value. */
  readonly risky: boolean;
}

/** A value may have very many parts, so this is little. */
const MAX_PLAIN_WEIGHT = 50;
const MAX_PLAIN_ENUM = 500;
/** Keywords whose schemas see the same value as the schema they stand in. */
const SAME_VALUE = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];
/** Keywords whose schemas see a part of it. */
const PART = [
  ..."properties patternProperties additionalProperties unevaluatedProperties propertyNames".split(" "),
  ..."items prefixItems additionalItems unevaluatedItems contains".split(" "),
];

/** Parts of a value that these see are seen by others as well. */
const OVERLAPPING = ["patternProperties", "contains"];

/** Weighs everything that is referred to in a compiled schema, its root included. */
export function measureSchema(targets: Readonly<Record<string, SchemaNode | true>>): SchemaMeasure {
  const weights = new Map<string, number>();
  const inProgress = new Set<string>();
  let [heaviest, recursive, branching, costly] = [0, false, false, false];

  const inside = (node: SchemaNode, keywords: readonly string[]): unknown[] =>
    keywords.flatMap((keyword) => {
      const value = node[keyword];
      if (value === undefined || value === true) return [];
      const isMap = Object.getPrototypeOf(value) === null;
      return Array.isArray(value) || isMap ? Object.values(value as object) : [value];
    });

  const weighTarget = (key: string): number => {
    if (inProgress.has(key)) {
      recursive = true;
      return 0;
    }
    const known = weights.get(key);
    if (known !== undefined) return known;
    inProgress.add(key);
    const weight = weigh(targets[key]);
    inProgress.delete(key);
    weights.set(key, weight);
    return weight;
  };

  const weigh = (schema: unknown): number => {
    if (typeof schema !== "object" || schema === null) return 1;
    const node = schema as SchemaNode;
    const choices = node["enum"];
    if (node["uniqueItems"] === true || (Array.isArray(choices) && choices.length > MAX_PLAIN_ENUM))
      costly = true;
    let weight = 1;
    if (typeof node["$ref"] === "string") weight += weighTarget(node["$ref"]);
    for (const sub of inside(node, SAME_VALUE)) {
      branching = true;
      weight += weigh(sub);
    }
    if (OVERLAPPING.some((keyword) => node[keyword] !== undefined)) branching = true;
    for (const part of inside(node, PART)) weigh(part);
    heaviest = Math.max(heaviest, weight);
    return weight;
  };

  try {
    for (const key of Object.keys(targets)) weighTarget(key);
  } catch {
    // A chain of references too long for the stack: let the bound decide.
    costly = true;
  }
  const risky = costly || (recursive && branching) || heaviest > MAX_PLAIN_WEIGHT;
  return { weight: heaviest, risky };
}
