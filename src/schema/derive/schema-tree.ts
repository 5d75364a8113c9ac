/** A schema during its derivation: references are resolved, and every keyword has its location in the original. */
import { setKey } from "../json-value.js";

/** One keyword: its value, with trees instead of schemas, and the locations in the original that it comes from. */
export interface TreeKeyword {
  readonly value: unknown;
  readonly from: readonly string[];
}

export class SchemaTree {
  readonly keywords = new Map<string, TreeKeyword>();
  /** Schemas that could not be merged and must be described in words. */
  readonly spoken: { keyword: string; words: string; from: readonly string[] }[] = [];

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
    copy.spoken.push(...this.spoken);
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
    return not !== undefined && not.keywords.size === 0 && not.spoken.length === 0;
  }
}

export const never = (at: string): SchemaTree => new SchemaTree(at).set("not", new SchemaTree(at));

/** Converts the tree back to JSON Schema, for descriptions that quote it. */
export function treeToJson(value: unknown): unknown {
  if (value instanceof SchemaTree) return value.isNever() ? false : entriesToJson(entriesOf(value));
  if (value instanceof Map) return entriesToJson(value);
  return Array.isArray(value) ? value.map(treeToJson) : value;
}

function* entriesOf(tree: SchemaTree): Generator<[string, unknown]> {
  for (const [keyword, { value }] of tree.keywords) yield [keyword, value];
}

function entriesToJson(entries: Iterable<[string, unknown]>): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const [key, value] of entries) setKey(json, key, treeToJson(value));
  return json;
}
