/** The entry point `toolport/registry`: servers of an MCP registry, and the entries of `mcpServers` that they become. */

export type { RegistryInput } from "./input-resolver.js";
export { McpRegistryClient } from "./mcp-registry-client.js";
export type {
  AllServersOptions,
  GetServerOptions,
  ListServersOptions,
  McpRegistryClientOptions,
  RegistryCallOptions,
  RegistryWarning,
} from "./registry-options.js";
export type { RegistryPage, RegistryServer, ServerJson, ServerPackage, ServerRemote } from "./server-json.js";
export { VerifiedMcpb, verifyMcpb } from "./start-command.js";
export { type ServerConfigResult, type ToServerConfigOptions, toServerConfig } from "./to-server-config.js";
