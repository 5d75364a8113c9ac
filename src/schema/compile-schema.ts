/** Rewrites a schema into the form that is validated: known keywords only, references resolved, the original untouched. */
import { checkToolSchema } from "./check-schema.js";
import { type Draft, draftOf, isObject, type JsonSchema } from "./json-schema.js";
import { resolveLocalRef } from "./local-ref.js";
import { isSimplePattern } from "./pattern-risk.js";

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
  /** Replacements of unresolved references, with the reference. No value is valid against them. */
  readonly unresolved: ReadonlyMap<unknown, string>;
}

/** What the compiler needs to know about the validator. */
export interface CompileContext {
  /** Formats that the validator knows; others are ignored. */
  isFormat: (format: string) => boolean;
}

/** No value is valid against it. Unlike `false`, the validator reports its location. */
export const NEVER: SchemaNode = { not: {} };

const MAX_WEIGHT = 100_000;
const MAX_PLAIN_PATTERNS = 50;
/** Longer constants are not written into every error. */
const MAX_CONST = 200;
const TYPES = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);
const NUMBERS = "maximum minimum maxLength minLength maxItems minItems maxProperties minProperties".split(
  " ",
);
const SINGLES = "not if then else contains propertyNames additionalProperties unevaluatedProperties".split(
  " ",
);
const ITEM_SINGLES = ["additionalItems", "unevaluatedItems"];
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"];
const MAPS = ["properties", "patternProperties", "dependentSchemas"];

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");
const isSchema = (value: unknown): value is JsonSchema | boolean =>
  isObject(value) || typeof value === "boolean";

/** The compiled schema, or the reason why it cannot be compiled. */
export function compileSchema(schema: JsonSchema, context: CompileContext): CompiledSchema | string {
  const problem = checkToolSchema(schema, "output");
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
    unresolved: compiler.unresolved,
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
  readonly unresolved = new Map<unknown, string>();
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
    return this.targets[root]!;
  }

  #keyOf(schema: JsonSchema, base: JsonSchema): string {
    let key = this.#keys.get(schema);
    if (key === undefined) {
      key = `schema-${this.#keys.size}`;
      this.#keys.set(schema, key);
      this.#open.push({ schema, base, key });
    }
    return key;
  }

  #rewrite(schema: JsonSchema | boolean, outer: JsonSchema): SchemaNode | true {
    if (typeof schema === "boolean") return schema || NEVER;
    const base = this.#baseOf(schema, outer);
    const node: SchemaNode = {};
    const isRef = typeof schema["$ref"] === "string";
    if (isRef) node["$ref"] = this.#target(schema["$ref"] as string, base);
    // Up to draft-07, `$ref` overrides all keywords beside it.
    if (isRef && (this.draft === "7" || this.draft === "4")) return node;
    this.#copyData(schema, node);
    this.#copySchemas(schema, node, base);
    this.#followDynamic(schema, node, base);
    if (patternsOf(node).length > 0) this.patternNodes.push(node);
    return node;
  }

  /** A schema with its own `$id` is an embedded document. */
  #baseOf(schema: JsonSchema, outer: JsonSchema): JsonSchema {
    const id = schema[this.draft === "4" ? "id" : "$id"];
    return typeof id === "string" && !id.startsWith("#") ? schema : outer;
  }

  #target(ref: string, base: JsonSchema): string {
    const inBase = resolveLocalRef(base, ref);
    // Some generators write meaningless ids, and references that start at the root.
    const found = inBase ?? resolveLocalRef(this.document, ref);
    if (isObject(found)) return this.#keyOf(found, inBase === undefined ? this.document : base);
    const key = found === undefined ? `unresolved ${ref}` : String(found);
    if (this.targets[key] === undefined) {
      this.targets[key] = found === true || (found === false ? NEVER : { not: {} });
      if (found === undefined) this.unresolved.set(this.targets[key], ref);
    }
    return key;
  }

  /** Within one document, dynamic references resolve like plain ones. */
  #followDynamic(schema: JsonSchema, node: SchemaNode, base: JsonSchema): void {
    for (const ref of [schema["$dynamicRef"], schema["$recursiveRef"]]) {
      if (typeof ref !== "string" || resolveLocalRef(base, ref) === undefined) continue;
      node["allOf"] = [...((node["allOf"] as unknown[]) ?? []), { $ref: this.#target(ref, base) }];
    }
  }

  /** Leaves out keywords with an invalid value, like unknown keywords. */
  #copyData(schema: JsonSchema, node: SchemaNode): void {
    const copy = (keyword: string, isFine: (value: unknown) => boolean) => {
      const value = schema[keyword];
      if (value !== undefined && isFine(value)) node[keyword] = value;
    };
    const isNumber = (value: unknown) => typeof value === "number";
    for (const keyword of [...NUMBERS, "minContains", "maxContains"]) copy(keyword, isNumber);
    const isLimit = this.draft === "4" ? (value: unknown) => typeof value === "boolean" : isNumber;
    for (const keyword of ["exclusiveMaximum", "exclusiveMinimum"]) copy(keyword, isLimit);
    copy("multipleOf", (value) => isNumber(value) && (value as number) > 0);
    copy("uniqueItems", (value) => value === true);
    // Has no meaning in JSON Schema; the lenient reading handles it as in OpenAPI.
    copy("nullable", (value) => value === true);
    copy("required", isStrings);
    copy("pattern", (value) => typeof value === "string");
    copy("format", (value) => typeof value === "string" && this.context.isFormat(value));
    if (Array.isArray(schema["enum"])) node["enum"] = quietList(schema["enum"]);
    this.#copyConst(schema, node);
    copy("type", (value) => (isStrings(value) ? value : [value]).every((name) => TYPES.has(name as string)));
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

  #copySchemas(schema: JsonSchema, node: SchemaNode, base: JsonSchema): void {
    for (const keyword of [...SINGLES, ...ITEM_SINGLES, "items"]) {
      const value = schema[keyword];
      if (isSchema(value)) node[keyword] = this.#rewrite(value, base);
    }
    for (const keyword of [...LISTS, "items"]) {
      const value = schema[keyword];
      if (!Array.isArray(value) || value.length === 0 || !value.every(isSchema)) continue;
      const before = (node[keyword] as unknown[]) ?? [];
      node[keyword] = [...before, ...value.map((item) => this.#rewrite(item, base))];
    }
    for (const keyword of MAPS) this.#copyMap(node, keyword, { from: schema[keyword], base });
    // `dependencies` was split in two; the validator's own reading of it misses references.
    this.#copyMap(node, "dependentSchemas", { from: schema["dependencies"], base });
    for (const keyword of ["dependencies", "dependentRequired"]) {
      for (const [key, value] of Object.entries(isObject(schema[keyword]) ? schema[keyword] : {}))
        if (isStrings(value)) entriesOf(node, "dependentRequired")[key] = value;
    }
  }

  #copyMap(node: SchemaNode, keyword: string, { from, base }: { from: unknown; base: JsonSchema }): void {
    for (const [key, value] of Object.entries(isObject(from) ? from : {}))
      if (isSchema(value)) entriesOf(node, keyword)[key] = this.#rewrite(value, base);
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

export interface SchemaMeasure {
  /** Maximum number of subschemas that apply to the same value. */
  readonly weight: number;
  /** Whether the cost may grow faster than the value. */
  readonly risky: boolean;
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

/** Computes the cost of every referenced part of a compiled schema, including its root. */
function measureSchema(targets: Readonly<Record<string, SchemaNode | true>>): SchemaMeasure {
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
    // The chain of references overflows the stack: use the time limit.
    costly = true;
  }
  const risky = costly || (recursive && branching) || heaviest > MAX_PLAIN_WEIGHT;
  return { weight: heaviest, risky };
}
