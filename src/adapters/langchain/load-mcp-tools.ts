/** Loads the tools of a client that the program created and connected. */
import type { DynamicStructuredTool } from "@langchain/core/tools";
import { createToolport } from "../../create-toolport.js";
import { ToolportError } from "../../errors/toolport-error.js";
import type { LoadMcpToolsOptions } from "./client-config.js";
import { ClientTransport, type McpClientLike } from "./client-transport.js";
import { MCPClientError } from "./mcp-client-error.js";
import { toLangChainTools } from "./to-tools.js";

/**
 * Loads the tools of a connected client: `Client` of `@modelcontextprotocol/client`, or of version 1 of the SDK. The
 * client stays yours: Toolport never closes it and does not reconnect it.
 *
 * @example
 * ```ts
 * const tools = await loadMcpTools("math", client, { prefixToolNameWithServerName: true });
 * ```
 * @throws MCPClientError if the tools cannot be listed, or if one of them cannot be offered and `throwOnLoadError` is not false
 */
export async function loadMcpTools(
  serverName: string,
  client: McpClientLike,
  options: LoadMcpToolsOptions = {},
): Promise<DynamicStructuredTool[]> {
  const {
    prefixToolNameWithServerName = false,
    additionalToolNamePrefix = "",
    throwOnLoadError = true,
    ...rest
  } = options;
  const toolport = createToolport({
    mcpServers: {
      [serverName]: {
        transport: () => new ClientTransport(client),
        protocol: "legacy",
        // The port cannot reconnect this client.
        reconnect: { enabled: false },
      },
    },
    prefix: prefixToolNameWithServerName,
    additionalToolNamePrefix,
    // The client manages its own connection, so calls are not rejected after failures.
    breaker: false,
    retry: false,
  });
  const { error } = await toolport.connectServer(serverName);
  if (error !== undefined) {
    const why = ToolportError.isInstance(error) ? error.message : String(error);
    throw new MCPClientError(`Failed to load tools from server "${serverName}": ${why}`, serverName, {
      cause: error,
    });
  }
  // As in the original, results are not limited.
  return toLangChainTools(toolport, { ...rest, compact: false, throwOnLoadError, forModel: false });
}
