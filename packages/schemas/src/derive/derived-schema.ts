/** A JSON Schema derived for one target, and the changes that were needed. */
import type { JsonSchema } from "../json-schema.js";

/**
 * The API that a schema is for.
 *
 * - `plain`: unchanged.
 * - `portable`: one form that OpenAI, Anthropic and Gemini all accept, for frameworks that choose the provider later.
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
 * These keep the meaning: `inlined` (a reference was replaced by its target), `rewritten` (expressed by other keywords), `renamed` (a
 * property; `unwrap` restores the name), `required` (an optional property that the model must send, possibly as null;
 * `unwrap` drops that null), `encoded` (a free-form object or value that is sent as JSON text; `unwrap` parses it), `wrapped`
 * (the whole schema is now the property `value`) and `compacted` (written shorter by the option `compact` of an adapter; long descriptions lose
 * text only if you set a limit).
 *
 * These narrow it: `typed` (a type was added that the other keywords imply) and `closed` (undeclared properties are
 * rejected).
 *
 * These loosen it: `described` (expressed in words, in a description), `relaxed` (a weaker form remains), `cut` (a reference was
 * not followed any deeper) and `removed` (without a replacement).
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
  | "compacted"
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

/** One difference between a derived schema and its original. */
export interface SchemaChange {
  /** The location of the keyword in the original: a JSON pointer to its schema, `#/properties/city`. Empty for the description of the tool. */
  readonly path: string;
  readonly keyword: string;
  readonly what: SchemaChangeKind;
  /** The words that replace the keyword, the new name, or the reason. */
  readonly detail?: string;
}

/** A schema that its target accepts. */
export interface DerivedSchema {
  readonly schema: JsonSchema;
  /** All differences from the original; at most 1,000. */
  readonly changes: readonly SchemaChange[];
  /** Whether it may be sent with `strict: true`. Only true for `openai-strict`, if strict mode can express the schema. */
  readonly strict: boolean;
  /** True if the original is not an object, or a union of objects, and is now wrapped in the property `value`. */
  readonly wrapped: boolean;
  /** Converts arguments for the derived schema into arguments for the original. Returns its argument if nothing changes. */
  unwrap(args: Record<string, unknown>): Record<string, unknown>;
  /** Converts arguments for the original into arguments for the derived schema, for calls that the model sees again. */
  wrap(args: Record<string, unknown>): Record<string, unknown>;
}

const MAX_CHANGES = 1_000;

/** The kinds after which a schema accepts more than before. */
const LOOSENING: ReadonlySet<SchemaChangeKind> = new Set(["described", "relaxed", "cut", "removed"]);
/** Keywords that never decide whether a value is valid. */
export const ANNOTATIONS: ReadonlySet<string> = new Set([
  ..."title description default examples example deprecated readOnly writeOnly $comment $schema $id id".split(
    " ",
  ),
  ..."$anchor $dynamicAnchor $recursiveAnchor $vocabulary $defs definitions contentEncoding contentMediaType".split(
    " ",
  ),
]);

export class ChangeLog {
  readonly #changes = new Map<string, SchemaChange>();
  /** How often meaning was lost so far. */
  losses = 0;

  /** Records the same change at every location that a keyword came from. */
  add(what: SchemaChangeKind, keyword: string, paths: readonly string[], detail?: string): void {
    if (LOOSENING.has(what) && !ANNOTATIONS.has(keyword)) this.losses++;
    for (const path of paths) {
      if (this.#changes.size >= MAX_CHANGES) return;
      const key = `${what} ${keyword} ${path}`;
      if (this.#changes.has(key)) continue;
      this.#changes.set(key, { path, keyword, what, ...(detail !== undefined && { detail }) });
    }
  }

  list(): SchemaChange[] {
    return [...this.#changes.values()];
  }
}
