/** Converts the JSON Schema of a tool into a form that the provider of a model accepts, by the writers for targets that accept all of JSON Schema below the root and for those that do not. */
import { ConfigError } from "@toolport/base";
import { isRecord, type JsonSchema } from "../json-schema.js";
import { setKey } from "../json-value.js";
import { collectJsonTexts, type FormNotes, toDerivedForm, toOriginalForm } from "./argument-forms.js";
import { Derivation, isChoiceOfRequired, type Json } from "./derivation.js";
import { ChangeLog, type DerivedSchema, SCHEMA_TARGETS, type SchemaTarget } from "./derived-schema.js";
import { flattenRootUnion, flattenTree } from "./flatten-tree.js";
import { type RefLimits, readTree, SchemaTree, TooLarge, withRefLimits } from "./schema-tree.js";
import { NOT_AT_ROOT, TARGET_RULES, type TargetRules, takesPattern } from "./target-rules.js";
import { writeRestricted } from "./write-restricted.js";

/** The property that contains a value that is not an object. */
const WRAPPED = "value";
const MAX_UNROLLED_CHARS = 16_000;

const asItIs = (args: Json): Json => args;
const NO_CHANGES: readonly never[] = Object.freeze([]);

/**
 * Derives the schema that `target` accepts from the one that the server published. Keywords that a
 * target rejects are moved into descriptions, and `changes` lists all differences. Validate arguments
 * against the original, after `unwrap`. The input is never modified, and an invalid schema never throws.
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

/** Throws for an unknown target. `also`: further accepted names. */
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

/** Whether inlined recursion would cost too many tokens. */
function isBloated(written: Json, original: JsonSchema): boolean {
  const size = JSON.stringify(written).length;
  return size > MAX_UNROLLED_CHARS && size > 2 * JSON.stringify(original).length;
}

/** Replaces a union of one alternative by that alternative. */
function unwrapSingleChoices(tree: SchemaTree): SchemaTree {
  const single = ["anyOf", "oneOf"].filter((keyword) => tree.trees(keyword).length === 1);
  if (single.length === 0) return tree;
  const parts = single.flatMap((keyword) => tree.trees(keyword));
  return tree.without(...single).set("allOf", [...tree.trees("allOf"), ...parts], tree.from(single[0]!));
}

/** Whether the root describes one object, as arguments must be. */
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

function toDerived(
  schema: JsonSchema,
  log: ChangeLog,
  { wrapped = false, derivation }: { wrapped?: boolean; derivation?: Derivation },
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
      if (isSame || !isRecord(args)) return args;
      const original = !hasForm ? args : (toOriginalForm(schema, args, notes) as Json);
      // Also accepts arguments without the wrapper.
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

const MAX_LENGTH = 64;

/** New names by old ones, for all properties of a schema. New names are unique and differ from all old names. */
function renameProperties(
  root: SchemaTree,
  { names: rule, reservedNames }: Pick<TargetRules, "names" | "reservedNames">,
): ReadonlyMap<string, string> {
  const renamed = new Map<string, string>();
  if (rule === undefined) return renamed;
  const taken = new Set<string>();
  collectNames(root, taken);
  for (const name of [...taken]) {
    if (rule.test(name) && reservedNames?.has(name) !== true) continue;
    const stem = name.replace(/[^a-zA-Z0-9_]+/g, "_").replace(/^_+(?=[a-zA-Z])|_+$/g, "");
    const base = (/^[a-zA-Z_]/.test(stem) ? stem : `_${stem}`).slice(0, MAX_LENGTH);
    let candidate = base;
    for (let count = 2; taken.has(candidate); count++)
      candidate = `${base.slice(0, MAX_LENGTH - 1 - String(count).length)}_${count}`;
    taken.add(candidate);
    renamed.set(name, candidate);
  }
  return renamed;
}

function collectNames(tree: SchemaTree, names: Set<string>): void {
  for (const name of tree.map("properties").keys()) names.add(name);
  for (const { value } of tree.keywords.values()) {
    const inside = value instanceof Map ? [...value.values()] : Array.isArray(value) ? value : [value];
    for (const item of inside) if (item instanceof SchemaTree) collectNames(item, names);
  }
}

const MAX_LEVELS = 10;
const MAX_PROPERTIES = 5_000;
const MAX_ENUM_VALUES = 1_000;
const MAX_TEXT = 120_000;
/** Long enums have an additional limit on their total characters. */
const LONG_ENUM = 250;
const MAX_LONG_ENUM_TEXT = 15_000;

const noTotals = () => ({ properties: 0, values: 0, text: 0, levels: 0, longEnum: false });

/** Why a schema is too large for strict mode; undefined if it is not. */
function exceedsStrictLimits(schema: unknown): string | undefined {
  const total = noTotals();
  measure(schema, 0, total);
  if (total.levels > MAX_LEVELS) return `nested deeper than ${MAX_LEVELS} levels`;
  if (total.properties > MAX_PROPERTIES) return `more than ${MAX_PROPERTIES} properties`;
  if (total.values > MAX_ENUM_VALUES) return `more than ${MAX_ENUM_VALUES} listed values`;
  if (total.longEnum)
    return `more than ${LONG_ENUM} listed values of more than ${MAX_LONG_ENUM_TEXT} characters`;
  return total.text > MAX_TEXT ? `names and listed values of more than ${MAX_TEXT} characters` : undefined;
}

function measure(schema: unknown, level: number, total: ReturnType<typeof noTotals>): void {
  if (!isRecord(schema)) return;
  const values = Array.isArray(schema["enum"]) ? schema["enum"] : [];
  const text = values.reduce((sum: number, value) => sum + String(value).length, 0);
  total.values += values.length;
  total.text += text;
  if (values.length > LONG_ENUM && text > MAX_LONG_ENUM_TEXT) total.longEnum = true;
  const properties = isRecord(schema["properties"]) ? Object.entries(schema["properties"]) : undefined;
  // Lists count as a level too: the documentation does not say, so assume the stricter limit.
  const inside = properties !== undefined || schema["items"] !== undefined ? level + 1 : level;
  total.levels = Math.max(total.levels, inside);
  for (const [name, property] of properties ?? []) {
    total.properties++;
    total.text += name.length;
    measure(property, inside, total);
  }
  measure(schema["items"], inside, total);
  if (Array.isArray(schema["anyOf"])) for (const item of schema["anyOf"]) measure(item, level, total);
}

/** Keywords whose looser subschema makes the whole stricter: they stay exact or are described in words. */
const EXACT = new Set(["not", "if", "contains"]);
const WRITTEN_WITH_OTHERS = new Set("title description then else minContains maxContains oneOf".split(" "));
/** Keywords whose value is usually `false` to forbid everything. */
const MAY_BE_FALSE = new Set("additionalProperties unevaluatedProperties items unevaluatedItems".split(" "));

/** Keywords for undeclared properties. They depend on the patterns. */
const OF_UNDECLARED = "patternProperties additionalProperties unevaluatedProperties".split(" ");

/** The schema below the root. */
function writeLenient(tree: SchemaTree, to: Derivation): Json {
  to.count();
  return tree.isNever() ? { not: {} } : writeKeywords(tree, to, []);
}

/** Writes the root, an object with merged `allOf`. Keywords that are not allowed at a root are described in words. */
function writeLenientRoot(tree: SchemaTree, to: Derivation): Json {
  const refused = [...tree.keywords.keys()].filter((keyword) => NOT_AT_ROOT.has(keyword));
  const words = to.say(tree, refused);
  const out = writeKeywords(tree.without(...refused), to, words);
  return { ...out, type: "object", properties: out["properties"] ?? {} };
}

function writeKeywords(tree: SchemaTree, to: Derivation, words: string[]): Json {
  const out: Json = {};
  const byName = [...new Set([...keywordsByName(tree, to), ...keywordsOfPatterns(tree, to)])];
  const said = [...words, ...to.sayRemarks(tree), ...to.say(tree, byName)];
  for (const keyword of tree.keywords.keys()) {
    if (byName.includes(keyword)) continue;
    if (WRITTEN_WITH_OTHERS.has(keyword)) continue;
    if (EXACT.has(keyword)) said.push(...writeExact(tree, keyword, out, to));
    else if (keyword === "properties") writeProperties(tree, out, to);
    else setKey(out, keyword, writeValue(keyword, tree.get(keyword), to));
  }
  if (tree.has("oneOf")) writeOneOf(tree, out, to);
  // OpenAI rejects an array without `items`.
  const isList = tree.types()?.includes("array") === true;
  if (isList && !tree.has("items") && !tree.has("prefixItems")) out["items"] = {};
  return to.annotate(out, tree, said);
}

/** Keywords that refer to property names. Properties were renamed, so they cannot be kept. */
function keywordsByName(tree: SchemaTree, to: Derivation): string[] {
  if (to.names.size === 0) return [];
  const isForeign = (name: string): boolean => to.names.has(name) && !tree.map("properties").has(name);
  const found = ["propertyNames"].filter((keyword) => tree.has(keyword));
  if (tree.has("patternProperties")) found.push(...OF_UNDECLARED.filter((keyword) => tree.has(keyword)));
  if (tree.strings("required").some(isForeign)) found.push("required");
  for (const keyword of ["dependentRequired", "dependentSchemas"])
    if (tree.has(keyword) && [...to.names.keys()].some((name) => mentions(tree.get(keyword), name)))
      found.push(keyword);
  return found;
}

/** Keywords whose patterns the target cannot compile. */
function keywordsOfPatterns(tree: SchemaTree, { rules }: Derivation): string[] {
  const found = tree.has("pattern") && !takesPattern(String(tree.get("pattern")), rules) ? ["pattern"] : [];
  if ([...tree.map("patternProperties").keys()].every((key) => takesPattern(key, rules))) return found;
  return [...found, ...OF_UNDECLARED.filter((keyword) => tree.has(keyword))];
}

const mentions = (value: unknown, name: string): boolean =>
  value instanceof Map
    ? value.has(name)
    : Object.entries(value as Json).some(([key, needed]) => key === name || [needed].flat().includes(name));

function writeValue(keyword: string, value: unknown, to: Derivation): unknown {
  if (value instanceof SchemaTree) {
    if (value.isNever()) return MAY_BE_FALSE.has(keyword) ? false : { not: {} };
    if (value.keywords.size === 0 && keyword.endsWith("Properties")) return true;
    return writeLenient(value, to);
  }
  if (value instanceof Map) {
    const out: Json = {};
    for (const [key, item] of value) setKey(out, key, writeValue("", item, to));
    return out;
  }
  if (keyword === "required" && Array.isArray(value))
    return [...new Set(value)].map((name) => to.nameOf(name));
  return Array.isArray(value) && value[0] instanceof SchemaTree
    ? value.map((item) => writeValue("", item, to))
    : value;
}

function writeProperties(tree: SchemaTree, out: Json, to: Derivation): void {
  const properties: Json = {};
  const names = new Map<string, string>();
  for (const [name, property] of tree.map("properties")) {
    const written = to.nameOf(name);
    if (written !== name) {
      names.set(written, name);
      to.log.add("renamed", name, tree.from("properties"), written);
    }
    setKey(properties, written, writeValue("", property, to));
  }
  out["properties"] = properties;
  if (names.size > 0) to.notes.set(properties, { names, optional: new Set(), absentIfNull: new Set() });
}

/** `oneOf` can only be kept unchanged: after loosening, a value could match two alternatives. */
function writeOneOf(tree: SchemaTree, out: Json, to: Derivation): void {
  const before = to.log.losses;
  const alternatives = tree.trees("oneOf").map((item) => writeValue("", item, to));
  const isExact = to.log.losses === before && !to.hasCuts;
  if (!isExact) to.log.add("relaxed", "oneOf", tree.from("oneOf"), "anyOf");
  if (isExact) out["oneOf"] = alternatives;
  else if (out["anyOf"] === undefined && !tree.has("anyOf")) out["anyOf"] = alternatives;
  else out["allOf"] = [...((out["allOf"] as unknown[]) ?? []), { anyOf: alternatives }];
}

function writeExact(tree: SchemaTree, keyword: string, out: Json, to: Derivation): string[] {
  const group = keyword === "if" ? ["if", "then", "else"].filter((name) => tree.has(name)) : [keyword];
  if (keyword === "contains") group.push(...["minContains", "maxContains"].filter((name) => tree.has(name)));
  const before = to.log.losses;
  const written = group.map((name) => [name, writeValue(name, tree.get(name), to)] as const);
  const isExact = to.log.losses === before && !to.hasCuts;
  if (!isExact) {
    for (const name of group) delete out[name];
    return to.say(tree, group);
  }
  for (const [name, value] of written) out[name] = value;
  return [];
}
