/** From the servers' lists to what is offered: filter, map, name. Pure, and cheap enough to do again at every change. */
import type { ServerRef } from "../config/listed-tool.js";
import type { ServerConfig } from "../config/server-config.js";
import { assignNames, type NameIssue } from "./assign-names.js";
import type { FilterSet } from "./filter-set.js";
import { compileFilter, filterTools } from "./filters.js";
import type { ToolList } from "./list-tools.js";
import type { SourceTool } from "./source-tool.js";
import type { ToolInfo, WithheldTool } from "./tool-info.js";
import { mapTool, type ToolNameMapper, type ToolSpecificationMapper } from "./tool-mapping.js";
import { readToolUi } from "./tool-ui.js";

/** Where a public name leads. */
export interface CatalogEntry {
  readonly info: ToolInfo;
  readonly source: SourceTool;
}

export interface CatalogSnapshot {
  /** In the order of the servers, then as listed. */
  readonly tools: readonly ToolInfo[];
  readonly byName: ReadonlyMap<string, CatalogEntry>;
  readonly bySource: ReadonlyMap<string, ReadonlyMap<string, CatalogEntry>>;
  readonly withheld: readonly WithheldTool[];
  /** Left out because the filters say so. */
  readonly excluded: readonly WithheldTool[];
  readonly nameIssues: readonly NameIssue[];
  /** Who has which name, so that the next snapshot renames nobody. */
  readonly given: ReadonlyMap<string, string>;
}

export interface NamingOptions {
  prefix: boolean;
  additionalToolNamePrefix: string;
  toolNameMapper: ToolNameMapper | undefined;
  toolSpecificationMapper: ToolSpecificationMapper | undefined;
  /** Names of tools of the port's own, besides those that are always reserved. */
  reserved?: readonly string[] | undefined;
}

/** One server's part of the catalog. */
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
  /** As the user's mapper shows it. */
  readonly tool: SourceTool;
}

export function buildSnapshot(sources: readonly CatalogSource[], options: BuildOptions): CatalogSnapshot {
  const { filters, naming, previous, onWarning } = options;
  const withheld: WithheldTool[] = [];
  const excluded: WithheldTool[] = [];
  const candidates: Candidate[] = [];
  for (const { config, list, refused } of sources) {
    const server: ServerRef = { name: config.name };
    const report = (message: string) => onWarning(server.name, message);
    withheld.push(...list.withheld.map((tool) => ({ server: server.name, ...tool })));
    const own = compileFilter(config, "server");
    const listed = list.tools.map((tool) => ({ server, tool }));
    const rules = [own, ...filters.filters];
    const passed = filterTools(listed, () => rules);
    withheld.push(...passed.withheld);
    excluded.push(...passed.excluded);
    for (const { tool: source } of passed.tools) {
      const reason = refused.get(source.sourceName);
      if (reason !== undefined) withheld.push({ server: server.name, name: source.sourceName, reason });
      else {
        candidates.push({
          server,
          source,
          tool: mapTool(naming.toolSpecificationMapper, { server, tool: source }, report),
        });
      }
    }
  }
  const { names, issues, given } = assignNames(candidates, {
    prefix: naming.prefix,
    additionalToolNamePrefix: naming.additionalToolNamePrefix,
    toolNameMapper: naming.toolNameMapper,
    reserved: naming.reserved,
    previous: previous?.given,
  });
  return { ...index(candidates, names), withheld, excluded, nameIssues: issues, given };
}

function index(
  candidates: readonly Candidate[],
  names: readonly string[],
): Pick<CatalogSnapshot, "tools" | "byName" | "bySource"> {
  const tools: ToolInfo[] = [];
  const byName = new Map<string, CatalogEntry>();
  const bySource = new Map<string, Map<string, CatalogEntry>>();
  for (let position = 0; position < candidates.length; position += 1) {
    const { server, source, tool } = candidates[position]!;
    const info = toInfo(names[position]!, server.name, tool);
    const entry: CatalogEntry = { info, source };
    tools.push(info);
    byName.set(info.name, entry);
    let ofServer = bySource.get(server.name);
    if (ofServer === undefined) {
      ofServer = new Map();
      bySource.set(server.name, ofServer);
    }
    ofServer.set(source.sourceName, entry);
  }
  return { tools, byName, bySource };
}

function toInfo(name: string, server: string, tool: SourceTool): ToolInfo {
  const { sourceName, title, description, inputSchema, outputSchema, annotations, icons, execution, _meta } =
    tool;
  const ui = readToolUi(_meta);
  return Object.freeze({
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
    ...(ui !== undefined && { ui }),
  });
}
