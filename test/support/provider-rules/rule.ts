/** The form of a provider's rule. */
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

export type Node = Record<string, unknown>;
export type Report = (problem: string) => void;

/** A tool in a request. A Gemini declaration may have no schema. */
export interface SentTool {
  readonly name: string;
  readonly schema: unknown;
}

export interface Rule {
  readonly id: string;
  /** URL of the rule. */
  readonly source: string;
  /** Checks the whole list. */
  readonly tools?: (tools: readonly SentTool[], report: Report) => void;
  /** Checks the name of one tool. */
  readonly name?: (name: string, report: Report) => void;
  /** Checks the root of a schema. */
  readonly root?: (schema: Node, report: Report) => void;
  /** Checks every subschema. */
  readonly node?: (node: Node, report: Report, path: string) => void;
}

export const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const words = (text: string): Set<string> => new Set(text.split(" "));
export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
export const names = (node: Node): string[] =>
  isNode(node["properties"]) ? Object.keys(node["properties"]) : [];
export const typesOf = (node: Node): string[] =>
  [node["type"]].flat().map((type) => String(type).toLowerCase());
const DIALECT = "https://json-schema.org/draft/2020-12/schema";
const metaSchema = new Ajv2020({ strict: false });
// The meta-schema asks for patterns of ECMA-262 with the flag `u`.
addFormats.default(metaSchema, ["regex"]);

export const VALID_2020_12: Rule = {
  id: "invalid 2020-12",
  source: "https://github.com/anthropics/claude-code/issues/63673",
  root: (schema, report) => {
    // Always read as this dialect, whatever `$schema` says.
    if (metaSchema.validateSchema({ ...schema, $schema: DIALECT }) !== true)
      report(`JSON schema is invalid: ${metaSchema.errorsText(metaSchema.errors)}`);
  },
};

/** Visits every schema that is an object, but no data. */
export function walk(node: unknown, path: string, visit: (node: Node, path: string) => void): void {
  if (!isNode(node)) return;
  visit(node, path);
  for (const keyword of words("properties patternProperties $defs dependentSchemas"))
    if (isNode(node[keyword]))
      for (const [name, item] of Object.entries(node[keyword]))
        walk(item, `${path}/${keyword}/${name}`, visit);
  for (const keyword of words("anyOf oneOf allOf prefixItems"))
    for (const [index, item] of list(node[keyword]).entries())
      walk(item, `${path}/${keyword}/${index}`, visit);
  for (const keyword of words("items additionalProperties not if then else contains propertyNames"))
    walk(node[keyword], `${path}/${keyword}`, visit);
}
