/** The filters of a port, which can change while it runs. Each user has its own set. */
import { type CompiledFilter, compileFilter, type ToolFilter, type ToolFilters } from "./filters.js";

/** Accepted by `addFilter` and `setFilters`. */
export type FilterInput = ToolFilters | ToolFilter;

export interface FilterSet {
  /** Increases with every change, so that the catalog notices it. */
  readonly version: number;
  /** All filters, in the order in which they are applied. */
  readonly filters: readonly CompiledFilter[];
  /** Adds a filter. Returns the new version. */
  add(filter: FilterInput): number;
  /** Replaces the filters added to this set. Returns the new version. */
  set(filters: FilterInput | readonly FilterInput[]): number;
  /** Removes the filters added to this set. Returns the new version. */
  reset(): number;
}

const compile = (input: FilterInput): CompiledFilter =>
  compileFilter(typeof input === "function" ? { filter: input } : input);

const isList = (input: FilterInput | readonly FilterInput[]): input is readonly FilterInput[] =>
  Array.isArray(input);

/**
 * Creates the filter set of the plain port, which the sets of all users extend.
 *
 * @param configured rules of the options. They always apply: changes at run time can only narrow them.
 */
export function createFilterSet(configured: ToolFilters = {}): FilterSet {
  const fixed: readonly CompiledFilter[] = [compile(configured)];
  return changeable({ version: 0, filters: fixed });
}

/** Creates the filter set of one user: the current filters of `shared`, and those of the user. */
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
