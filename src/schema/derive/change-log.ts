/** Collects the changes of a derivation, each one once. */
import type { SchemaChange, SchemaChangeKind } from "./derived-schema.js";

const MAX_CHANGES = 1_000;

/** The kinds after which a schema accepts more than before. */
const LOOSENING: ReadonlySet<SchemaChangeKind> = new Set(["described", "relaxed", "cut", "removed"]);
/** Keywords that never decide whether a value is valid. */
export const ANNOTATIONS: ReadonlySet<string> = new Set([
  ..."title description default examples example deprecated readOnly writeOnly $comment $schema $id id".split(
    " ",
  ),
  ..."$anchor $dynamicAnchor $recursiveAnchor $vocabulary $defs definitions contentEncoding contentMediaType".split(
    " ",
  ),
]);

export class ChangeLog {
  readonly #changes = new Map<string, SchemaChange>();
  /** How often meaning was lost so far. */
  losses = 0;

  /** Records the same change at every location that a keyword came from. */
  add(what: SchemaChangeKind, keyword: string, paths: readonly string[], detail?: string): void {
    if (LOOSENING.has(what) && !ANNOTATIONS.has(keyword)) this.losses++;
    for (const path of paths) {
      if (this.#changes.size >= MAX_CHANGES) return;
      const key = `${what} ${keyword} ${path}`;
      if (this.#changes.has(key)) continue;
      this.#changes.set(key, { path, keyword, what, ...(detail !== undefined && { detail }) });
    }
  }

  list(): SchemaChange[] {
    return [...this.#changes.values()];
  }
}
