/** Tools of a server that was never listed, taken from its fallback servers while it is unreachable. */
import type { ServerConfig } from "../config/server-config.js";
import { type CatalogSource, offeredTools } from "./build-snapshot.js";
import type { FilterSet } from "./filters/filter-set.js";
import type { SourceTool } from "./source-tool.js";

export class StandIns {
  /** Unreachable servers whose calls may go to a fallback. */
  readonly #away = new Set<string>();

  /** Returns true if the state changed. */
  mark(server: string, isAway: boolean): boolean {
    if (this.#away.has(server) === isAway) return false;
    if (isAway) this.#away.add(server);
    else this.#away.delete(server);
    return true;
  }

  /** True if the fallback servers have to provide the tools of this server. */
  isNeeded({ name, fallback }: ServerConfig): boolean {
    return fallback !== undefined && this.#away.has(name);
  }

  /**
   * The tools of the fallback servers, under the names that the server itself would use. If several have a tool, the first one
   * defines it, because it is also asked first.
   */
  sourceOf(
    config: ServerConfig,
    listed: ReadonlyMap<string, CatalogSource>,
    filters: FilterSet,
  ): CatalogSource | undefined {
    if (!this.isNeeded(config)) return undefined;
    const { servers, tools: renamed } = config.fallback!;
    const tools = new Map<string, SourceTool>();
    for (const server of servers) {
      const source = listed.get(server);
      if (source === undefined) continue;
      for (const tool of offeredTools(source, filters)) {
        for (const sourceName of namesFor(tool.sourceName, renamed)) {
          if (!tools.has(sourceName))
            tools.set(sourceName, { ...tool, name: sourceName, sourceName, definedBy: server });
        }
      }
    }
    return { config, list: { tools: [...tools.values()], withheld: [] }, refused: new Map() };
  }
}

/** The names that `fallback.tools` maps to this tool of a fallback server. */
function namesFor(tool: string, renamed: Readonly<Record<string, string>>): readonly string[] {
  const names = Object.keys(renamed).filter((name) => renamed[name] === tool);
  if (names.length > 0) return names;
  // A name that is mapped to another tool does not count.
  return Object.hasOwn(renamed, tool) ? [] : [tool];
}
