/** Writes schemas and descriptions with fewer tokens, as the option `compact` of the adapters asks: what says nothing is left out. */
import { ConfigError, type ConfigIssue, cutText, getOrMake, oncePerObject, tidyText } from "@toolport/base";
import { escapeToken, isRecord, type JsonSchema, mapSubschemas, subschemas } from "../json-schema.js";
import { setKey } from "../json-value.js";
import type { Json } from "./derivation.js";
import { ChangeLog, type DerivedSchema, type SchemaChange, type SchemaTarget } from "./derived-schema.js";
import { TARGET_RULES } from "./target-rules.js";

/** Steps that save more tokens than the safe ones. The first two lose text. */
export interface CompactOptions {
  /**
   * Maximum length of the description of a tool, in characters. Longer ones are cut between two words and end with "…".
   * @default no limit
   * @example
   * ```ts
   * { compact: { descriptions: 500 } }
   * ```
   */
  readonly descriptions?: number | undefined;
  /** Maximum length of the description of a parameter, in characters. @default no limit */
  readonly parameters?: number | undefined;
  /**
   * Write parts that are repeated in a schema once, in `$defs`, and refer to them. Only for OpenAI without strict mode and for
   * Anthropic: Gemini does not accept references, and services in front of the others may not either.
   * @default false
   */
  readonly defs?: boolean | undefined;
}

/** True: the safe steps. An object: those, and the steps that it names. False: none. */
export type CompactOption = boolean | CompactOptions;

export interface WithCompact {
  /**
   * Leave out of schemas and descriptions what says nothing to a model: needless white space, titles that repeat a name, types that listed values imply.
   * The meaning stays the same. `onChange` reports these changes as `compacted`. Further steps by options. Not with `schema: "source"`.
   * @default true
   * @example
   * ```ts
   * { compact: { descriptions: 500, parameters: 200 } } // cut long descriptions as well
   * ```
   */
  readonly compact?: CompactOption | undefined;
}

/** Shorter limits would leave nothing to read. */
const MIN_LIMIT = 20;
const SAFE: CompactOptions = Object.freeze({});

/**
 * The steps of an option; undefined for none.
 * @throws ConfigError for a value that makes no sense; the message names it
 */
export function readCompact(option: CompactOption = true): CompactOptions | undefined {
  if (option === true) return SAFE;
  if (option === false) return undefined;
  const issues = [...problemsOf(option)];
  if (issues.length > 0) throw new ConfigError({ code: "INVALID_CONFIG", issues });
  return option;
}

function* problemsOf(option: unknown): Generator<ConfigIssue> {
  if (typeof option !== "object" || option === null)
    return yield { path: "compact", message: "must be true, false or an object" };
  for (const [key, value] of Object.entries(option)) {
    const path = `compact.${key}`;
    if (value === undefined) continue;
    if (key === "descriptions" || key === "parameters") {
      if (!Number.isInteger(value) || value < MIN_LIMIT)
        yield { path, message: `must be a number of characters, at least ${MIN_LIMIT}` };
    } else if (key !== "defs")
      yield { path, message: "is not a known option: descriptions, parameters, defs" };
    else if (typeof value !== "boolean") yield { path, message: "must be true or false" };
  }
}

/** By derived schema, which is cached itself, and by the steps. */
const compactForms = oncePerObject((_derived: DerivedSchema) => new Map<string, DerivedSchema>());

/** The derived schema, written shorter. Arguments are converted as before. */
export function compactDerived(
  derived: DerivedSchema,
  target: SchemaTarget,
  options: CompactOptions,
): DerivedSchema {
  if (target === "plain") return derived;
  const { parameters, defs = false } = options;
  const bySteps = compactForms(derived);
  const key = `${parameters} ${defs}`;
  return getOrMake(bySteps, key, () => writeCompact(derived, target, { parameters, defs }));
}

function writeCompact(
  derived: DerivedSchema,
  target: Exclude<SchemaTarget, "plain">,
  { parameters, defs }: { parameters: number | undefined; defs: boolean },
): DerivedSchema {
  // A schema that strict mode cannot express is sent in the lenient form.
  const form = target === "openai-strict" && !derived.strict ? "openai" : target;
  const { keywords, typeLists = false } = TARGET_RULES[form];
  // All of JSON Schema below the root: references, and an `enum` without a `type`.
  const isLenient = keywords === undefined;
  const log = new ChangeLog();
  const shorter = compactSchema(derived.schema, {
    dropsTypes: isLenient,
    typeLists,
    parameters,
    onChange: (path, keyword, detail) => log.add("compacted", keyword, [path], detail),
  });
  const schema = defs && isLenient ? shareRepeatedParts(shorter) : shorter;
  if (schema !== shorter) log.add("compacted", "$defs", ["#"], "repeated parts are written once");
  return schema === derived.schema
    ? derived
    : { ...derived, schema, changes: [...derived.changes, ...log.list()] };
}

/** The description of a tool, written shorter. */
export function compactDescription(
  description: string | undefined,
  { descriptions }: CompactOptions,
): string | undefined {
  if (description === undefined) return undefined;
  const tidy = tidyText(description);
  return descriptions === undefined ? tidy : cutText(tidy, descriptions);
}

/** The change of a tool's own description, which stands outside of the schema; undefined if there is none. */
export function descriptionChange(
  before: string | undefined,
  after: string | undefined,
): SchemaChange | undefined {
  if (before === after) return undefined;
  const isCut = after !== (before && tidyText(before));
  const detail = isCut ? "the description of the tool was cut" : "white space in the description of the tool";
  return { path: "", keyword: "description", what: "compacted", detail };
}

/** Which steps are taken. */
interface CompactSteps {
  /** False if the target needs a `type` beside an `enum`. */
  readonly dropsTypes: boolean;
  /** Whether the target accepts `type: ["string", "null"]`. */
  readonly typeLists: boolean;
  /** Maximum length of the descriptions of parameters, in characters; undefined for no limit. */
  readonly parameters?: number | undefined;
  /** Called for every change. */
  readonly onChange?: ((path: string, keyword: string, detail: string) => void) | undefined;
}

const BOOKKEEPING = new Set(["$schema", "$id", "$comment"]);
/** Loosening a part of these could make the whole accept less. */
const EXACT = new Set(["not", "if", "contains", "oneOf"]);
const SCALARS = new Set(["string", "number", "integer", "boolean"]);
/** Keywords that `null` passes whatever they say. */
const PASSED_BY_NULL = new Set(
  (
    "type minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf " +
    "contentEncoding contentMediaType"
  ).split(" "),
);
/** Words at the end of the names that generators give to the arguments of a tool. */
const GENERATED_TITLE = /^\w*(?:Arguments|Args|Parameters|Params|Input|Schema)$/;

/**
 * The schema with the same meaning, written shorter. Returns the same object if there is nothing to leave out; the
 * input is never modified.
 */
export function compactSchema(schema: JsonSchema, steps: CompactSteps): JsonSchema {
  return new Compactor(steps).write(schema, { at: "#", exact: false });
}

interface Place {
  readonly at: string;
  /** The name of the property that the schema describes. */
  readonly name?: string | undefined;
  /** Whether the schema must accept exactly the same values. */
  readonly exact: boolean;
}

class Compactor {
  constructor(readonly steps: CompactSteps) {}

  write(schema: JsonSchema, place: Place): JsonSchema {
    const source = this.#joinNull(schema, place);
    const out: Json = {};
    let isSame = source === schema;
    for (const [keyword, value] of Object.entries(source)) {
      const why = this.#whyNeedless(keyword, source, place);
      if (why !== undefined) {
        this.steps.onChange?.(place.at, keyword, why);
        isSame = false;
        continue;
      }
      const written = this.#value(keyword, value, place);
      if (written !== value) isSame = false;
      setKey(out, keyword, written);
    }
    return isSame ? schema : out;
  }

  /** Why a keyword can be left out; undefined if it cannot. */
  #whyNeedless(keyword: string, schema: JsonSchema, { at, name, exact }: Place): string | undefined {
    const value = schema[keyword];
    if (BOOKKEEPING.has(keyword) && typeof value === "string") {
      // An id may be the base of references.
      const isNeeded = keyword === "$id" && at !== "#";
      return isNeeded ? undefined : "says nothing to a model";
    }
    if (keyword === "type") {
      const { enum: values } = schema;
      const areTexts = Array.isArray(values) && values.every((item) => typeof item === "string");
      const isNeedless = this.steps.dropsTypes && value === "string" && areTexts && values.length > 0;
      return isNeedless ? "all listed values are texts" : undefined;
    }
    if (keyword === "title") return whyTitle(value, at, name);
    if (keyword === "required") return isEmptyList(value) ? "is empty" : undefined;
    if (exact || (schema["type"] !== "integer" && schema["type"] !== "number")) return undefined;
    const isSafeBound =
      (keyword === "minimum" && value === Number.MIN_SAFE_INTEGER) ||
      (keyword === "maximum" && value === Number.MAX_SAFE_INTEGER);
    return isSafeBound ? "is the range of safe integers" : undefined;
  }

  #value(keyword: string, value: unknown, place: Place): unknown {
    if (keyword === "description" && typeof value === "string") return this.#description(value, place);
    const exact = place.exact || EXACT.has(keyword);
    return mapSubschemas(keyword, value, (schema, key) => {
      const at = `${place.at}/${keyword}${key === undefined ? "" : `/${escapeToken(key)}`}`;
      return this.write(schema, { at, exact, name: keyword === "properties" ? key : undefined });
    });
  }

  #description(text: string, { at }: Place): string {
    const tidy = tidyText(text);
    if (tidy !== text) this.steps.onChange?.(at, "description", "white space");
    const { parameters } = this.steps;
    if (parameters === undefined || tidy.length <= parameters) return tidy;
    this.steps.onChange?.(at, "description", `cut to ${parameters} characters`);
    return cutText(tidy, parameters);
  }

  /** `anyOf: [{ type: "string" }, { type: "null" }]` as `type: ["string", "null"]`. Generators of Python write the former. */
  #joinNull(schema: JsonSchema, { at }: Place): JsonSchema {
    const { anyOf, ...beside } = schema;
    if (!this.steps.typeLists || !Array.isArray(anyOf) || anyOf.length !== 2) return schema;
    const index = anyOf.findIndex((item) => isRecord(item) && isOnlyNull(item));
    const value: unknown = anyOf[1 - index];
    if (index === -1 || !isRecord(value) || !SCALARS.has(value["type"] as string)) return schema;
    const keys = Object.keys(value);
    if (!keys.every((key) => PASSED_BY_NULL.has(key) && !Object.hasOwn(beside, key))) return schema;
    this.steps.onChange?.(at, "anyOf", "is a list of types");
    return { ...beside, ...value, type: [value["type"], "null"] };
  }
}

const isOnlyNull = (schema: JsonSchema): boolean =>
  schema["type"] === "null" && Object.keys(schema).length === 1;

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** Why a title says nothing: it repeats the name of its property, or a generator made it up. */
function whyTitle(title: unknown, at: string, name: string | undefined): string | undefined {
  if (typeof title !== "string") return undefined;
  if (at === "#") return GENERATED_TITLE.test(title) ? "is generated" : undefined;
  return name !== undefined && letters(title) === letters(name) ? "repeats the name" : undefined;
}

const letters = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");

/** Shorter parts cost no more than a reference and a definition. */
const MIN_CHARACTERS = 80;

/**
 * The schema with references to parts that occur at least twice. Returns the same object if there are none, or if the schema has
 * references or definitions of its own.
 */
export function shareRepeatedParts(schema: JsonSchema): JsonSchema {
  const texts = new Map<object, string>();
  const counts = new Map<string, number>();
  let hasOwn = false;
  visit(schema, (part) => {
    if ("$ref" in part || "$defs" in part || "$dynamicRef" in part) hasOwn = true;
    const text = JSON.stringify(part);
    texts.set(part, text);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  });
  if (hasOwn) return schema;
  const names = new Map<string, string>();
  const definitions: Json = {};
  const write = (part: JsonSchema, isRoot = false): JsonSchema => {
    const text = texts.get(part)!;
    const isShared = !isRoot && text.length >= MIN_CHARACTERS && counts.get(text)! > 1;
    if (!isShared) return writeInside(part, write);
    const name = names.get(text) ?? `p${names.size + 1}`;
    if (!names.has(text)) {
      names.set(text, name);
      definitions[name] = writeInside(part, write);
    }
    return { $ref: `#/$defs/${name}` };
  };
  const written = write(schema, true);
  return names.size === 0 ? schema : { ...written, $defs: definitions };
}

/** Calls `each` for every object that is a schema, the outer ones first. */
function visit(schema: JsonSchema, each: (part: JsonSchema) => void): void {
  each(schema);
  for (const part of subschemas(schema)) visit(part, each);
}

function writeInside(schema: JsonSchema, write: (part: JsonSchema) => JsonSchema): JsonSchema {
  const out: Json = {};
  for (const [keyword, value] of Object.entries(schema))
    setKey(
      out,
      keyword,
      mapSubschemas(keyword, value, (part) => write(part)),
    );
  return out;
}
