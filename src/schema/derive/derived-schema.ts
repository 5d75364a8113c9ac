/** What a JSON Schema becomes for one target, and what that took. */
import type { JsonSchema } from "../json-schema.js";

/**
 * The API that a schema is for.
 *
 * - `plain`: unchanged.
 * - `portable`: one form that OpenAI, Anthropic and Gemini all take, for frameworks that choose the provider later.
 * - `openai`, `openai-strict`: OpenAI function parameters, without and with `strict: true`.
 * - `anthropic`: `input_schema`.
 * - `gemini-json`: `parametersJsonSchema`.
 * - `gemini-openapi`: the older `parameters`, a subset of OpenAPI 3.0.
 */
export type SchemaTarget =
  | "plain"
  | "portable"
  | "openai"
  | "openai-strict"
  | "anthropic"
  | "gemini-json"
  | "gemini-openapi";

/**
 * What happened to a keyword.
 *
 * The meaning is kept by `inlined` (a reference became what it points at), `rewritten` (said in other keywords), `renamed` (a
 * property's name; `unwrap` gives it back), `required` (an optional property that the model must send, if only as null;
 * `unwrap` drops that null), `encoded` (a free-form object or value that is sent as JSON text; `unwrap` parses it) and `wrapped`
 * (the whole schema is now the property `value`).
 *
 * It is narrowed by `typed` (a type was added that the other keywords imply) and `closed` (undeclared properties are
 * refused).
 *
 * It is loosened by `described` (said in words, in a description), `relaxed` (a weaker form is left), `cut` (a reference was
 * not followed any deeper) and `removed` (nothing is left of it).
 *
 * `not-strict`: why a schema is sent without strict mode. `replaced`: the schema could not be derived at all.
 */
export type SchemaChangeKind =
  | "inlined"
  | "rewritten"
  | "renamed"
  | "required"
  | "encoded"
  | "wrapped"
  | "typed"
  | "closed"
  | "described"
  | "relaxed"
  | "cut"
  | "removed"
  | "not-strict"
  | "replaced";

/** Every target, in the order of the documentation. */
export const SCHEMA_TARGETS: readonly SchemaTarget[] = [
  "plain",
  "portable",
  "openai",
  "openai-strict",
  "anthropic",
  "gemini-json",
  "gemini-openapi",
];

/** One thing in which a derived schema differs from its original. */
export interface SchemaChange {
  /** The location of the keyword in the original: a JSON pointer to its schema, `#/properties/city`. */
  readonly path: string;
  readonly keyword: string;
  readonly what: SchemaChangeKind;
  /** The words that took the keyword's place, the new name, or the reason. */
  readonly detail?: string;
}

/** A schema that its target accepts. */
export interface DerivedSchema {
  readonly schema: JsonSchema;
  /** Everything in which it differs from the original; at most 1,000. */
  readonly changes: readonly SchemaChange[];
  /** Whether it may be sent with `strict: true`. False for every target but `openai-strict`, and there when a tool cannot be expressed. */
  readonly strict: boolean;
  /** Whether the original is no object, or a choice of objects, and is now wrapped in the property `value`. */
  readonly wrapped: boolean;
  /** Arguments that a model wrote for the derived schema, as arguments for the original. Gives back what it got when there is nothing to do. */
  unwrap(args: Record<string, unknown>): Record<string, unknown>;
  /** Arguments for the original as a model would have written them for the derived schema: for calls shown to it again. */
  wrap(args: Record<string, unknown>): Record<string, unknown>;
}
