/** The entry point `toolport/agents`: MCP servers for agents with the API of Cloudflare's agents, on any runtime. */
export { isTransportNotImplemented, isUnauthorized } from "@toolport/base";
export {
  type DurableObjectSqlStorage,
  type DurableObjectStoreOptions,
  durableObjectStore,
} from "@toolport/stores";
export {
  type AddMcpServerResult,
  type AddServerOptions,
  type MCPConnectionResult,
  type MCPConnectionState,
  type MCPDiscoverResult,
  type MCPServersState,
  McpClientManager,
  type McpClientManagerOptions,
} from "./mcp-client-manager.js";
export type { TransportOptions } from "./server-records.js";
export {
  Agent,
  type AgentContext,
  type McpServerOptions,
  type WithMcp,
  type WithMcpOptions,
  withMcp,
} from "./with-mcp.js";
