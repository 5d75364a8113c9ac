/** `toolport/langchain`: MCP tools in LangChain.js and LangGraph.js; a drop-in for `@langchain/mcp-adapters`. */
export type {
  ClientConfig,
  Connection,
  CustomHTTPTransportOptions,
  InterruptOptions,
  LoadMcpToolsOptions,
  MCPResource,
  MCPResourceContent,
  MCPResourceTemplate,
  Notifications,
  SSEConnection,
  StdioConnection,
  StreamableHTTPConnection,
  ToolHooks,
} from "./client-config.js";
export type { OutputHandling } from "./content.js";
export {
  type LangChainContentOptions,
  type ToLangChainMessagesOptions,
  type ToolArtifact,
  type ToolOutput,
  toLangChainContent,
  toLangChainMessages,
} from "./content.js";
export { MCPClientError, ToolException } from "./errors.js";
export {
  createResume,
  type GraphInterrupt,
  type InterruptAnswers,
  type InterruptedCall,
  type InterruptValue,
  isToolportInterrupt,
} from "./interrupts.js";
export { loadMcpTools, type McpClientLike } from "./load-mcp-tools.js";
export { MultiServerMCPClient } from "./multi-server-mcp-client.js";
export { type ToLangChainToolsOptions, toLangChainTools } from "./to-tools.js";
