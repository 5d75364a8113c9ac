/** Shares the snapshots of users whose lists are the same. */
import type { CatalogSnapshot, CatalogSource } from "./build-snapshot.js";

/** Maximum number of snapshots that are kept for other users. */
const MAX_SNAPSHOTS = 64;

interface SharedSnapshot {
  readonly sources: readonly CatalogSource[];
  readonly snapshot: CatalogSnapshot;
}

export class SharedSnapshots {
  #filterVersion = -1;
  /** The last used one comes last. */
  #recent: SharedSnapshot[] = [];

  /**
   * The snapshot of these lists. Undefined if it cannot be shared: the user has filters of its own, a tool is withheld, or a
   * name would change.
   */
  of(
    sources: readonly CatalogSource[],
    {
      filterVersion,
      previous,
      build,
    }: { filterVersion: number; previous: CatalogSnapshot | undefined; build: () => CatalogSnapshot },
  ): CatalogSnapshot | undefined {
    if (sources.some(({ refused }) => refused.size > 0)) return undefined;
    if (this.#filterVersion !== filterVersion) this.#recent = [];
    this.#filterVersion = filterVersion;
    const position = this.#recent.findIndex((shared) => isSame(shared.sources, sources));
    const found = this.#recent[position] ?? { sources, snapshot: build() };
    if (position >= 0) this.#recent.splice(position, 1);
    this.#recent.push(found);
    if (this.#recent.length > MAX_SNAPSHOTS) this.#recent.shift();
    return keepsNames(previous, found.snapshot) ? found.snapshot : undefined;
  }
}

const isSame = (one: readonly CatalogSource[], other: readonly CatalogSource[]): boolean =>
  one.length === other.length &&
  one.every(({ config, list }, position) => {
    const { config: otherConfig, list: otherList } = other[position]!;
    return (
      config.name === otherConfig.name &&
      config.only === otherConfig.only &&
      config.except === otherConfig.except &&
      config.filter === otherConfig.filter &&
      list.tools === otherList.tools &&
      list.withheld === otherList.withheld
    );
  });

/** Tools that the user knows must keep their names, also while they are not listed. */
function keepsNames(previous: CatalogSnapshot | undefined, next: CatalogSnapshot): boolean {
  if (previous === undefined || previous === next) return true;
  for (const [identity, name] of previous.given) if (next.given.get(identity) !== name) return false;
  return true;
}
