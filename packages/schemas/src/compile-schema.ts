/**
 * Rewrites a schema into the form that is validated: only what can be evaluated, references resolved, the original untouched. The rest is
 * not checked; `uncheckedParts` lists it.
 */
import { getOrMake } from "@toolport/base";
import { schemaProblem } from "./check-schema.js";
import {
  baseOf,
  type Draft,
  draftOf,
  hasMeaning,
  isRecord,
  isStrings,
  type JsonSchema,
  resolveRef,
} from "./json-schema.js";
import { setKey } from "./json-value.js";
import { isSimplePattern, readPattern } from "./read-pattern.js";

/** A schema of the rewritten form. `$ref` contains a key of `CompiledSchema.targets`. */
export type SchemaNode = Record<string, unknown>;

/** A schema ready to validate with. */
export interface CompiledSchema {
  readonly root: SchemaNode | true;
  readonly draft: Draft;
  /** Targets of references, by key. */
  readonly targets: Record<string, SchemaNode | true>;
  /** The schemas that contain patterns. */
  readonly patternNodes: readonly SchemaNode[];
  /** Validating may take long and needs a time limit. */
  readonly risky: boolean;
}

/** What the compiler needs to know about the validator. */
interface CompileContext {
  /** Formats that the validator knows; others are ignored. */
  isFormat: (format: string) => boolean;
}

/** No value is valid against it. Unlike `false`, the validator reports its location. */
export const NEVER: SchemaNode = { not: {} };
/** In place of schemas that are unknown. It counts as declaring every name and every item. */
const ANYTHING: SchemaNode = {
  patternProperties: Object.assign(Object.create(null), { "": true }),
  items: true,
};

const MAX_WEIGHT = 100_000;
const MAX_PLAIN_PATTERNS = 50;
/** Longer constants are not written into every error. */
const MAX_CONST = 200;
const NUMBERS = (
  "maximum minimum maxLength minLength maxItems minItems maxProperties minProperties " +
  "minContains maxContains multipleOf"
).split(" ");
/** Copied as they are. `nullable` has no meaning in JSON Schema; the lenient reading handles it as in OpenAPI. */
const DATA = [...NUMBERS, "uniqueItems", "nullable", "required", "type"];
const SINGLES = "not if then else contains propertyNames additionalProperties unevaluatedProperties".split(
  " ",
);
const ITEM_SINGLES = ["additionalItems", "unevaluatedItems"];
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"];

/** The compiled schema, or the reason why it cannot be compiled. */
export function compileSchema(schema: JsonSchema, context: CompileContext): CompiledSchema | string {
  const problem = schemaProblem(schema, "output");
  if (problem !== undefined) return problem.replace(/^outputSchema/, "the schema");
  const compiler = new SchemaCompiler(schema, context);
  const root = compiler.compile();
  const measure = measureSchema(compiler.targets);
  if (measure.weight > MAX_WEIGHT)
    return `the schema unfolds into more than ${MAX_WEIGHT} checks of one value`;
  const patterns = compiler.patternNodes.flatMap(patternsOf);
  return {
    root,
    draft: compiler.draft,
    targets: compiler.targets,
    patternNodes: compiler.patternNodes,
    risky: measure.risky || patterns.length > MAX_PLAIN_PATTERNS || !patterns.every(isSimplePattern),
  };
}

/** The patterns directly in a schema. */
function patternsOf(node: SchemaNode): string[] {
  const keys = Object.keys(node["patternProperties"] ?? {});
  return typeof node["pattern"] === "string" ? [node["pattern"], ...keys] : keys;
}

class SchemaCompiler {
  readonly draft: Draft;
  readonly targets: Record<string, SchemaNode | true> = Object.create(null);
  readonly patternNodes: SchemaNode[] = [];
  /** Nodes that accept more than their schema says, because something was left out. */
  readonly #wider = new Set<SchemaNode>();
  readonly #keys = new Map<unknown, string>();
  /** Referenced but not rewritten yet, with the document that its own references resolve against. */
  readonly #open: { schema: JsonSchema; base: JsonSchema; key: string }[] = [];

  constructor(
    readonly document: JsonSchema,
    readonly context: CompileContext,
  ) {
    this.draft = draftOf(document) ?? "2020-12";
  }

  compile(): SchemaNode | true {
    const root = this.#keyOf(this.document, this.document);
    // References are followed iteratively: a chain of them cannot overflow the stack.
    for (let item = this.#open.pop(); item !== undefined; item = this.#open.pop())
      this.targets[item.key] = this.#rewrite(item.schema, item.base);
    if (this.#wider.size > 0) for (const target of Object.values(this.targets)) widen(target, this.#wider);
    return this.targets[root]!;
  }

  #keyOf(schema: JsonSchema, base: JsonSchema): string {
    return getOrMake(this.#keys, schema, () => {
      const key = `schema-${this.#keys.size}`;
      this.#open.push({ schema, base, key });
      return key;
    });
  }

  #rewrite(schema: JsonSchema | boolean, outer: JsonSchema): SchemaNode | true {
    if (typeof schema === "boolean") return schema || NEVER;
    const base = baseOf(schema, outer, this.draft);
    const node: SchemaNode = {};
    const readable: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(schema)) {
      if (hasMeaning(keyword, value)) setKey(readable, keyword, value);
      else this.#wider.add(node);
    }
    const { $ref } = readable;
    if (typeof $ref === "string") node["$ref"] = this.#target($ref, base, node);
    // Up to draft-07, `$ref` overrides all keywords beside it.
    if (typeof $ref === "string" && (this.draft === "7" || this.draft === "4")) return node;
    this.#copyData(readable, node);
    this.#copySchemas(schema, readable, { node, base });
    this.#followDynamic(readable, node, base);
    if (patternsOf(node).length > 0) this.patternNodes.push(node);
    return node;
  }

  #target(ref: string, base: JsonSchema, node: SchemaNode): string {
    const inBase = resolveRef(ref, { base, root: base });
    const found = inBase ?? resolveRef(ref, { base: this.document, root: this.document });
    if (isRecord(found)) return this.#keyOf(found, inBase === undefined ? this.document : base);
    if (found === undefined) this.#wider.add(node);
    const key = String(found);
    this.targets[key] ??= found === undefined ? ANYTHING : found || NEVER;
    return key;
  }

  /** Within one document, dynamic references resolve like plain ones. */
  #followDynamic(schema: JsonSchema, node: SchemaNode, base: JsonSchema): void {
    for (const ref of [schema["$dynamicRef"], schema["$recursiveRef"]]) {
      if (typeof ref !== "string") continue;
      node["allOf"] = [...((node["allOf"] as unknown[]) ?? []), { $ref: this.#target(ref, base, node) }];
    }
  }

  #copyData(schema: JsonSchema, node: SchemaNode): void {
    for (const keyword of DATA) if (schema[keyword] !== undefined) node[keyword] = schema[keyword];
    this.#copyBounds(schema, node);
    const pattern = schema["pattern"] as string | undefined;
    const readable = pattern === undefined ? undefined : readPattern(pattern);
    if (readable !== undefined) node["pattern"] = readable;
    else if (pattern !== undefined) this.#wider.add(node);
    const format = schema["format"] as string | undefined;
    // A text that is a pattern for the server may be none for JavaScript.
    if (format !== undefined && format !== "regex" && this.context.isFormat(format)) node["format"] = format;
    else if (format !== undefined) this.#wider.add(node);
    if (schema["enum"] !== undefined) node["enum"] = quietList(schema["enum"] as unknown[]);
    this.#copyConst(schema, node);
  }

  /** An exclusive bound is a flag in draft-04 and OpenAPI 3.0, and a number in all others. Servers mix them. */
  #copyBounds(schema: JsonSchema, node: SchemaNode): void {
    for (const bound of ["maximum", "minimum"]) {
      const exclusive = `exclusive${bound[0]!.toUpperCase()}${bound.slice(1)}`;
      const [limit, value] = [schema[bound] as number | undefined, schema[exclusive]];
      if (typeof value === (this.draft === "4" ? "boolean" : "number")) node[exclusive] = value;
      else if (value === true && limit !== undefined) {
        node[exclusive] = limit;
        delete node[bound];
      } else if (typeof value === "number") {
        const isTighter = limit === undefined || (bound === "maximum" ? value <= limit : value >= limit);
        if (isTighter) Object.assign(node, { [bound]: value, [exclusive]: true });
      }
    }
  }

  #copyConst(schema: JsonSchema, node: SchemaNode): void {
    const { const: only } = schema;
    if (only === undefined) return;
    const isLong =
      typeof only === "object" ? only !== null : typeof only === "string" && only.length > MAX_CONST;
    if (!isLong) node["const"] = only;
    else if (node["enum"] === undefined) node["enum"] = quietList([only]);
    else node["allOf"] = [{ enum: quietList([only]) }];
  }

  /** @param readable the keywords that can be evaluated; of a map, single entries may be */
  #copySchemas(
    schema: JsonSchema,
    readable: JsonSchema,
    { node, base }: { node: SchemaNode; base: JsonSchema },
  ): void {
    for (const keyword of [...SINGLES, ...ITEM_SINGLES, "items"]) {
      const value = readable[keyword] as JsonSchema | boolean | undefined;
      if (value !== undefined && !Array.isArray(value)) node[keyword] = this.#rewrite(value, base);
    }
    for (const keyword of [...LISTS, "items"]) {
      const value = readable[keyword];
      if (!Array.isArray(value) || value.length === 0) continue;
      node[keyword] = value.map((item) => this.#rewrite(item, base));
    }
    for (const keyword of ["properties", "patternProperties"]) {
      const value = schema[keyword];
      if (isRecord(value)) this.#copyProperties(keyword, value, { node, base });
      // Every name may be declared.
      else if (value !== undefined && !hasMeaning(keyword, value))
        entriesOf(node, "patternProperties")[""] = true;
    }
    for (const keyword of ["dependentSchemas", "dependencies", "dependentRequired"]) {
      // `dependencies` was split in two; the validator's own reading of it misses references.
      for (const [key, value] of Object.entries(isRecord(schema[keyword]) ? schema[keyword] : {}))
        if (isStrings(value)) entriesOf(node, "dependentRequired")[key] = value;
        else if (isRecord(value) || typeof value === "boolean")
          entriesOf(node, "dependentSchemas")[key] = this.#rewrite(value, base);
    }
  }

  #copyProperties(
    keyword: string,
    properties: Record<string, unknown>,
    { node, base }: { node: SchemaNode; base: JsonSchema },
  ): void {
    for (const [key, value] of Object.entries(properties)) {
      const part = this.#rewrite(isRecord(value) || value === false ? value : true, base);
      const name = keyword === "properties" ? key : readPattern(key);
      if (name === undefined) this.#wider.add(node);
      const entries = entriesOf(node, keyword);
      // The names that an unreadable pattern declares are unknown: no name counts as undeclared.
      if (name === undefined) entries[""] ??= true;
      else entries[name] = entries[name] === undefined ? part : { allOf: [entries[name], part] };
    }
  }
}

/** Prevents the validator from writing the whole list into every error. */
const quietList = (values: readonly unknown[]): readonly unknown[] =>
  Object.defineProperty([...values], "toJSON", { value: () => undefined });

/** The map under a keyword, created on first use. It has no prototype, because keys come from the server. */
function entriesOf(node: SchemaNode, keyword: string): Record<string, unknown> {
  node[keyword] ??= Object.create(null);
  return node[keyword] as Record<string, unknown>;
}

/** The rewritten schemas under a keyword. */
export function partsOf(node: SchemaNode, keyword: string): unknown[] {
  const value = node[keyword];
  if (value === undefined || value === true) return [];
  const isMap = Object.getPrototypeOf(value) === null;
  return Array.isArray(value) || isMap ? Object.values(value as object) : [value];
}

/**
 * Leaves out what cannot be decided if a part accepts more than its schema says: where accepting more means refusing more. Every
 * reference counts as such a part, which is simpler than following it.
 *
 * @returns whether the node accepts more than its schema says
 */
function widen(part: unknown, wider: ReadonlySet<SchemaNode>): boolean {
  if (typeof part !== "object" || part === null || part === NEVER) return false;
  const node = part as SchemaNode;
  let isWider = wider.has(node) || node["$ref"] !== undefined;
  for (const keyword of [...SAME_VALUE, ...PART]) {
    if (partsOf(node, keyword).filter((inner) => widen(inner, wider)).length === 0) continue;
    isWider = true;
    if (keyword === "not") delete node["not"];
    else if (keyword === "contains") delete node["maxContains"];
    else if (keyword === "oneOf") acceptSeveral(node);
    else if (keyword === "if") {
      for (const each of ["if", "then", "else"]) delete node[each];
      // Either of them may have declared any name.
      node["allOf"] = [...((node["allOf"] as unknown[]) ?? []), ANYTHING];
    }
  }
  return isWider;
}

/** Reads `oneOf` as `anyOf`. */
export function acceptSeveral(node: SchemaNode): void {
  const { oneOf } = node;
  delete node["oneOf"];
  if (node["anyOf"] === undefined) node["anyOf"] = oneOf;
  else node["allOf"] = [...((node["allOf"] as unknown[]) ?? []), { anyOf: oneOf }];
}

/** Low, because a value may have very many parts. */
const MAX_PLAIN_WEIGHT = 50;
const MAX_PLAIN_ENUM = 500;
/** Keywords whose subschemas apply to the same value. */
const SAME_VALUE = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];
/** Keywords whose subschemas apply to a part of the value. */
const PART = [
  ..."properties patternProperties additionalProperties unevaluatedProperties propertyNames".split(" "),
  ..."items prefixItems additionalItems unevaluatedItems contains".split(" "),
];

/** Keywords that apply to parts which other keywords cover too. */
const OVERLAPPING = ["patternProperties", "contains"];

/**
 * Computes the cost of every referenced part of a compiled schema, including its root.
 *
 * @returns `weight`: maximum number of subschemas that apply to the same value; `risky`: the cost may grow faster than the value
 */
function measureSchema(targets: Readonly<Record<string, SchemaNode | true>>) {
  const weights = new Map<string, number>();
  const inProgress = new Set<string>();
  let [heaviest, recursive, branching, costly] = [0, false, false, false];

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
    for (const sub of SAME_VALUE.flatMap((keyword) => partsOf(node, keyword))) {
      branching = true;
      weight += weigh(sub);
    }
    if (OVERLAPPING.some((keyword) => node[keyword] !== undefined)) branching = true;
    for (const part of PART.flatMap((keyword) => partsOf(node, keyword))) weigh(part);
    heaviest = Math.max(heaviest, weight);
    return weight;
  };

  try {
    for (const key of Object.keys(targets)) weighTarget(key);
  } catch {
    // The chain of references overflows the stack: use the time limit.
    costly = true;
  }
  const risky = costly || (recursive && branching) || heaviest > MAX_PLAIN_WEIGHT;
  return { weight: heaviest, risky };
}
