/** The original JSON Schema of a tool in the form that a model's provider accepts. */

import { ConfigError } from "../../errors/config-error.js";
import { isObject, type JsonSchema } from "../json-schema.js";
import { type FormNotes, toDerivedForm, toOriginalForm } from "./argument-forms.js";
import { ChangeLog } from "./change-log.js";
import { isChoiceOfRequired } from "./constraint-words.js";
import { Derivation, type Json } from "./derivation.js";
import { type DerivedSchema, SCHEMA_TARGETS, type SchemaTarget } from "./derived-schema.js";
import { flattenRootUnion } from "./flatten-root.js";
import { flattenTree } from "./flatten-tree.js";
import { collectJsonTexts } from "./json-text.js";
import { renameProperties } from "./property-names.js";
import { readTree } from "./read-tree.js";
import { type RefLimits, TooLarge, withRefLimits } from "./ref-limits.js";
import type { SchemaTree } from "./schema-tree.js";
import { exceedsStrictLimits } from "./strict-limits.js";
import { TARGET_RULES, type TargetRules } from "./target-rules.js";
import { writeLenient, writeLenientRoot } from "./write-lenient.js";
import { writeRestricted } from "./write-restricted.js";

/** The property that holds what is no object. */
const WRAPPED = "value";
const MAX_UNROLLED_CHARS = 16_000;

const asItIs = (args: Json): Json => args;
const NO_CHANGES: readonly never[] = Object.freeze([]);

/**
 * Derives the schema that `target` accepts from the one that the server published. Nothing is lost without a word: what a
 * target refuses is moved into descriptions, and `changes` names everything that differs. Arguments are still to be validated
 * against the original, after `unwrap`. It never changes the schema it is given, and never throws because of it.
 *
 * @example
 * ```ts
 * const { schema, strict, unwrap } = deriveSchema(tool.inputSchema, "openai-strict");
 * const request = { type: "function", name: tool.name, parameters: schema, strict };
 * // … and with the arguments the model wrote:
 * await toolport.callTool(tool.name, unwrap(args));
 * ```
 * @throws ConfigError (`INVALID_CONFIG`) for an unknown target; the message lists the targets
 */
export function deriveSchema(schema: JsonSchema, target: SchemaTarget): DerivedSchema {
  checkTarget(target);
  if (target === "plain")
    return { schema, changes: NO_CHANGES, strict: false, wrapped: false, unwrap: asItIs, wrap: asItIs };
  try {
    const derived = withRefLimits((limits) =>
      target === "openai-strict"
        ? deriveStrict(schema, limits)
        : derive(schema, TARGET_RULES[target], limits).derived,
    );
    return derived ?? giveUp("it is too large", target);
  } catch {
    return giveUp("it cannot be read", target);
  }
}

/** Throws for a name that is no target. `also`: names that are accepted besides. */
export function checkTarget(target: unknown, also: readonly string[] = []): void {
  if (SCHEMA_TARGETS.includes(target as SchemaTarget)) return;
  const known = [...SCHEMA_TARGETS, ...also].map((name) => JSON.stringify(name)).join(", ");
  throw new ConfigError({
    code: "INVALID_CONFIG",
    what: `There is no schema target named ${JSON.stringify(String(target))}`,
    next: `Use one of: ${known}`,
  });
}

function deriveStrict(schema: JsonSchema, limits: RefLimits): DerivedSchema {
  const { derived, derivation } = derive(schema, TARGET_RULES["openai-strict"], limits);
  const problems = [...derivation.problems];
  const tooLarge = exceedsStrictLimits(derived.schema);
  if (tooLarge !== undefined) problems.push({ path: "#", keyword: "strict", why: tooLarge });
  if (problems.length === 0) return { ...derived, strict: true };
  const lenient = derive(schema, TARGET_RULES.openai, limits).derived;
  const log = new ChangeLog();
  for (const { path, keyword, why } of problems) log.add("not-strict", keyword, [path], why);
  return { ...lenient, changes: [...log.list(), ...lenient.changes] };
}

function derive(schema: JsonSchema, rules: TargetRules, limits: RefLimits) {
  const log = new ChangeLog();
  const read = flattenTree(unwrapSingleChoices(readTree(schema, log, limits)), log);
  const tree = rules.flattensRoot ? flattenRootUnion(read, log) : read;
  const derivation = new Derivation(rules, log, renameProperties(tree, rules));
  const wrapped = !isObjectRoot(tree);
  if (wrapped) log.add("wrapped", WRAPPED, ["#"]);
  const written = wrapped ? writeWrapped(tree, derivation) : writeRoot(tree, derivation);
  if (derivation.hasCuts && limits.depth > 1 && isBloated(written, schema)) throw new TooLarge();
  return { derived: toDerived(written, log, { wrapped, derivation }), derivation };
}

/** Whether recursion that is written out would cost more tokens than the levels are worth. */
function isBloated(written: Json, original: JsonSchema): boolean {
  const size = JSON.stringify(written).length;
  return size > MAX_UNROLLED_CHARS && size > 2 * JSON.stringify(original).length;
}

/** A choice between one thing is no choice. */
function unwrapSingleChoices(tree: SchemaTree): SchemaTree {
  const single = ["anyOf", "oneOf"].filter((keyword) => tree.trees(keyword).length === 1);
  if (single.length === 0) return tree;
  const parts = single.flatMap((keyword) => tree.trees(keyword));
  return tree.without(...single).set("allOf", [...tree.trees("allOf"), ...parts], tree.from(single[0]!));
}

/** Whether the root describes one object, which is what arguments are. */
function isObjectRoot(tree: SchemaTree): boolean {
  if (tree.isNever() || tree.has("enum") || tree.has("const")) return false;
  if (tree.types()?.includes("object") === false) return false;
  return ["anyOf", "oneOf"].every((keyword) => !tree.has(keyword) || isChoiceOfRequired(tree.trees(keyword)));
}

function writeRoot(tree: SchemaTree, to: Derivation): Json {
  if (tree.get("type") !== "object") to.log.add("typed", "type", ["#"], "object");
  const object = tree.copy().set("type", "object");
  if (to.rules.keywords === undefined) return writeLenientRoot(object, to);
  const out = writeRestricted(object, to, true);
  return to.rules.openapi ? out : { ...out, properties: out["properties"] ?? {} };
}

function writeWrapped(tree: SchemaTree, to: Derivation): Json {
  const value = to.rules.keywords === undefined ? writeLenient(tree, to) : writeRestricted(tree, to);
  return {
    type: to.rules.openapi ? "OBJECT" : "object",
    properties: { [WRAPPED]: value },
    required: [WRAPPED],
    ...(!to.rules.message && { additionalProperties: false }),
  };
}

interface Extras {
  readonly wrapped?: boolean;
  readonly derivation?: Derivation;
}

function toDerived(
  schema: JsonSchema,
  log: ChangeLog,
  { wrapped = false, derivation }: Extras,
): DerivedSchema {
  const notes: FormNotes = {
    objects: derivation?.notes ?? new Map(),
    texts: derivation?.rules.message ? collectJsonTexts(schema) : new Map(),
  };
  const hasForm = notes.objects.size + notes.texts.size > 0;
  const isSame = !wrapped && !hasForm;
  return {
    schema,
    changes: log.list(),
    strict: false,
    wrapped,
    unwrap(args) {
      if (isSame || !isObject(args)) return args;
      const original = !hasForm ? args : (toOriginalForm(schema, args, notes) as Json);
      // A model that left the wrapping out is understood as well.
      return wrapped && Object.hasOwn(original, WRAPPED) ? (original[WRAPPED] as Json) : original;
    },
    wrap(args) {
      if (isSame) return args;
      return toDerivedForm(schema, wrapped ? { [WRAPPED]: args } : args, notes) as Json;
    },
  };
}

function giveUp(why: string, target: SchemaTarget): DerivedSchema {
  const log = new ChangeLog();
  log.add("replaced", "type", ["#"], why);
  const empty = target === "gemini-openapi" ? { type: "OBJECT" } : { type: "object", properties: {} };
  return toDerived(empty, log, {});
}
