/** Builds a catalog snapshot from the lists of the servers: filters, maps and names the tools. Run after every change. Users with the same lists share snapshots. */

import {
  getOrMake,
  type ListedTool,
  readToolUi,
  type ServerRef,
  type ToolInfo,
  type WithheldTool,
} from "@toolport/base";
import type { ServerConfig } from "../config/server-config.js";
import { type CompiledFilter, compileFilter, filterTools, passAll } from "./filters.js";
import { assignNames, type NameIssue } from "./names/assign-names.js";
import type { SourceTool, ToolList } from "./source-tool.js";

/** A tool under its public name, and as its server listed it. */
export interface CatalogEntry {
  readonly info: ToolInfo;
  readonly source: SourceTool;
}

/** Tools by their public name, and by server and the name on that server. */
export interface CatalogIndex {
  readonly byName: ReadonlyMap<string, CatalogEntry>;
  readonly bySource: ReadonlyMap<string, ReadonlyMap<string, CatalogEntry>>;
}

export interface CatalogSnapshot {
  /** In the order of the servers, then as listed. */
  readonly tools: readonly ToolInfo[];
  /** Number of tools of each server. */
  readonly counts: ReadonlyMap<string, number>;
  readonly index: () => CatalogIndex;
  readonly withheld: readonly WithheldTool[];
  /** Left out by filters. */
  readonly excluded: readonly WithheldTool[];
  readonly nameIssues: readonly NameIssue[];
  /** The owner of each name, so that the next snapshot renames no tool. */
  readonly given: ReadonlyMap<string, string>;
}

export interface NamingOptions {
  prefix: boolean;
  additionalToolNamePrefix: string;
  toolNameMapper: ToolNameMapper | undefined;
  toolSpecificationMapper: ToolSpecificationMapper | undefined;
  /** Names of the port's own tools, in addition to those that are always reserved. */
  reserved?: readonly string[] | undefined;
}

/** The lists of one server. */
export interface CatalogSource {
  readonly config: ServerConfig;
  readonly list: ToolList;
  /** Tools withheld by pins or the scan. */
  readonly refused: ReadonlyMap<string, string>;
}

interface BuildOptions {
  filters: readonly CompiledFilter[];
  naming: NamingOptions;
  previous: CatalogSnapshot | undefined;
  onWarning: (server: string, message: string) => void;
}

interface Candidate {
  readonly server: ServerRef;
  readonly source: SourceTool;
  /** As the user's mapper returns it. */
  readonly tool: SourceTool;
}

export function buildSnapshot(sources: readonly CatalogSource[], options: BuildOptions): CatalogSnapshot {
  const { filters, naming, previous, onWarning } = options;
  const withheld: WithheldTool[] = [];
  const excluded: WithheldTool[] = [];
  const candidates: Candidate[] = [];
  const counts = new Map<string, number>();
  for (const { config, list, refused } of sources) {
    const server: ServerRef = { name: config.name };
    const report = (message: string) => onWarning(server.name, message);
    const before = candidates.length;
    withheld.push(...list.withheld.map((tool) => ({ server: server.name, ...tool })));
    const passed = passing(list.tools, server, rulesOf(config, filters));
    withheld.push(...passed.withheld);
    excluded.push(...passed.excluded);
    for (const source of passed.tools) {
      const reason = refused.get(source.sourceName);
      if (reason !== undefined)
        withheld.push({ server: server.name, name: source.sourceName, reason, isRefused: true });
      else {
        const { toolSpecificationMapper: mapper } = naming;
        const tool = mapper === undefined ? source : mapTool(mapper, { server, tool: source }, report);
        candidates.push({ server, source, tool });
      }
    }
    counts.set(server.name, candidates.length - before);
  }
  const assigned = assignNames(candidates, { ...naming, previous: previous?.given });
  const { names, issues: nameIssues } = assigned;
  const tools = candidates.map(({ server, tool }, position) => toInfo(names[position]!, server.name, tool));
  let index: CatalogIndex | undefined;
  return {
    tools,
    counts,
    withheld,
    excluded,
    nameIssues,
    index() {
      index ??= indexTools(tools, candidates);
      return index;
    },
    get given() {
      return assigned.given;
    },
  };
}

/** The tools of one server that pass filters, pins and the scan. */
function offeredTools(
  { config, list, refused }: CatalogSource,
  filters: readonly CompiledFilter[],
): SourceTool[] {
  const passed = passing(list.tools, { name: config.name }, rulesOf(config, filters));
  return passed.tools.filter(({ sourceName }) => !refused.has(sourceName));
}

const rulesOf = (config: ServerConfig, filters: readonly CompiledFilter[]) =>
  [compileFilter(config, "server"), ...filters].filter((rule) => rule !== passAll);

/** The tools that pass the rules. */
function passing(tools: readonly SourceTool[], server: ServerRef, rules: readonly CompiledFilter[]) {
  if (rules.length === 0) return { tools, excluded: [], withheld: [] };
  const listed = tools.map((tool) => ({ server, tool }));
  const passed = filterTools(listed, () => rules);
  return { ...passed, tools: passed.tools.map(({ tool }) => tool) };
}

function indexTools(tools: readonly ToolInfo[], candidates: readonly Candidate[]): CatalogIndex {
  const byName = new Map<string, CatalogEntry>();
  const bySource = new Map<string, Map<string, CatalogEntry>>();
  for (let position = 0; position < tools.length; position += 1) {
    const info = tools[position]!;
    const { source } = candidates[position]!;
    const entry: CatalogEntry = { info, source };
    byName.set(info.name, entry);
    getOrMake(bySource, info.server, () => new Map()).set(source.sourceName, entry);
  }
  return { byName, bySource };
}

function toInfo(name: string, server: string, tool: SourceTool): ToolInfo {
  const { sourceName, title, description, inputSchema, outputSchema, annotations, icons, execution, _meta } =
    tool;
  const ui = readToolUi(_meta);
  const { definedBy } = tool;
  const info = {
    name,
    server,
    sourceName,
    title,
    description,
    inputSchema,
    outputSchema,
    annotations,
    icons,
    execution,
    _meta,
  };
  if (ui === undefined && definedBy === undefined) return Object.freeze(info);
  return Object.freeze({ ...info, ...(ui && { ui }), ...(definedBy !== undefined && { definedBy }) });
}

/**
 * Names a tool. The name replaces the prefix. Toolport still makes it valid for every provider and unique.
 *
 * @example
 * ```ts
 * const mapper: ToolNameMapper = (server, tool) => `${server.name}_${tool.name}`;
 * ```
 */
export type ToolNameMapper = (server: ServerRef, tool: ListedTool) => string;

/**
 * Changes the definition that models see: name, title, description, schema. The server still receives its own name.
 *
 * @example
 * ```ts
 * const mapper: ToolSpecificationMapper = (_server, tool) => ({ ...tool, description: tool.description?.toUpperCase() });
 * ```
 */
export type ToolSpecificationMapper = (server: ServerRef, tool: ListedTool) => ListedTool;

/** Calls a mapper for one tool; if it throws, the tool stays unchanged. */
function mapTool<Tool extends ListedTool>(
  mapper: ToolSpecificationMapper,
  { server, tool }: { server: ServerRef; tool: Tool },
  report: (message: string) => void,
): Tool {
  try {
    const mapped = mapper(server, tool);
    // Avoids an unhandled rejection; a promise is not a tool.
    if (mapped instanceof Promise) {
      mapped.catch(() => {});
      throw new TypeError("it is asynchronous; mappers must be synchronous");
    }
    const { name, title, description, inputSchema, outputSchema, annotations, icons, _meta } = mapped;
    return { ...tool, name, title, description, inputSchema, outputSchema, annotations, icons, _meta };
  } catch (error) {
    report(`toolSpecificationMapper threw for ${server.name}/${tool.name}: ${String(error)}`);
    return tool;
  }
}

export class FallbackTools {
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
    filters: readonly CompiledFilter[],
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

/** Maximum number of snapshots that are kept for other users. */
const MAX_SNAPSHOTS = 64;

export class SharedSnapshots {
  #filterVersion = -1;
  /** Those that a user has, the last used one at the end. A snapshot of a few servers is soon replaced by that of all. */
  #recent: WeakRef<CatalogSnapshot>[] = [];
  readonly #sources = new WeakMap<CatalogSnapshot, readonly CatalogSource[]>();

  /**
   * The snapshot of these lists. Undefined if it cannot be shared: the user has filters of its own, a tool is withheld, or a
   * name would change.
   */
  of(
    sources: readonly CatalogSource[],
    filterVersion: number,
    previous: CatalogSnapshot | undefined,
    build: () => CatalogSnapshot,
  ): CatalogSnapshot | undefined {
    if (sources.some(({ refused }) => refused.size > 0)) return undefined;
    if (this.#filterVersion !== filterVersion) this.#recent = [];
    this.#filterVersion = filterVersion;
    const recent = this.#recent.flatMap((snapshot) => snapshot.deref() ?? []);
    const known = recent.find((snapshot) => isSame(this.#sources.get(snapshot)!, sources));
    const snapshot = known ?? build();
    if (known === undefined) this.#sources.set(snapshot, sources);
    const others = recent.filter((other) => other !== snapshot);
    this.#recent = [...others, snapshot].slice(-MAX_SNAPSHOTS).map((each) => new WeakRef(each));
    return keepsNames(previous, snapshot) ? snapshot : undefined;
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
