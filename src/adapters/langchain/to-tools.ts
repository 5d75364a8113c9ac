/** Converts the tools of a port to LangChain tools. */
import type { DynamicStructuredTool } from "@langchain/core/tools";
import type { ToolInfo, WithheldTool } from "../../model/tool-info.js";
import { debugChannel } from "../../telemetry/debug-channel.js";
import type { Toolport, ToolsOptions } from "../../toolport.js";
import { targetOf } from "../offered-tools.js";
import type { InterruptOptions, LoadMcpToolsOptions, OutputConfig } from "./client-config.js";
import { interruptsOf } from "./interruptible-call.js";
import { MCPClientError } from "./mcp-client-error.js";
import { McpTool } from "./mcp-tool.js";
import { settingsByServer, type ToolPort } from "./tool-port.js";
import { loadError } from "./withheld-tools.js";

/** Options of `toLangChainTools`: which tools, how their output is mapped, and hooks. */
export interface ToLangChainToolsOptions
  extends ToolsOptions,
    InterruptOptions,
    Omit<LoadMcpToolsOptions, "prefixToolNameWithServerName" | "additionalToolNamePrefix"> {
  /** Output options of single servers, which take precedence over those given here. @default none */
  outputOf?: Readonly<Record<string, OutputConfig>> | undefined;
}

const debug = debugChannel("call");

/**
 * Converts the tools of a port. With `deferTools` these are the search over all tools and the few that are always
 * visible, as for any other model.
 *
 * @example
 * ```ts
 * const tools = await toLangChainTools(toolport, { servers: ["weather"], useStandardContentBlocks: true });
 * ```
 */
export async function toLangChainTools(
  toolport: Toolport,
  options: ToLangChainToolsOptions = {},
): Promise<DynamicStructuredTool[]> {
  const { servers, only, except, filter, all, signal, timeoutMs } = options;
  const target = targetOf(options.schema);
  const chosen = { servers, only, except, filter, all, signal, timeoutMs };
  const given = Object.entries(chosen).filter(([, value]) => value !== undefined);
  const infos = await toolport.tools(Object.fromEntries(given));
  if (options.throwOnLoadError === true) assertNoneWithheld(toolport, options);
  const port: ToolPort = {
    toolport,
    hooks: options,
    target,
    settingsOf: settingsByServer(options, (server) => options.outputOf?.[server]),
    interrupts: interruptsOf(options),
  };
  return convertTools(infos, { port, throwOnLoadError: options.throwOnLoadError ?? true });
}

function assertNoneWithheld(toolport: Toolport, { servers, only, except }: ToLangChainToolsOptions): void {
  const { servers: known, tools, withheldTools: withheld } = toolport.snapshot();
  for (const server of servers ?? Object.keys(known)) {
    const error = loadError({ server, tools, withheld, all: { only, except } });
    if (error !== undefined) throw error;
  }
}

interface Conversion {
  readonly port: ToolPort;
  readonly throwOnLoadError: boolean;
  /** @default the name in the port */
  readonly nameOf?: (tool: ToolInfo) => string;
  /** Called for a tool that could not be converted. */
  readonly onLeftOut?: (tool: WithheldTool) => void;
}

/** Creates one LangChain tool for each. If one cannot be converted, throws or leaves it out. */
export function convertTools(
  infos: readonly ToolInfo[],
  { port, throwOnLoadError, nameOf = ({ name }) => name, onLeftOut }: Conversion,
): DynamicStructuredTool[] {
  return infos.flatMap((tool) => {
    try {
      return [new McpTool(tool, port, nameOf(tool))];
    } catch (error) {
      const message = `Tool "${tool.name}" of server "${tool.server}" cannot be converted: ${String(error)}`;
      debug(message);
      if (throwOnLoadError) throw new MCPClientError(message, tool.server, { cause: error });
      onLeftOut?.({ server: tool.server, name: tool.sourceName, reason: message });
      return [];
    }
  });
}
