/** Checks any part of a value against its part of a schema, with the built-in or the user's validator. */
import { type LinearPatterns, useLinearPatterns } from "../bounded/linear-patterns.js";
import type { ValidationEngine } from "../built-in-check.js";
import { type CompiledSchema, compileSchema, type SchemaNode } from "../compile-schema.js";
import { explainErrors } from "../explain-errors.js";
import { isObject, type JsonSchema } from "../json-schema.js";
import { setKey } from "../json-value.js";
import type { SchemaCheck, SchemaValidatorFactory } from "../schema-validator.js";
import type { ValidationIssue } from "../validation-issue.js";
import { type LenientSchema, type Part, readLeniently } from "./lenient-schema.js";

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
export function builtInParts(engine: ValidationEngine, schema: JsonSchema): SchemaParts | string {
  const compiled = compileSchema(schema, { isFormat: (format) => Object.hasOwn(engine.formats, format) });
  if (typeof compiled === "string") return compiled;
  const lenient = readLeniently(compiled);
  const { draft, targets, root, risky } = lenient.compiled;
  const linear: LinearPatterns | undefined =
    risky && engine.linear !== undefined ? useLinearPatterns(lenient.compiled, engine.linear) : undefined;
  const around = <T>(value: unknown, task: () => T): T =>
    linear === undefined ? task() : linear.around(value, engine.formats, task);
  const validate = (part: Part, value: unknown, isShort: boolean) =>
    around(value, () => engine.validate(value, part, draft, targets as never, isShort));
  const explain = (part: Part, value: unknown): ValidationIssue[] => {
    const { errors } = validate(part, value, false);
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
  const known = new WeakMap<SchemaNode, ReturnType<SchemaValidatorFactory["compile"]>>();
  const ask = (part: SchemaNode, value: unknown): readonly ValidationIssue[] => {
    try {
      let own = known.get(part);
      if (own === undefined) {
        own = validator.compile(writer.write(part));
        known.set(part, own);
      }
      return own(value) ?? [];
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
    if (!isObject(value)) return value;
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
