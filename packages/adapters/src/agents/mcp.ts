/** The entry point `toolport/agents/mcp`: what Cloudflare's documentation imports from `agents/mcp`. */
export { isTransportNotImplemented, isUnauthorized } from "@toolport/base";
