/** Tools that servers list and that cannot be offered. */
import { compileFilter, type ToolFilters } from "../../catalog/filters/filters.js";
import type { WithheldTool } from "../../model/tool-info.js";
import type { ToolportSnapshot } from "../../port/snapshot.js";
import type { Toolport } from "../../toolport.js";
import { MCPClientError } from "./errors.js";

/** Those of several ports, without duplicates, and those that LangChain rejected. */
export function allWithheld(
  ports: readonly Toolport[],
  unconverted: readonly WithheldTool[],
): readonly WithheldTool[] {
  const all = [...ports.flatMap((port) => port.snapshot().withheldTools), ...unconverted];
  return [...new Map(all.map((tool) => [JSON.stringify(tool), tool])).values()];
}

type Names = Pick<ToolFilters, "only" | "except">;

/**
 * The error for tools of a server that cannot be offered because of their definition; undefined if
 * there is none. Duplicates, and tools that pins or the scan withhold, do not count.
 *
 * @param filters the user's own, by name: tools that they exclude are not reported
 */
export function loadError(
  server: string,
  { tools, withheldTools: withheld }: Pick<ToolportSnapshot, "tools" | "withheldTools">,
  { own = {}, all = {} }: { own?: Names | undefined; all?: Names | undefined },
): MCPClientError | undefined {
  if (!withheld.some((tool) => tool.server === server)) return undefined;
  const rules = [
    compileFilter({ only: own.only, except: own.except }, "server"),
    compileFilter({ only: all.only, except: all.except }),
  ];
  const offered = new Set(tools.filter((tool) => tool.server === server).map(({ sourceName }) => sourceName));
  const missing = withheld.filter(({ server: its, name, isRefused }) => {
    if (its !== server || isRefused || offered.has(name)) return false;
    const tool = { name, sourceName: name, inputSchema: {} };
    return rules.every((rule) => rule({ name: server }, tool) === undefined);
  });
  if (missing.length === 0) return undefined;
  const each = missing.map(({ name, reason }) => `tool "${name}" cannot be offered: ${reason}`);
  return new MCPClientError(
    `Failed to load tools from server "${server}": ${each.join("; ")}. Set throwOnLoadError to false to leave ${
      missing.length === 1 ? "it" : "them"
    } out`,
    server,
  );
}
