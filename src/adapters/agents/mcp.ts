/** The entry point `toolport/agents/mcp`: the same exports under the path that Cloudflare's documentation imports from. */
export * from "./index.js";
