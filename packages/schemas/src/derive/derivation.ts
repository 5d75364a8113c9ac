/** The shared state of the writers of one derivation, and the words for keywords that a target rejects. */
import type { ChangeLog } from "./derived-schema.js";
import { SchemaTree, TooLarge, treeToJson } from "./schema-tree.js";
import type { TargetRules } from "./target-rules.js";

/** A schema that is being written. */
export type Json = Record<string, unknown>;

/** How a written object differs from the original; needed to convert arguments back. */
export interface ObjectNotes {
  /** Names in the original, by the new names. */
  readonly names: ReadonlyMap<string, string>;
  /** Properties that are now required, possibly as null. */
  readonly optional: ReadonlySet<string>;
  /** Those of them whose null means "not given". */
  readonly absentIfNull: ReadonlySet<string>;
}

const MAX_WRITTEN = 5_000;

export class Derivation {
  /** By the `properties` that were written. */
  readonly notes = new Map<object, ObjectNotes>();
  /** Why strict mode cannot express the schema. */
  readonly problems: { path: string; keyword: string; why: string }[] = [];
  /** Whether the schema that was read is already looser than the original. */
  readonly hasCuts: boolean;
  #written = 0;
  #items = 0;

  constructor(
    readonly rules: TargetRules,
    readonly log: ChangeLog,
    /** New names of properties, for the whole schema, so that a property has the same new name everywhere. */
    readonly names: ReadonlyMap<string, string>,
  ) {
    this.hasCuts = log.losses > 0;
  }

  count(): void {
    if (++this.#written > MAX_WRITTEN) throw new TooLarge();
  }

  /** Whether another `maxItems` stays within the limit of the target. */
  takesItems(count: number): boolean {
    const { maxItemsInAll: limit } = this.rules;
    if (limit === undefined) return true;
    if (this.#items + count > limit) return false;
    this.#items += count;
    return true;
  }

  nameOf(name: string): string {
    return this.names.get(name) ?? name;
  }

  /** Reports that strict mode cannot express this. */
  problem(tree: SchemaTree, keyword: string, why: string): void {
    if (this.rules.strict) this.problems.push({ path: tree.at, keyword, why });
  }

  /** Describes keywords in words, logs the change, and returns the words. */
  say(tree: SchemaTree, keywords: readonly string[]): string[] {
    const sentences: Sentence[] = sayKeywords(tree, keywords);
    for (const { words, keywords: said } of sentences)
      for (const keyword of said) this.#note(keyword, tree.from(keyword), words);
    return sentences.map(({ words }) => words);
  }

  /** Describes schemas that could not be merged in words. */
  sayRemarks(tree: SchemaTree): string[] {
    for (const { keyword, words, from } of tree.remarks) this.#note(keyword, from, words);
    return tree.remarks.map(({ words }) => words);
  }

  #note(keyword: string, from: readonly string[], words: string): void {
    if (words === "") this.log.add("removed", keyword, from);
    else this.log.add("described", keyword, from, words);
  }

  /** Writes title and description, with words added. */
  annotate(out: Json, tree: SchemaTree, words: readonly string[]): Json {
    const description = describe(tree.get("description"), [...new Set(words)]);
    const title = tree.get("title");
    return {
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...out,
    };
  }
}

const MAX_QUOTE = 600;

/** Keywords that share one sentence, and the sentence. */
const PAIRS: readonly { min: string; max: string; say: (bounds: string, one: boolean) => string }[] = [
  {
    min: "minLength",
    max: "maxLength",
    say: (bounds, one) => `Must be ${bounds} character${one ? "" : "s"}.`,
  },
  { min: "minimum", max: "maximum", say: (bounds) => `Must be ${bounds}.` },
  { min: "exclusiveMinimum", max: "exclusiveMaximum", say: (bounds) => `Must be ${bounds}.` },
  { min: "minItems", max: "maxItems", say: (bounds, one) => `Must have ${bounds} item${one ? "" : "s"}.` },
  {
    min: "minProperties",
    max: "maxProperties",
    say: (bounds, one) => `Must have ${bounds} propert${one ? "y" : "ies"}.`,
  },
];

/** A sentence, and the keywords that it describes. */
interface Sentence {
  readonly words: string;
  readonly keywords: readonly string[];
}

/** Sentences for some keywords of a schema, in a stable order. `words` is empty for keywords without a sentence. */
export function sayKeywords(tree: SchemaTree, keywords: readonly string[]): Sentence[] {
  const left = new Set(keywords);
  const sentences: Sentence[] = [];
  for (const { min, max, say } of PAIRS) {
    const pair = [min, max].filter((keyword) => left.delete(keyword));
    if (pair.length === 0) continue;
    const bounds = pair.map((keyword) => `${signOf(keyword)} ${tree.get(keyword)}`).join(" and ");
    const one = pair.length === 1 && tree.get(pair[0]!) === 1;
    sentences.push({ words: say(bounds, one), keywords: pair });
  }
  for (const keywords of [
    ["if", "then", "else"],
    ["contains", "minContains", "maxContains"],
  ]) {
    if (!left.has(keywords[0]!)) continue;
    const group = keywords.filter((keyword) => left.delete(keyword));
    sentences.push({ words: quoteKeywords(tree, group), keywords: group });
  }
  for (const keyword of left) sentences.push({ words: sayKeyword(keyword, tree), keywords: [keyword] });
  return sentences;
}

function signOf(keyword: string): string {
  const sign = keyword.toLowerCase().includes("max") ? "<" : ">";
  return keyword.startsWith("exclusive") ? sign : `${sign}=`;
}

const flag = (words: string) => (value: unknown) => (value === true ? words : "");
const encoded = (value: unknown) => `Encoded as ${value}.`;

/** The sentence for a keyword without a partner; empty if it has none or gets too long. */
const SENTENCES: Readonly<Record<string, (value: unknown, tree: SchemaTree, keyword: string) => string>> = {
  uniqueItems: flag("Items must be unique."),
  deprecated: flag("Deprecated."),
  readOnly: flag("Read-only."),
  writeOnly: flag("Write-only."),
  pattern: (value) => `Must match the pattern ${value}.`,
  format: (value) => `Format: ${value}.`,
  multipleOf: (value) => `Must be a multiple of ${value}.`,
  default: (value) => shortened(`Default: ${quote(value)}.`),
  const: (value) => shortened(`Must be ${quote(value)}.`),
  enum: (value) => `Must be one of: ${(value as unknown[]).map(quote).join(", ")}.`,
  example: (value) => shortened(`Example: ${quote(value)}.`),
  examples: (value) => (Array.isArray(value) ? shortened(`Examples: ${value.map(quote).join(", ")}.`) : ""),
  contentEncoding: encoded,
  contentMediaType: encoded,
  required: (_, tree) => `Must be given: ${tree.strings("required").join(", ")}.`,
  dependentRequired: sayDependencies,
  anyOf: sayChoice,
  oneOf: sayChoice,
  additionalProperties: sayOtherProperties,
  unevaluatedProperties: sayOtherProperties,
};

function sayKeyword(keyword: string, tree: SchemaTree): string {
  const value = tree.get(keyword);
  if (Object.hasOwn(SENTENCES, keyword)) return SENTENCES[keyword]!(value, tree, keyword);
  return value instanceof SchemaTree || value instanceof Map || isListOfTrees(value)
    ? quoteKeywords(tree, [keyword])
    : "";
}

/** Whether the alternatives only list required properties. */
export const isChoiceOfRequired = (alternatives: readonly SchemaTree[]): boolean =>
  alternatives.length > 0 &&
  alternatives.every(
    (tree) =>
      tree.has("required") &&
      tree.remarks.length === 0 &&
      [...tree.keywords.keys()].every((keyword) => REQUIRED_ONLY.has(keyword)) &&
      (!tree.has("type") || tree.get("type") === "object"),
  );
const REQUIRED_ONLY = new Set(["required", "type", "title", "description"]);

function sayChoice(_: unknown, tree: SchemaTree, keyword: string): string {
  const alternatives = tree.trees(keyword);
  if (!isChoiceOfRequired(alternatives)) return quoteKeywords(tree, [keyword]);
  const names = alternatives.map((alternative) => alternative.strings("required").join(" with "));
  const count = keyword === "anyOf" ? "At least one" : "Exactly one";
  return `${count} of these must be given: ${names.join(", ")}.`;
}

function sayDependencies(value: unknown): string {
  return Object.entries(value as Record<string, unknown>)
    .map(([name, needed]) => `When ${name} is given, ${[needed].flat().join(", ")} must be given too.`)
    .join(" ");
}

function sayOtherProperties(_: unknown, tree: SchemaTree, keyword: string): string {
  const rest = tree.tree(keyword);
  if (rest === undefined) return "";
  if (rest.isNever()) return "No other properties are allowed.";
  if (rest.keywords.size === 0) return "Other properties are allowed.";
  return shortened(`Other properties must match the JSON Schema ${quote(treeToJson(rest))}.`);
}

const isListOfTrees = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((item) => item instanceof SchemaTree);

const quoteKeywords = (tree: SchemaTree, keywords: readonly string[]): string =>
  shortened(
    `Must match the JSON Schema ${quote(Object.fromEntries(keywords.map((name) => [name, treeToJson(tree.get(name))])))}.`,
  );

const quote = (value: unknown): string => JSON.stringify(value) ?? "null";

const shortened = (words: string): string => (words.length > MAX_QUOTE ? "" : words);

/** Appends sentences to a description. */
export function describe(description: unknown, sentences: readonly string[]): string | undefined {
  const own = typeof description === "string" ? description.trimEnd() : "";
  const added = sentences.filter((words) => words !== "" && !own.includes(words)).join(" ");
  if (added === "") return own === "" ? undefined : own;
  if (own === "") return added;
  return `${own}${/[.!?:;]$/.test(own) ? "" : "."} ${added}`;
}
