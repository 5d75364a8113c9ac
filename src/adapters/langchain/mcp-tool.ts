/** A LangChain structured tool that stands for a tool of an MCP server. */
import { DynamicStructuredTool } from "@langchain/core/tools";
import type { ToolInfo } from "../../catalog/tool-info.js";
import { clonePlain } from "./clone-plain.js";
import { runTool, type ToolConfig } from "./run-tool.js";
import type { ToolPort } from "./tool-port.js";

/** What a tool says about itself beyond name, description and schema. */
function metadataOf({ server, sourceName, title, annotations, _meta }: ToolInfo): Record<string, unknown> {
  return {
    annotations,
    ...(title !== undefined && { title }),
    ...(_meta !== undefined && { _meta }),
    server,
    sourceName,
  };
}

/**
 * Arguments are checked by the port, against the schema as the server wrote it and by its draft. LangChain's own check
 * knows one draft only and has no limit on hostile patterns, so it is given a schema that lets everything pass.
 */
export class McpTool extends DynamicStructuredTool {
  /** In milliseconds; undefined: the port's own limits. */
  readonly defaultToolTimeout: number | undefined;

  constructor(tool: ToolInfo, port: ToolPort, name = tool.name) {
    super({
      name,
      description: tool.description ?? "",
      // A copy: ours is frozen, and not everybody in LangChain leaves a schema as it is.
      schema: clonePlain(tool.inputSchema, structuredClone),
      responseFormat: "content_and_artifact",
      metadata: metadataOf(tool),
      func: (args: unknown, _manager, config = {}) => runTool({ tool, port, args, config }),
    });
    this.defaultToolTimeout = port.settingsOf(tool.server).defaultToolTimeout;
  }

  static override lc_name(): string {
    return "DynamicStructuredTool";
  }

  // The types of both methods are those of the class they come from; nobody sees a tool as an `McpTool`.
  override invoke(input: never, config?: never): Promise<never> {
    return super.invoke(input, withTimeout(config, this.defaultToolTimeout) as never) as Promise<never>;
  }

  override call(input: never, config?: never, tags?: string[]): Promise<never> {
    // A new schema for every call: the validator writes into it.
    const unchecked = Object.create(this, { schema: { value: {} } }) as this;
    return super.call.call(unchecked, input, config, tags) as Promise<never>;
  }
}

/**
 * The timeout of the call, or else the default. Not by LangChain's `defaultConfig`: that would take the shorter of the
 * two. The number stays in `metadata`, where LangChain itself leaves it, because a limit of the agent's run may be there.
 */
function withTimeout(config: ToolConfig | undefined, defaultToolTimeout: number | undefined) {
  const timeout = config?.timeout ?? defaultToolTimeout;
  if (timeout === undefined) return config;
  return { ...config, timeout, metadata: { ...config?.metadata, timeoutMs: timeout } };
}
