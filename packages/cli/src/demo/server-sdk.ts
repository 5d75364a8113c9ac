/** The SDK's server package. The bundle contains it, so that the demo needs nothing that toolport does not install. */
export * from "@modelcontextprotocol/server";
export * from "@modelcontextprotocol/server/stdio";
