/** Checks any part of a value against its part of a schema, with the built-in or the user's validator, by a lenient reading of schemas that contradict themselves. */
import { oncePerObject } from "@toolport/base";
import { bindSchema, compileForBuiltIn } from "../built-in-check.js";
import {
  acceptSeveral,
  type CompiledSchema,
  compileSchema,
  NEVER,
  partsOf,
  type SchemaNode,
} from "../compile-schema.js";
import { explainErrors } from "../explain-errors.js";
import { isOfType, isRecord, type JsonSchema } from "../json-schema.js";
import { setKey } from "../json-value.js";
import type { SchemaCheck, SchemaValidatorFactory, ValidationIssue } from "../schema-validator.js";

export interface SchemaParts {
  readonly lenient: LenientSchema;
  fits(part: Part, value: unknown): boolean;
  /** The schemas of `patternProperties` that apply to this name. */
  patternParts(node: SchemaNode, name: string): Part[];
  /** The problems of a whole value, by the lenient reading. */
  issues(value: unknown): readonly ValidationIssue[];
  /** The same with the original schema. */
  strictIssues(value: unknown): readonly ValidationIssue[];
}

/** The user's validator rejects a part of a schema. */
export class PartNotCheckable extends Error {}

/** The schema cannot be compiled, with the reason. */
export function builtInParts(schema: JsonSchema): SchemaParts | string {
  const compiled = compileForBuiltIn(schema);
  if (typeof compiled === "string") return compiled;
  const lenient = readLeniently(compiled);
  const { root } = lenient.compiled;
  const { validate, around } = bindSchema(lenient.compiled);
  const explain = (part: Part, value: unknown): ValidationIssue[] => {
    const { errors } = validate(part, value);
    if (errors.length === 0) return [];
    return explainErrors(errors, { compiled: { ...lenient.compiled, root: part }, value, isAdvice: true });
  };
  return {
    lenient,
    fits: (part, value) => part === true || validate(part, value, true).valid,
    // With the linear-time engine, the map depends on the names in the value.
    patternParts: (node, name) => around({ [name]: null }, () => matchingParts(node, name)),
    issues: (value) => explain(root, value),
    strictIssues: (value) => explain(lenient.strictRoot, value),
  };
}

/**
 * The same with the user's validator.
 *
 * @param check the port's own way to the validator, which knows the original schema already
 */
export function ownParts(
  validator: SchemaValidatorFactory,
  schema: JsonSchema,
  check: SchemaCheck,
): SchemaParts | string {
  const compiled = compileSchema(schema, { isFormat: () => true });
  if (typeof compiled === "string") return compiled;
  const lenient = readLeniently(compiled);
  const writer = new PartWriter(lenient.compiled, schema["$schema"]);
  const checkOf = oncePerObject((part: SchemaNode) => validator.compile(writer.write(part)));
  const ask = (part: SchemaNode, value: unknown): readonly ValidationIssue[] => {
    try {
      return checkOf(part)(value) ?? [];
    } catch (cause) {
      throw new PartNotCheckable("The validator rejects a part of the schema", { cause });
    }
  };
  const strictly = (value: unknown) => check(schema, value, { leftMs: 0 }) as ValidationIssue[];
  const { root } = lenient.compiled;
  return {
    lenient,
    fits: (part, value) => part === true || ask(part, value).length === 0,
    patternParts: matchingParts,
    issues: (value) => (lenient.isWider && root !== true ? ask(root, value) : strictly(value)),
    strictIssues: strictly,
  };
}

const matchingParts = (node: SchemaNode, name: string): Part[] =>
  Object.entries((node["patternProperties"] as Record<string, Part>) ?? {}).flatMap(([pattern, part]) =>
    new RegExp(pattern, "u").test(name) ? [part] : [],
  );

/** Writes a part as a separate schema, with everything it refers to. */
class PartWriter {
  readonly #shared: JsonSchema;
  readonly #keys = new Map<string, string>();
  readonly #isOldDraft: boolean;

  constructor({ targets, draft }: CompiledSchema, dialect: unknown) {
    this.#isOldDraft = draft === "4" || draft === "7";
    const names = Object.keys(targets);
    for (const [index, key] of names.entries()) this.#keys.set(key, `part${index}`);
    const definitions = Object.fromEntries(
      names.map((key) => [this.#keys.get(key)!, this.#copy(targets[key])]),
    );
    this.#shared = { ...(dialect !== undefined && { $schema: dialect }), $defs: definitions };
  }

  write(part: SchemaNode): JsonSchema {
    return { ...this.#shared, allOf: [this.#copy(part)] };
  }

  #copy(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#copy(item));
    if (!isRecord(value)) return value;
    const isMap = Object.getPrototypeOf(value) === null;
    const copy: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(value)) {
      if (isMap) setKey(copy, key, this.#copy(item));
      else if (key === "enum" || key === "const") copy[key] = Array.isArray(item) ? [...item] : item;
      else if (key === "$ref") copy[key] = `#/$defs/${this.#keys.get(item as string)}`;
      else if (key !== "nullable") this.#copyKeyword(copy, key, item);
    }
    return copy;
  }

  /** Up to draft-07, one keyword contains both kinds of dependencies. */
  #copyKeyword(copy: Record<string, unknown>, key: string, item: unknown): void {
    const isSplit = key === "dependentSchemas" || key === "dependentRequired";
    if (!(isSplit && this.#isOldDraft)) copy[key] = this.#copy(item);
    else copy["dependencies"] = { ...(copy["dependencies"] as object), ...(this.#copy(item) as object) };
  }
}

export type Part = SchemaNode | true;

interface LenientSchema {
  readonly compiled: CompiledSchema;
  /** The root as it was written, for the same `targets`. */
  readonly strictRoot: Part;
  /** The reading accepts more than the schema says. */
  readonly isWider: boolean;
}

/** Copies of referenced schemas that know names from the place that refers to them. */
const MAX_VARIANTS = 500;
/** Maximum number of schemas visited to collect names. Beyond it the reading stays stricter, which is safe. */
const MAX_VISITS = 100_000;

/** Keywords with subschemas. */
const SUBSCHEMAS = [
  ..."then else propertyNames additionalProperties unevaluatedProperties additionalItems unevaluatedItems".split(
    " ",
  ),
  ..."allOf anyOf oneOf items prefixItems properties patternProperties dependentSchemas".split(" "),
];
/** Keywords whose subschemas apply to the same object as the schema that contains them. */
const SAME_OBJECT = ["allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas"];

const newMap = (): Record<string, Part> => Object.create(null);

/** `compiled` must be fresh: its nodes become part of the result. */
function readLeniently(compiled: CompiledSchema): LenientSchema {
  const reader = new LenientReader(compiled);
  const root = reader.read(compiled.root, NO_NAMES);
  reader.finish();
  return {
    compiled: {
      ...compiled,
      root,
      targets: reader.targets,
      patternNodes: [...compiled.patternNodes, ...reader.patternNodes],
    },
    strictRoot: compiled.root,
    isWider: reader.isWider,
  };
}

const NO_NAMES: ReadonlySet<string> = new Set();

interface DeclaredNames {
  readonly names: Set<string>;
  readonly patterns: Set<string>;
  readonly required: Set<string>;
}

class LenientReader {
  isWider = false;
  readonly targets: Record<string, Part>;
  readonly patternNodes: SchemaNode[] = [];
  readonly #open: { key: string; part: Part; outer: ReadonlySet<string> }[] = [];
  #variants = 0;
  #visits = 0;

  constructor(readonly strict: CompiledSchema) {
    this.targets = Object.assign(Object.create(null), strict.targets);
  }

  /** Follows references iteratively, so that a chain of them cannot overflow the stack. */
  finish(): void {
    for (let next = this.#open.pop(); next !== undefined; next = this.#open.pop())
      this.targets[next.key] = this.read(next.part, next.outer);
  }

  /** `outer`: names that the schemas around this one declare for the same object. */
  read(part: Part, outer: ReadonlySet<string>): Part {
    if (part === true || part === NEVER) return part;
    const copy: SchemaNode = { ...part };
    const shared = this.#sharedNames(part, outer);
    for (const keyword of SUBSCHEMAS) {
      const outside = SAME_OBJECT.includes(keyword) ? shared : NO_NAMES;
      const value = copy[keyword] as Part | Part[] | Record<string, Part> | undefined;
      if (value === undefined) continue;
      if (Array.isArray(value)) copy[keyword] = value.map((item) => this.read(item, outside));
      else if (value === true || Object.getPrototypeOf(value) !== null)
        copy[keyword] = this.read(value as Part, outside);
      else {
        const map = newMap();
        for (const [name, item] of Object.entries(value as Record<string, Part>))
          map[name] = this.read(item, outside);
        copy[keyword] = map;
      }
    }
    this.#readReference(copy, shared);
    this.#declareNames(part, copy, outer);
    this.#readChoices(copy);
    if (copy["pattern"] !== undefined || copy["patternProperties"] !== undefined)
      this.patternNodes.push(copy);
    return this.#readNullable(copy);
  }

  #readReference(copy: SchemaNode, outer: ReadonlySet<string>): void {
    const ref = copy["$ref"];
    if (typeof ref !== "string") return;
    const target = this.strict.targets[ref]!;
    const added = this.#isClosed(target) ? [...outer].sort() : [];
    const isVariant = added.length > 0 && this.#variants < MAX_VARIANTS;
    const key = isVariant ? `lenient ${ref} ${JSON.stringify(added)}` : `lenient ${ref}`;
    copy["$ref"] = key;
    if (this.targets[key] !== undefined) return;
    if (isVariant) this.#variants++;
    // Stored before it is read, because it may refer to itself.
    this.targets[key] = true;
    this.#open.push({ key, part: target, outer: isVariant ? outer : NO_NAMES });
  }

  /** A closed object also accepts properties that the schemas beside it declare or require. */
  #declareNames(part: SchemaNode, copy: SchemaNode, outer: ReadonlySet<string>): void {
    const isClosed = part["additionalProperties"] === NEVER;
    if (!isClosed && part["unevaluatedProperties"] !== NEVER) return;
    const { names, patterns, required } = this.#namesIn(part);
    const own = (part["properties"] ?? {}) as Record<string, Part>;
    // `unevaluatedProperties` already considers the names of the subschemas.
    const more = isClosed
      ? [...names, ...required, ...outer]
      : [...required].filter((name) => !names.has(name));
    const missing = more.filter((name) => !Object.hasOwn(own, name));
    if (missing.length > 0) {
      const properties = Object.assign(newMap(), copy["properties"]);
      for (const name of missing) properties[name] ??= true;
      copy["properties"] = properties;
      this.isWider = true;
    }
    const written = (part["patternProperties"] ?? {}) as Record<string, Part>;
    const missed = isClosed ? [...patterns].filter((pattern) => !Object.hasOwn(written, pattern)) : [];
    if (missed.length === 0) return;
    const map = Object.assign(newMap(), copy["patternProperties"]);
    for (const pattern of missed) map[pattern] = true;
    copy["patternProperties"] = map;
    this.isWider = true;
  }

  #readChoices(copy: SchemaNode): void {
    const { oneOf, enum: choices, const: only, type } = copy;
    if (Array.isArray(oneOf)) {
      acceptSeveral(copy);
      this.isWider ||= oneOf.length > 1;
    }
    const allowed = Array.isArray(choices) ? choices : only === undefined ? undefined : [only];
    if (allowed === undefined || allowed.length === 0 || type === undefined) return;
    const types = Array.isArray(type) ? type : [type];
    if (allowed.some((value) => types.some((name) => isOfType(value, name as string)))) return;
    delete copy["type"];
    this.isWider = true;
  }

  /** OpenAPI 3.0 writes `nullable: true` for a value that may be null. */
  #readNullable(copy: SchemaNode): SchemaNode {
    if (copy["nullable"] !== true) return copy;
    this.isWider = true;
    return { anyOf: [{ type: "null" }, copy] };
  }

  /** Names that every schema inside this one must expect: those around it, its own, and those of `allOf` and `$ref`. */
  #sharedNames(part: SchemaNode, outer: ReadonlySet<string>): ReadonlySet<string> {
    const names = new Set(outer);
    const seen = new Set<Part>();
    const open: (Part | undefined)[] = [part];
    while (open.length > 0 && ++this.#visits <= MAX_VISITS) {
      const node = open.pop();
      if (node === undefined || node === true || seen.has(node)) continue;
      seen.add(node);
      for (const name of Object.keys((node["properties"] as object) ?? {})) names.add(name);
      open.push(...(partsOf(node, "allOf") as Part[]));
      if (typeof node["$ref"] === "string") open.push(this.strict.targets[node["$ref"]]);
    }
    return names.size === outer.size ? outer : names;
  }

  /** Every name that this schema and those for the same object inside it declare. */
  #namesIn(part: SchemaNode): DeclaredNames {
    const found: DeclaredNames = { names: new Set(), patterns: new Set(), required: new Set() };
    this.#eachForSameObject(part, (node) => {
      for (const name of Object.keys((node["properties"] as object) ?? {})) found.names.add(name);
      for (const pattern of Object.keys((node["patternProperties"] as object) ?? {}))
        found.patterns.add(pattern);
      for (const name of (node["required"] as string[]) ?? []) found.required.add(name);
      return false;
    });
    return found;
  }

  #isClosed(part: Part): boolean {
    return this.#eachForSameObject(part, (node) => node["additionalProperties"] === NEVER);
  }

  /** Stops and returns true as soon as `look` does. */
  #eachForSameObject(part: Part, look: (node: SchemaNode) => boolean): boolean {
    const seen = new Set<Part>();
    const open: Part[] = [part];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (node === true || seen.has(node)) continue;
      if (++this.#visits > MAX_VISITS) return false;
      seen.add(node);
      if (look(node)) return true;
      for (const keyword of SAME_OBJECT) open.push(...(partsOf(node, keyword) as Part[]));
      if (typeof node["$ref"] === "string") open.push(this.strict.targets[node["$ref"]] ?? true);
    }
    return false;
  }
}
