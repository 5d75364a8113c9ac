/** Builds a catalog snapshot from the lists of the servers: filters, maps and names the tools. Pure, and run after every change. */

import type { ServerConfig } from "../config/server-config.js";
import type { ServerRef } from "../model/listed-tool.js";
import type { ToolInfo, WithheldTool } from "../model/tool-info.js";
import { readToolUi } from "../model/tool-ui.js";
import type { FilterSet } from "./filters/filter-set.js";
import { type CompiledFilter, compileFilter, filterTools, passAll } from "./filters/filters.js";
import type { ToolList } from "./list-tools.js";
import { assignNames, type NameIssue } from "./names/assign-names.js";
import type { SourceTool } from "./source-tool.js";
import { mapTool, type ToolNameMapper, type ToolSpecificationMapper } from "./tool-mapping.js";

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

export interface BuildOptions {
  filters: FilterSet;
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
  const assigned = assignNames(candidates, {
    prefix: naming.prefix,
    additionalToolNamePrefix: naming.additionalToolNamePrefix,
    toolNameMapper: naming.toolNameMapper,
    reserved: naming.reserved,
    previous: previous?.given,
  });
  const { names, issues: nameIssues } = assigned;
  const tools = candidates.map(({ server, tool }, position) => toInfo(names[position]!, server.name, tool));
  let index: CatalogIndex | undefined;
  return {
    ...{ tools, counts, withheld, excluded, nameIssues },
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
export function offeredTools({ config, list, refused }: CatalogSource, filters: FilterSet): SourceTool[] {
  const passed = passing(list.tools, { name: config.name }, rulesOf(config, filters));
  return passed.tools.filter(({ sourceName }) => !refused.has(sourceName));
}

const rulesOf = (config: ServerConfig, { filters }: FilterSet): readonly CompiledFilter[] =>
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
    let ofServer = bySource.get(info.server);
    if (ofServer === undefined) {
      ofServer = new Map();
      bySource.set(info.server, ofServer);
    }
    ofServer.set(source.sourceName, entry);
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
