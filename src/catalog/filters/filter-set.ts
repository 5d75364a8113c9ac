/** The filters of a port, which can be added, replaced and reset while it runs. Each user has its own set. */
import { type CompiledFilter, compileFilter, type ToolFilter, type ToolFilters } from "./filters.js";

/** What `addFilter` and `setFilters` take. */
export type FilterInput = ToolFilters | ToolFilter;

export interface FilterSet {
  /** Grows with every change, so that a snapshot knows whether it is still right. */
  readonly version: number;
  /** All of them, in the order in which they are asked. */
  readonly filters: readonly CompiledFilter[];
  /** One more that must agree. Returns the new version. */
  add(filter: FilterInput): number;
  /** Replaces everything added to this set before. Returns the new version. */
  set(filters: FilterInput | readonly FilterInput[]): number;
  /** Removes everything added to this set. Returns the new version. */
  reset(): number;
}

const compile = (input: FilterInput): CompiledFilter =>
  compileFilter(typeof input === "function" ? { filter: input } : input);

const isList = (input: FilterInput | readonly FilterInput[]): input is readonly FilterInput[] =>
  Array.isArray(input);

/**
 * Makes the filter set of the plain port, which every user's set builds on.
 *
 * @param configured rules from the options. They always hold: what is added, replaced and reset at run time can narrow
 *   them, never widen.
 */
export function createFilterSet(configured: ToolFilters = {}): FilterSet {
  const fixed: readonly CompiledFilter[] = [compile(configured)];
  return changeable({ version: 0, filters: fixed });
}

/** Makes the filter set of one user: everything in `shared`, as it is at that moment, and the user's own filters. */
export function extendFilterSet(shared: FilterSet): FilterSet {
  return changeable(shared);
}

/** The rules of `base`, which this set cannot change, followed by its own. */
function changeable(base: Pick<FilterSet, "version" | "filters">): FilterSet {
  let added: readonly CompiledFilter[] = [];
  let changes = 0;
  const change = (filters: readonly CompiledFilter[]): number => {
    added = filters;
    changes += 1;
    return base.version + changes;
  };
  return {
    get version() {
      return base.version + changes;
    },
    get filters() {
      return [...base.filters, ...added];
    },
    add: (filter) => change([...added, compile(filter)]),
    set: (input) => change((isList(input) ? input : [input]).map(compile)),
    reset: () => change([]),
  };
}
