/** What each target accepts, according to its documentation, and which types of value a keyword applies to. */

import { isOfType } from "../json-schema.js";
import { readPattern } from "../read-pattern.js";
import type { SchemaTarget } from "./derived-schema.js";
import type { SchemaTree } from "./schema-tree.js";

/** The rules of one target. */
export interface TargetRules {
  /** Supported keywords; undefined for all of JSON Schema. */
  readonly keywords?: ReadonlySet<string>;
  /** Supported formats; undefined for all. */
  readonly formats?: ReadonlySet<string>;
  /** Types of values that an `enum` may list; undefined for any. */
  readonly enumTypes?: ReadonlySet<string>;
  /** Whether `type` may be a list. */
  readonly typeLists?: boolean;
  /** Whether keywords beside `anyOf` must move into its branches: all but annotations, or all. */
  readonly besideAnyOf: "anything" | "annotations" | "nothing";
  /** Whether every object is closed and all its properties required. */
  readonly strict?: boolean;
  /** Whether types are written in capitals, and null as `nullable`. */
  readonly openapi?: boolean;
  /**
   * Whether schemas are read into Gemini's `Schema` message: every schema has a type, every object has properties, every
   * required name is declared. Free-form objects and values are sent as JSON text.
   */
  readonly message?: boolean;
  /** Whether a union at the root becomes one object; otherwise it is wrapped. */
  readonly flattensRoot?: boolean;
  /** Whether patterns must compile both in Python's `re` and in RE2. */
  readonly simplePatterns?: boolean;
  /** Largest sum of all `maxItems`; undefined if there is no limit. */
  readonly maxItemsInAll?: number;
  /** Pattern for property names; undefined if there is no rule. */
  readonly names?: RegExp;
  /** Property names that must be replaced although they match `names`. */
  readonly reservedNames?: ReadonlySet<string>;
}

const words = (list: string): ReadonlySet<string> => new Set(list.split(" "));

/** Keywords that the root of OpenAI's and Anthropic's parameters must not have. */
export const NOT_AT_ROOT = words("anyOf oneOf allOf not enum const if then else");

/** https://platform.openai.com/docs/guides/structured-outputs#supported-schemas */
const OPENAI_STRICT: TargetRules = {
  keywords: words(
    "type title description properties required additionalProperties items enum anyOf pattern format multipleOf " +
      "minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems",
  ),
  formats: words("date-time time date duration email hostname ipv4 ipv6 uuid"),
  enumTypes: words("string number integer boolean null"),
  typeLists: true,
  besideAnyOf: "annotations",
  strict: true,
  simplePatterns: true,
};

const LENIENT: TargetRules = {
  typeLists: true,
  besideAnyOf: "anything",
};

/** Not documented: measured in https://github.com/googleapis/python-genai/issues/2170. */
const GEMINI_MAX_ITEMS = 960;

/** https://ai.google.dev/api/caching#Schema and Vertex AI's rule for parameter names. */
const GEMINI_OPENAPI: TargetRules = {
  keywords: words(
    "type format title description enum items minItems maxItems minimum maximum minLength maxLength pattern " +
      "minProperties maxProperties anyOf properties required nullable",
  ),
  formats: words("enum date-time"),
  enumTypes: words("string"),
  besideAnyOf: "nothing",
  openapi: true,
  message: true,
  maxItemsInAll: GEMINI_MAX_ITEMS,
  names: /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/,
};

export const TARGET_RULES: Readonly<Record<Exclude<SchemaTarget, "plain">, TargetRules>> = {
  /**
   * What all other targets accept: Gemini's message, which is the most restrictive, written as JSON Schema. The reserved names
   * would get lost: `@langchain/google-genai` deletes them everywhere, and copies lose `__proto__`.
   */
  portable: {
    ...GEMINI_OPENAPI,
    openapi: false,
    formats: words("date-time"),
    flattensRoot: true,
    simplePatterns: true,
    reservedNames: words("strict additionalProperties $schema __proto__"),
  },
  /** https://platform.openai.com/docs/guides/function-calling: any JSON Schema, with an object at the root. */
  openai: { ...LENIENT, simplePatterns: true },
  "openai-strict": OPENAI_STRICT,
  /** https://docs.claude.com/en/docs/agents-and-tools/tool-use/overview: 2020-12; the name pattern comes from an error message of the API. */
  anthropic: { ...LENIENT, names: /^[a-zA-Z0-9_.-]{1,64}$/ },
  /** https://ai.google.dev/api/generate-content, the keywords of `responseJsonSchema`; references are inlined anyway. */
  "gemini-json": {
    keywords: words(
      "type format title description enum items prefixItems minItems maxItems minimum maximum anyOf properties " +
        "additionalProperties required",
    ),
    formats: words("date-time date time"),
    enumTypes: words("string number integer"),
    maxItemsInAll: GEMINI_MAX_ITEMS,
    typeLists: true,
    besideAnyOf: "annotations",
  },
  "gemini-openapi": GEMINI_OPENAPI,
};

const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  string: "minLength maxLength pattern format contentEncoding contentMediaType".split(" "),
  number: "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split(" "),
  array:
    "items prefixItems minItems maxItems uniqueItems contains minContains maxContains unevaluatedItems".split(
      " ",
    ),
  object: (
    "properties required additionalProperties patternProperties propertyNames minProperties maxProperties " +
    "dependentRequired dependentSchemas unevaluatedProperties"
  ).split(" "),
};
const FAMILY_OF = new Map(
  Object.entries(FAMILIES).flatMap(([type, keywords]) => keywords.map((keyword) => [keyword, type] as const)),
);

/** The types that a keyword applies to; undefined for all. */
export function familyOf(keyword: string): readonly string[] | undefined {
  const type = FAMILY_OF.get(keyword);
  // Formats of numbers (int32, double) come from OpenAPI.
  if (keyword === "format") return ["string", "number", "integer"];
  return type === "number" ? ["number", "integer"] : type === undefined ? undefined : [type];
}

/** The types of a schema without `type`. `exact`: the original accepts no other types. */
export function inferTypes(tree: SchemaTree): { types: string[]; exact: boolean } | undefined {
  const values = tree.get("enum");
  if (Array.isArray(values)) return { types: [...new Set(values.map(jsonTypeOf))], exact: true };
  const implied = new Set([...tree.keywords.keys()].flatMap((keyword) => FAMILY_OF.get(keyword) ?? []));
  return implied.size === 1 ? { types: [...implied], exact: false } : undefined;
}

/** Removes types that no listed value has. */
export function refineTypes(types: string[], tree: SchemaTree): string[] {
  const values = tree.get("enum");
  if (!Array.isArray(values)) return types;
  const used = types.filter((type) => values.some((value) => isOfType(value, type)));
  return used.length > 0 ? used : types;
}

export function jsonTypeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

/** Engines that nest character classes, like Rust's, read it as an inner class. */
const BRACKET_IN_CLASS = /(?:^|[^\\])(?:\\\\)*\[(?:\\.|[^\]\\[])*\[/s;
/** Longer patterns are described: the test above takes time. */
const MAX_PATTERN = 2_000;

/**
 * Patterns that every provider's engine compiles. OpenAI checks them with Python's `re` and refuses look-around; Gemini uses
 * RE2. Patterns that only JavaScript supports are described in words.
 */
function isSimplePattern(pattern: string): boolean {
  if (pattern.length > MAX_PATTERN || BRACKET_IN_CLASS.test(pattern)) return false;
  if (/\(\?(?!:)|\\(?![dDwWsSnrtfv\W_])|\[\^?\]/.test(pattern)) return false;
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}

/** Whether a target accepts a pattern. None accepts one that JavaScript cannot read. */
export const takesPattern = (
  pattern: string,
  { simplePatterns }: Pick<TargetRules, "simplePatterns">,
): boolean => (simplePatterns ? isSimplePattern(pattern) : readPattern(pattern) !== undefined);
