/** The shared state of the writers of one derivation. */

import type { ChangeLog } from "./change-log.js";
import { describe, type Sentence, sayKeywords } from "./constraint-words.js";
import { TooLarge } from "./ref-limits.js";
import type { SchemaTree } from "./schema-tree.js";
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
    readonly writer: (tree: SchemaTree, to: Derivation) => Json,
  ) {
    this.hasCuts = log.losses > 0;
  }

  /** Writes a subschema. */
  write(tree: SchemaTree): Json {
    return this.writer(tree, this);
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
  saySpoken(tree: SchemaTree): string[] {
    for (const { keyword, words, from } of tree.spoken) this.#note(keyword, from, words);
    return tree.spoken.map(({ words }) => words);
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
