/** A LangChain structured tool that stands for a tool of an MCP server. */
import { DynamicStructuredTool } from "@langchain/core/tools";
import type { ToolInfo } from "../../catalog/tool-info.js";
import { runTool, type ToolConfig } from "./run-tool.js";
import type { ToolPort } from "./tool-port.js";

type Invoke = (input: unknown, config?: ToolConfig) => Promise<unknown>;
type Call = (input: unknown, config?: unknown, tags?: string[]) => Promise<unknown>;

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
  constructor(tool: ToolInfo, port: ToolPort, name = tool.name) {
    super({
      name,
      description: tool.description ?? "",
      // A copy: ours is frozen, and not everybody in LangChain leaves a schema as it is.
      schema: structuredClone(tool.inputSchema),
      responseFormat: "content_and_artifact",
      metadata: metadataOf(tool),
      func: (args: unknown, _manager, config = {}) => runTool({ tool, port, args, config }),
    });
    // Both are put on the instance: their generic signatures in LangChain cannot be overridden in plain words.
    const { invoke, call } = DynamicStructuredTool.prototype as unknown as { invoke: Invoke; call: Call };
    const { defaultToolTimeout } = port.settingsOf(tool.server);
    // A new one for every call: the validator writes into it.
    const unchecked: unknown = Object.create(this, { schema: { get: () => ({}) } });
    Object.defineProperties(this, {
      invoke: {
        value: (input: unknown, config?: ToolConfig) =>
          invoke.call(this, input, withTimeout(config, defaultToolTimeout)),
      },
      call: { value: (...parameters: Parameters<Call>) => call.apply(unchecked, parameters) },
    });
  }

  static override lc_name(): string {
    return "DynamicStructuredTool";
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
