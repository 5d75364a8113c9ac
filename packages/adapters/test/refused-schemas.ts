/** One schema for every provider rule that a tool can break, and the client that sends it unchanged. */
import type { RuleTarget } from "../../../test/support/provider-refusals.js";
import type { CLIENTS } from "./framework-clients.js";

export interface RefusedSchema {
  readonly target: RuleTarget;
  /** The `id` of the rule. */
  readonly rule: string;
  readonly client: keyof typeof CLIENTS;
  readonly schema?: Record<string, unknown>;
  /** A number of tools instead of one schema. */
  readonly tools?: number;
  readonly rename?: (name: string) => string;
  readonly strict?: true;
  /** The caller chooses the number and size of tools: no form of the schema helps. */
  readonly onlyRefused?: true;
}

const object = (properties: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
  type: "object",
  properties,
  ...more,
});
const text = { type: "string" };
const union = [
  object({ kind: { const: "circle" }, radius: { type: "number" } }, { required: ["kind", "radius"] }),
  object({ kind: { const: "square" }, side: { type: "number" } }, { required: ["kind", "side"] }),
];
const badName = () => "not a name!";

const openAI = (rule: string, schema: Record<string, unknown>): RefusedSchema => ({
  target: "openai",
  client: "ChatOpenAI",
  rule,
  schema,
});
const strict = (rule: string, schema: Record<string, unknown>): RefusedSchema => ({
  target: "openai-strict",
  client: "ChatOpenAI",
  rule: `strict: ${rule}`,
  schema,
  strict: true,
});
/** `@langchain/anthropic` drops tools with a union at the root; the AI SDK sends them. */
const anthropic = (rule: string, schema: Record<string, unknown>): RefusedSchema => ({
  target: "anthropic",
  client: "@ai-sdk/anthropic",
  rule,
  schema,
});
/** `@ai-sdk/google` converts some of these itself; LangChain's client sends them. */
const gemini = (rule: string, schema: Record<string, unknown>): RefusedSchema => ({
  target: "gemini-openapi",
  client: "ChatGoogleGenerativeAI",
  rule,
  schema,
});

const reference = object({ a: { $ref: "#/$defs/a" } }, { $defs: { a: object({ b: text }) } });
const tuple = {
  $schema: "http://json-schema.org/draft-07/schema#",
  ...object({ point: { type: "array", items: [{ type: "number" }, { type: "number" }] } }),
};
const onlyDialect = { $schema: "http://json-schema.org/draft-07/schema#" };

export const REFUSED_SCHEMAS: readonly RefusedSchema[] = [
  { target: "openai", rule: "more than 128 tools", client: "ChatOpenAI", tools: 129, onlyRefused: true },
  { target: "openai", rule: "tool name", client: "ChatOpenAI", rename: badName },
  openAI("root is not an object", onlyDialect),
  openAI("object without properties", { type: "object" }),
  openAI("oneOf at the root", { type: "object", oneOf: union }),
  openAI("anyOf at the root", object({ id: text }, { anyOf: union, required: ["id"] })),
  openAI("allOf at the root", { type: "object", allOf: union.slice(0, 1) }),
  openAI("enum at the root", { ...object({ a: text }), enum: [{ a: "x" }, { a: "y" }] }),
  openAI("not at the root", { ...object({ a: text, b: text }), not: { required: ["a", "b"] } }),
  openAI("array without items", object({ all: { type: ["array", "null"] } })),
  openAI("pattern", object({ name: { type: "string", pattern: "^\\p{L}+$" } })),
  openAI("bracket in a class of a pattern", object({ name: { type: "string", pattern: "^[a-z[\\]]+$" } })),
  openAI("look-around in a pattern", object({ name: { type: "string", pattern: "^(?!x).*$" } })),
  openAI("invalid 2020-12", tuple),
  openAI("a reference", reference),

  strict("keyword", object({ a: { type: "string", minLength: 2 } })),
  strict("no type", object({ a: { description: "no type", allOf: [text] } })),
  strict("format", object({ a: { type: "string", format: "uri" } })),
  strict("open object", object({ a: text })),
  strict("optional property", object({ a: text })),
  strict("object without properties", object({ a: { allOf: [{ type: "object" }, object({ b: text })] } })),
  strict("array without items", object({ a: { allOf: [{ type: "array" }, { items: text }] } })),
  {
    ...strict("size", object({ a: { enum: Array.from({ length: 1_001 }, (_, index) => `v${index}`) } })),
    onlyRefused: true,
  },

  { target: "anthropic", rule: "tool name", client: "@ai-sdk/anthropic", rename: badName },
  anthropic("root is not an object", onlyDialect),
  anthropic("oneOf at the root", { type: "object", oneOf: union }),
  anthropic("anyOf at the root", { anyOf: union }),
  anthropic("allOf at the root", { type: "object", allOf: union.slice(1) }),
  anthropic("property key", object({ "filter[name]": text, $top: { type: "integer" } })),
  anthropic("invalid 2020-12", tuple),
  anthropic("a reference", reference),

  {
    target: "gemini-openapi",
    rule: "more than 512 declarations",
    client: "ChatGoogleGenerativeAI",
    tools: 513,
    onlyRefused: true,
  },
  { target: "gemini-openapi", rule: "function name", client: "ChatGoogleGenerativeAI", rename: badName },
  gemini("root is no OBJECT", onlyDialect),
  gemini("$ref", reference),
  gemini("$defs", reference),
  gemini("unknown field", object({ a: { const: "x" } })),
  gemini("list of types", object({ a: { type: ["string", "null"] } })),
  gemini("sum of maxItems", object({ all: { type: "array", items: text, maxItems: 1_000 } })),
  gemini("unknown type", object({ a: { type: "text" } })),
  gemini("no type", object({ a: { description: "anything" } })),
  gemini("enum of other types than STRING", object({ a: { type: "integer", enum: [1, 2] } })),
  {
    ...gemini("empty enum value", object({ a: { type: "string", enum: ["", "a"] } })),
    client: "@ai-sdk/google",
  },
  gemini("format", object({ a: { type: "string", format: "uri" } })),
  gemini("array without items", object({ a: { type: "array" } })),
  gemini("object without properties", object({ a: { type: "object", additionalProperties: text } })),
  gemini("undeclared required name", object({ a: text }, { required: ["a", "b"] })),
  gemini("required beside another type", object({ a: { ...text, required: [] } })),
  gemini("property name", object({ "a-b": text, "": text })),
  gemini("fields beside anyOf", object({ a: { anyOf: [text, { type: "number" }], description: "both" } })),

  // Broken by a client, not rejected by a provider: deleted names, null beside two types, recursion.
  gemini(
    "undeclared required name",
    object({ strict: { type: "boolean" }, a: text }, { required: ["strict"] }),
  ),
  {
    ...gemini("fields beside anyOf", object({ a: { type: ["string", "number", "null"] } })),
    client: "@ai-sdk/google",
  },
  gemini(
    "$ref",
    object(
      { tree: { $ref: "#/$defs/node" } },
      { $defs: { node: object({ next: { $ref: "#/$defs/node" } }) } },
    ),
  ),
];
