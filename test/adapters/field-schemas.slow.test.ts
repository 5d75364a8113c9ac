/** The schemas that servers really list, over every transport. */
import { createToolport, type ServerEntry } from "toolport";
import type { TestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { createFieldServer, FIELD_SCHEMAS } from "../support/field-schemas.js";

const TIMEOUT_MS = 300_000;
const ARGUMENTS = Object.fromEntries(FIELD_SCHEMAS.map((field) => [field.name, field.arguments]));

const TRANSPORTS: Record<string, (server: TestServer) => Promise<ServerEntry>> = {
  stdio: async (server) => (await server.stdio()).entry,
  "modern HTTP": async (server) => (await server.http({ era: "modern" })).entry,
  "legacy HTTP": async (server) => (await server.http({ era: "legacy" })).entry,
  "HTTP+SSE": async (server) => (await server.sse()).entry,
  WebSocket: async (server) => (await server.webSocket()).entry,
};

test.each(Object.entries(TRANSPORTS))(
  "every tool is listed and called over %s",
  async (_name, entryOf) => {
    await using server = createFieldServer();
    await using toolport = createToolport({ mcpServers: { field: await entryOf(server) } });
    await toolport.connect();
    expect(toolport.snapshot().withheldTools).toEqual([]);
    for (const { name, arguments: args } of FIELD_SCHEMAS) await toolport.callTool(`field__${name}`, args);
    expect(Object.fromEntries(server.calls.map(({ name, args }) => [name, args]))).toEqual(ARGUMENTS);
  },
  TIMEOUT_MS,
);
