/** The filters of a port, which can be added, replaced and reset while it runs. */
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
  /** Replaces everything added before. Returns the new version. */
  set(filters: FilterInput | readonly FilterInput[]): number;
  /** Takes back everything added. Returns the new version. */
  reset(): number;
}

const compile = (input: FilterInput): CompiledFilter =>
  compileFilter(typeof input === "function" ? { filter: input } : input);

const isList = (input: FilterInput | readonly FilterInput[]): input is readonly FilterInput[] =>
  Array.isArray(input);

/**
 * Makes the filter set of a port.
 *
 * @param configured rules from the options. They always hold: what is added, replaced and reset at run time can narrow
 *   them, never widen.
 */
export function createFilterSet(configured: ToolFilters = {}): FilterSet {
  const fixed: readonly CompiledFilter[] = [compile(configured)];
  let filters = fixed;
  let version = 0;
  const change = (added: readonly CompiledFilter[]): number => {
    filters = [...fixed, ...added];
    version += 1;
    return version;
  };
  return {
    get version() {
      return version;
    },
    get filters() {
      return filters;
    },
    add: (filter) => change([...filters.slice(fixed.length), compile(filter)]),
    set: (input) => change((isList(input) ? input : [input]).map(compile)),
    reset: () => change([]),
  };
}
