/** The entry point `toolport/agents`: MCP servers for agents with the API of Cloudflare's agents, on any runtime. */
export { isTransportNotImplemented, isUnauthorized } from "../../errors/classify-error.js";
export type { OAuthCallbackOptions, OAuthCallbackResult } from "../../port/oauth-callback.js";
export {
  type DurableObjectSqlStorage,
  type DurableObjectStoreOptions,
  durableObjectStore,
} from "../../state/stores/durable-object/durable-object-store.js";
export { Agent, type AgentContext, type RuntimeContext } from "./agent.js";
export {
  type AddMcpServerResult,
  type AddServerOptions,
  McpClientManager,
  type McpClientManagerOptions,
} from "./mcp-client-manager.js";
export type { HeadersInput, ServerRegistration, TransportOptions } from "./server-records.js";
export type {
  MCPConnectionResult,
  MCPConnectionState,
  MCPDiscoverResult,
  MCPServersState,
} from "./servers-state.js";
export {
  type AnyClass,
  type McpMethods,
  type McpServerOptions,
  type WithMcp,
  type WithMcpOptions,
  withMcp,
} from "./with-mcp.js";
