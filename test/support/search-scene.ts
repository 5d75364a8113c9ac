/** A port and a server with one tool with many kinds of arguments. */
import { createToolport, type ToolportOptions } from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";

export const search = {
  type: "object",
  properties: {
    query: { type: "string" },
    limit: { type: "integer", maximum: 100 },
    after: { type: "string", default: "start" },
    tags: { type: "array", items: { type: "string" } },
  },
  required: ["query"],
  additionalProperties: false,
};

export const tool = (inputSchema: Record<string, unknown>): TestTool => ({
  inputSchema: inputSchema as never,
  handler: (args) => JSON.stringify(args),
});

export async function openSearch(options: Omit<ToolportOptions, "mcpServers"> = {}, schema = search) {
  const server = createTestServer({ era: "modern", tools: { search: tool(schema) } });
  const toolport = createToolport({ mcpServers: { s: server.memory() }, ...options });
  await toolport.connect();
  return {
    server,
    toolport,
    sent: () => server.calls.map(({ args }) => args),
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await server.close();
    },
  };
}

/** Repairable arguments, and their repaired form. */
export const MESSY = { query: "x", limit: "5", after: null };
export const REPAIRED = { query: "x", limit: 5 };
