/** Writes a schema with fewer tokens: what says nothing is left out. */

import { cutText, tidyText } from "../../util/shorten-text.js";
import { isObject, type JsonSchema, keywordKind } from "../json-schema.js";
import { setKey } from "../json-value.js";
import type { Json } from "./derivation.js";

/** Which steps are taken. */
export interface CompactSteps {
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
    const kind = keywordKind(keyword, value);
    const inside = { at: `${place.at}/${keyword}`, exact: place.exact || EXACT.has(keyword) };
    if (kind === "schema") return this.write(value as JsonSchema, inside);
    if (kind === "list") return this.#list(value as unknown[], inside);
    if (kind === "map") return this.#map(keyword, value as Json, inside);
    return keyword === "description" && typeof value === "string" ? this.#description(value, place) : value;
  }

  #list(list: readonly unknown[], place: Place): readonly unknown[] {
    const written = list.map((item, index) =>
      isObject(item) ? this.write(item, { ...place, at: `${place.at}/${index}` }) : item,
    );
    return written.some((item, index) => item !== list[index]) ? written : list;
  }

  #map(keyword: string, map: Json, place: Place): Json {
    const out: Json = {};
    let isSame = true;
    for (const [key, item] of Object.entries(map)) {
      const at = `${place.at}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      const name = keyword === "properties" ? key : undefined;
      const written = isObject(item) ? this.write(item, { ...place, at, name }) : item;
      if (written !== item) isSame = false;
      setKey(out, key, written);
    }
    return isSame ? map : out;
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
    const index = anyOf.findIndex((item) => isObject(item) && isOnlyNull(item));
    const value: unknown = anyOf[1 - index];
    if (index === -1 || !isObject(value) || !SCALARS.has(value["type"] as string)) return schema;
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
