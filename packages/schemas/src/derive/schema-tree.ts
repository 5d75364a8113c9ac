/** A schema during its derivation. It is read from a schema of any draft: references are inlined, recursion is limited, old keywords converted to 2020-12, and every keyword has its location in the original. */

import {
  draftOf,
  escapeToken,
  hasMeaning,
  isRecord,
  type JsonSchema,
  keywordKind,
  resolveLocalRef,
} from "../json-schema.js";
import { setKey } from "../json-value.js";
import { readPattern } from "../read-pattern.js";
import { ANNOTATIONS, type ChangeLog } from "./derived-schema.js";

/** One keyword: its value, with trees instead of schemas, and the locations in the original that it comes from. */
export interface TreeKeyword {
  readonly value: unknown;
  readonly from: readonly string[];
}

export class SchemaTree {
  readonly keywords = new Map<string, TreeKeyword>();
  /** Schemas that could not be merged and must be described in words. */
  readonly remarks: { keyword: string; words: string; from: readonly string[] }[] = [];

  constructor(readonly at: string) {}

  has(keyword: string): boolean {
    return this.keywords.has(keyword);
  }

  get(keyword: string): unknown {
    return this.keywords.get(keyword)?.value;
  }

  from(keyword: string): readonly string[] {
    return this.keywords.get(keyword)?.from ?? [this.at];
  }

  set(keyword: string, value: unknown, from: readonly string[] = [this.at]): this {
    this.keywords.set(keyword, { value, from });
    return this;
  }

  copy(): SchemaTree {
    const copy = new SchemaTree(this.at);
    for (const [keyword, entry] of this.keywords) copy.keywords.set(keyword, entry);
    copy.remarks.push(...this.remarks);
    return copy;
  }

  /** A copy without some keywords. */
  without(...keywords: string[]): SchemaTree {
    const copy = this.copy();
    for (const keyword of keywords) copy.keywords.delete(keyword);
    return copy;
  }

  /** A copy with only some keywords. */
  only(keywords: ReadonlySet<string>): SchemaTree {
    return this.without(...[...this.keywords.keys()].filter((keyword) => !keywords.has(keyword)));
  }

  tree(keyword: string): SchemaTree | undefined {
    const value = this.get(keyword);
    return value instanceof SchemaTree ? value : undefined;
  }

  trees(keyword: string): SchemaTree[] {
    const value = this.get(keyword);
    return Array.isArray(value) ? value.filter((item) => item instanceof SchemaTree) : [];
  }

  map(keyword: string): ReadonlyMap<string, SchemaTree> {
    const value = this.get(keyword);
    return value instanceof Map ? value : new Map();
  }

  strings(keyword: string): string[] {
    const value = this.get(keyword);
    return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
  }

  /** The values of `type`; undefined for any. */
  types(): string[] | undefined {
    const type = this.get("type");
    if (typeof type === "string") return [type];
    return Array.isArray(type) ? this.strings("type") : undefined;
  }

  /** The schema `false`, which accepts nothing. */
  isNever(): boolean {
    const not = this.tree("not");
    return not !== undefined && not.keywords.size === 0 && not.remarks.length === 0;
  }
}

export const never = (at: string): SchemaTree => new SchemaTree(at).set("not", new SchemaTree(at));

/** Converts the tree back to JSON Schema, for descriptions that quote it. */
export function treeToJson(value: unknown): unknown {
  if (value instanceof SchemaTree) {
    const entries = [...value.keywords].map(([keyword, entry]): [string, unknown] => [keyword, entry.value]);
    return value.isNever() ? false : entriesToJson(entries);
  }
  if (value instanceof Map) return entriesToJson(value);
  return Array.isArray(value) ? value.map(treeToJson) : value;
}

function entriesToJson(entries: Iterable<[string, unknown]>): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const [key, value] of entries) setKey(json, key, treeToJson(value));
  return json;
}

/** Thrown when a schema is too large to derive; caught here. */
export class TooLarge extends Error {}

export interface RefLimits {
  /** Maximum depth of nested references. */
  readonly depth: number;
  /** How often a definition may be nested in itself. */
  readonly recursion: number;
}

/** Tried in this order. */
const REF_LIMITS: readonly RefLimits[] = [
  { depth: 16, recursion: 2 },
  { depth: 16, recursion: 1 },
  { depth: 16, recursion: 0 },
  { depth: 4, recursion: 0 },
  { depth: 2, recursion: 0 },
  { depth: 1, recursion: 0 },
  { depth: 0, recursion: 0 },
];

/** The first result that is not too large; undefined if it is too large even without references. */
export function withRefLimits<Result>(attempt: (limits: RefLimits) => Result): Result | undefined {
  for (const limits of REF_LIMITS) {
    try {
      return attempt(limits);
    } catch (error) {
      // A deep schema may overflow the stack.
      if (!(error instanceof TooLarge || error instanceof RangeError)) throw error;
    }
  }
  return undefined;
}

const MAX_NODES = 6_000;
const MAX_DEPTH = 64;
/** Not needed after references are inlined; none of them constrains values. */
const BOOKKEEPING = new Set(
  "$schema $id id $comment $anchor $dynamicAnchor $recursiveAnchor $vocabulary $defs definitions".split(" "),
);
const COUNTS = new Set(
  "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains".split(" "),
);
const FLAGS = new Set("deprecated readOnly writeOnly".split(" "));
const TEXTS = new Set("description title contentEncoding contentMediaType".split(" "));
const NUMBERS = new Set("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split(" "));

interface Place {
  readonly at: string;
  readonly depth: number;
  /** The references that were followed to this schema. */
  readonly refs: readonly string[];
}

/** The whole schema as a tree. */
export function readTree(root: JsonSchema, log: ChangeLog, limits: RefLimits): SchemaTree {
  return new TreeReader(root, log, limits).read(root, { at: "#", depth: 0, refs: [] });
}

class TreeReader {
  #nodes = 0;
  /** Up to draft-07, keywords beside `$ref` are ignored. */
  readonly #refStandsAlone: boolean;

  constructor(
    readonly root: JsonSchema,
    readonly log: ChangeLog,
    readonly limits: RefLimits,
  ) {
    const draft = draftOf(root);
    this.#refStandsAlone = draft === "4" || draft === "7";
  }

  read(schema: unknown, place: Place): SchemaTree {
    if (++this.#nodes > MAX_NODES || place.depth > MAX_DEPTH) throw new TooLarge();
    if (schema === false) return never(place.at);
    const tree = new SchemaTree(place.at);
    if (!isRecord(schema)) return tree;
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword === "$ref" || keyword === "$dynamicRef" || keyword === "$recursiveRef") continue;
      this.#readKeyword(tree, keyword, value, place);
    }
    readOldSpellings(tree, this.log);
    const ref = schema["$ref"] ?? schema["$dynamicRef"] ?? schema["$recursiveRef"];
    return typeof ref === "string" ? this.#follow(ref, tree, place) : tree;
  }

  #readKeyword(tree: SchemaTree, keyword: string, value: unknown, place: Place): void {
    if (BOOKKEEPING.has(keyword)) {
      if (place.at === "#" && !keyword.endsWith("efs") && keyword !== "definitions")
        this.log.add("removed", keyword, [place.at]);
      return;
    }
    const inside = (...keys: (string | number)[]): Place => ({
      at: [place.at, keyword, ...keys.map((key) => escapeToken(String(key)))].join("/"),
      depth: place.depth + 1,
      refs: place.refs,
    });
    const kind = keywordKind(keyword, value);
    if (kind === "schema") tree.set(keyword, this.read(value, inside()));
    else if (kind === "list") {
      const list = (value as unknown[]).map((item, index) => this.read(item, inside(index)));
      if (list.length > 0) tree.set(keyword, list);
    } else if (kind === "map") {
      const map = new Map<string, unknown>();
      for (const [key, item] of Object.entries(value as object)) {
        const name = keyword === "patternProperties" ? this.#readPattern(key, keyword, place) : key;
        map.set(
          name,
          keyword === "dependencies" && Array.isArray(item) ? item : this.read(item, inside(key)),
        );
      }
      tree.set(keyword, map);
    } else if (typeof value === "boolean" && isSchemaKeyword(keyword))
      tree.set(keyword, this.read(value, inside()));
    else if (keyword === "pattern" && typeof value === "string")
      tree.set(keyword, this.#readPattern(value, keyword, place));
    else if (isSound(keyword, value)) tree.set(keyword, value);
    else this.log.add("removed", keyword, [place.at], "its value makes no sense");
  }

  /** A pattern of another language becomes one that all providers read, or stays as it is if it has no equivalent. */
  #readPattern(pattern: string, keyword: string, { at }: Place): string {
    const readable = readPattern(pattern) ?? pattern;
    if (readable !== pattern) this.log.add("rewritten", keyword, [at], readable);
    return readable;
  }

  #follow(ref: string, beside: SchemaTree, { at, depth, refs }: Place): SchemaTree {
    const siblings = this.#refStandsAlone ? beside.only(ANNOTATIONS) : beside;
    const target = resolveLocalRef(this.root, ref);
    if (target === undefined) {
      this.log.add("cut", "$ref", [at], "points at nothing in this schema");
      return siblings;
    }
    const again = refs.filter((followed) => followed === ref).length;
    if (refs.length >= this.limits.depth || again > this.limits.recursion) {
      this.log.add("cut", "$ref", [at], `not followed deeper than here: ${ref}`);
      const type = isRecord(target) && isSound("type", target["type"]) ? target["type"] : undefined;
      return type === undefined || siblings.has("type") ? siblings : siblings.copy().set("type", type);
    }
    this.log.add("inlined", "$ref", [at], ref);
    const tree = this.read(target, { at: pointerOf(ref, at), depth: depth + 1, refs: [...refs, ref] });
    const onlyAnnotations = [...siblings.keywords.keys()].every((keyword) => ANNOTATIONS.has(keyword));
    if (!onlyAnnotations) return siblings.copy().set("allOf", [...siblings.trees("allOf"), tree]);
    const joined = tree.copy();
    for (const [keyword, { value, from }] of siblings.keywords) joined.set(keyword, value, from);
    return joined;
  }
}

/** The pointer of an anchor is not resolved; the location of the reference is used instead. */
const pointerOf = (ref: string, at: string): string =>
  ref === "#" || ref.startsWith("#/") ? decodeURIComponent(ref) : `${at}/$ref`;

const isSchemaKeyword = (keyword: string): boolean => keywordKind(keyword, {}) === "schema";

/** Whether the value of a keyword passes the schema check of every target. */
function isSound(keyword: string, value: unknown): boolean {
  // Gemini's message and old drafts have flags where 2020-12 has numbers.
  if (NUMBERS.has(keyword) && typeof value === "boolean") return true;
  if (!hasMeaning(keyword, value)) return false;
  if (keyword === "type") return !Array.isArray(value) || new Set(value).size === value.length;
  if (COUNTS.has(keyword)) return Number.isSafeInteger(value) && (value as number) >= 0;
  // `1e400` is read as Infinity, which JSON writes as null.
  if (NUMBERS.has(keyword)) return Number.isFinite(value);
  if (keyword === "examples") return Array.isArray(value);
  if (FLAGS.has(keyword)) return typeof value === "boolean";
  if (TEXTS.has(keyword)) return typeof value === "string";
  // A schema or a map of schemas would have been read as such.
  return keywordKind(keyword, {}) === "data" && keywordKind(keyword, [{}]) === "data";
}

/** Converts keywords of draft-04 to draft-07 and OpenAPI 3.0 to 2020-12. */
function readOldSpellings(tree: SchemaTree, log: ChangeLog): void {
  if (Array.isArray(tree.get("items"))) {
    const rest = tree.keywords.get("additionalItems");
    tree.set("prefixItems", tree.get("items"), tree.from("items"));
    tree.keywords.delete("items");
    if (rest !== undefined) tree.set("items", rest.value, rest.from);
    log.add("rewritten", "items", [tree.at], "prefixItems");
  }
  tree.keywords.delete("additionalItems");
  for (const [bound, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    if (typeof tree.get(bound) === "boolean") tree.keywords.delete(bound);
    if (typeof tree.get(exclusive) !== "boolean") continue;
    const limit = tree.get(bound);
    if (tree.get(exclusive) === true && limit !== undefined) {
      tree.set(exclusive, limit);
      tree.keywords.delete(bound);
    } else tree.keywords.delete(exclusive);
  }
  readDependencies(tree);
  const types = tree.types();
  if (tree.get("nullable") === true && types !== undefined && !types.includes("null")) {
    tree.set("type", [...types, "null"]);
    log.add("rewritten", "nullable", [tree.at]);
  }
  tree.keywords.delete("nullable");
}

function readDependencies(tree: SchemaTree): void {
  const dependencies = tree.get("dependencies");
  if (!(dependencies instanceof Map)) return;
  const names: Record<string, unknown> = {};
  const schemas = new Map<string, SchemaTree>();
  for (const [key, value] of dependencies) {
    if (value instanceof SchemaTree) schemas.set(key, value);
    else if (key !== "__proto__") names[key] = value;
  }
  tree.keywords.delete("dependencies");
  if (Object.keys(names).length > 0) tree.set("dependentRequired", names);
  if (schemas.size > 0) tree.set("dependentSchemas", schemas);
}
