/** `toolport/serve`: many MCP servers as one, for every MCP client. */
export { createGateway, type Gateway } from "./gateway.js";
export type { GatewayOptions } from "./gateway-options.js";
