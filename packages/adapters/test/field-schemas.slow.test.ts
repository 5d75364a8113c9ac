/** The schemas that servers really list, over every transport, and what the genuine adapters of LangChain and the AI SDK do with them. */
import { createToolport, type ServerEntry } from "toolport";
import { createTestServer, type TestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { createFieldServer, FIELD_SCHEMAS, type FieldSchema } from "../../../test/support/field-schemas.js";

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

interface Peers {
  fetchPeer(contender: string): Promise<void>;
  importPeer(contender: string, name: string): Promise<unknown>;
}
const { fetchPeer, importPeer } = (await import("../../../bench/peers.mjs" as string)) as Peers;

/** Lists the only tool of a server and calls it. */
type Peer = (url: string, field: FieldSchema) => Promise<unknown>;

async function loadLangChain(): Promise<Peer> {
  const { MultiServerMCPClient } = (await importPeer("langchain", "@langchain/mcp-adapters")) as {
    MultiServerMCPClient: new (
      servers: object,
    ) => {
      getTools(): Promise<{ invoke(args: object): Promise<unknown> }[]>;
      close(): Promise<void>;
    };
  };
  return async (url, { arguments: args }) => {
    const client = new MultiServerMCPClient({ mcpServers: { field: { transport: "http", url } } });
    try {
      const [tool] = await client.getTools();
      return await tool!.invoke(args);
    } finally {
      await client.close();
    }
  };
}

async function loadAiSdk(): Promise<Peer> {
  const { createMCPClient } = (await importPeer("ai-sdk", "@ai-sdk/mcp")) as {
    createMCPClient(options: object): Promise<{
      tools(): Promise<Record<string, { execute(args: object, options: object): Promise<unknown> }>>;
      close(): Promise<void>;
    }>;
  };
  return async (url, { name, arguments: args }) => {
    const client = await createMCPClient({ transport: { type: "http", url } });
    try {
      return await (await client.tools())[name]!.execute(args, { toolCallId: "1", messages: [] });
    } finally {
      await client.close();
    }
  };
}

/** Waits for ever with the name `__proto__`. */
const HANGS = new Set(["malformed_names"]);
const AT_ONCE = 10;

test.each([
  ["langchain", loadLangChain, 150],
  ["ai-sdk", loadAiSdk, 290],
] as const)(
  "the genuine adapter, %s, calls fewer tools, even if each has a server of its own",
  async (contender, load, least) => {
    await fetchPeer(contender);
    const call = await load();
    const called: string[] = [];
    const tryTool = async (field: FieldSchema) => {
      const { name, schema } = field;
      await using server = createTestServer({
        era: "legacy",
        tools: { [name]: { inputSchema: schema, handler: () => "called" } },
      });
      await call((await server.http()).url, field).catch(() => {});
      if (server.calls.length > 0) called.push(name);
    };
    const fields = FIELD_SCHEMAS.filter(({ name }) => !HANGS.has(name));
    for (let start = 0; start < fields.length; start += AT_ONCE)
      await Promise.all(fields.slice(start, start + AT_ONCE).map(tryTool));
    expect(called.length).toBeGreaterThan(least);
    expect(called.length).toBeLessThan(fields.length);
  },
  TIMEOUT_MS,
);
