/** If Streamable HTTP is refused, HTTP+SSE is tried at the same URL, then at `/sse` beside `/mcp`. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { type ConnectionError, createToolport, isUnauthorized, type ServerEntry } from "toolport";
import { MultiServerMCPClient } from "toolport/langchain";
import { describe, expect, it } from "vitest";
import { type Script, sendJson, startScriptedServer } from "../fixtures/servers/http-scripted.js";
import { waitFor } from "../support/wait-for.js";

const refuse =
  (status: number, body = "no"): Script =>
  (_request, response) =>
    response.writeHead(status).end(body);

const page: Script = (_request, response) =>
  response.writeHead(200, { "content-type": "text/html" }).end("<p>Welcome</p>");

interface OldServer {
  /** Where the event stream is. */
  readonly path: string;
  /** The response to everything else. */
  readonly otherwise?: Script;
}

/** A server of the SDK that speaks only HTTP+SSE, at one path. */
async function startOldServer({ path, otherwise = refuse(404) }: OldServer) {
  const sessions = new Map<string, SSEServerTransport>();
  const server = await startScriptedServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.path, "http://127.0.0.1");
    const session = sessions.get(searchParams.get("sessionId") ?? "");
    if (request.method === "POST" && session !== undefined) {
      await session.handleMessage(request.message);
      return response.writeHead(202).end("Accepted");
    }
    if (request.method !== "GET" || pathname !== path) return otherwise(request, response);
    const transport = new SSEServerTransport("/messages", response);
    sessions.set(transport.sessionId, transport);
    const mcp = new McpServer({ name: "old", version: "1.0.0" });
    mcp.registerTool("hello", {}, () => ({ content: [{ type: "text", text: "hello" }] }));
    return mcp.connect(transport);
  });
  return {
    url: server.url,
    /** All requests except messages of a session. */
    asked: () =>
      server.seen.filter((one) => !one.path.includes("sessionId")).map((one) => `${one.method} ${one.path}`),
    forget: () => server.seen.splice(0),
    cut: () => server.sockets.forEach((socket) => void socket.destroy()),
    headers: () => server.seen.map(({ headers }) => headers["x-key"]),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

const connect = async (old: ServerEntry) => {
  await using toolport = createToolport({ mcpServers: { old } });
  return (await toolport.connect()).servers["old"]!;
};

describe("a server that has its stream at /sse", () => {
  it.each<[string, Script]>([
    ["answers 404", refuse(404)],
    ["answers 405", refuse(405)],
    ["answers 400", refuse(400)],
    ["answers 415", refuse(415)],
    [
      "accepts no POST and has a page there",
      (request, response) => (request.method === "POST" ? refuse(405) : page)(request, response),
    ],
  ])("is found from /mcp when it %s", async (_how, otherwise) => {
    await using server = await startOldServer({ path: "/sse", otherwise });
    await using toolport = createToolport({
      mcpServers: { old: { url: `${server.url}/mcp`, headers: { "x-key": "secret" } } },
    });
    expect((await toolport.callTool("old__hello")).text).toBe("hello");
    expect(server.asked().slice(-2)).toEqual(["GET /mcp", "GET /sse"]);
    expect(new Set(server.headers())).toEqual(new Set(["secret"]));
    expect(toolport.snapshot().servers["old"]?.transport).toBe("sse");
  });

  it.each([
    ["/api/v1/mcp", "/api/v1/sse", "/api/v1/sse"],
    ["/mcp?tenant=a", "/sse", "/sse?tenant=a"],
    ["/mcp/", "/sse/", "/sse/"],
  ])("is found from %s", async (configured, path, asked) => {
    await using server = await startOldServer({ path });
    expect(await connect({ url: `${server.url}${configured}` })).toMatchObject({
      state: "ready",
      toolCount: 1,
    });
    expect(server.asked().at(-1)).toBe(`GET ${asked}`);
  });

  it("is found by transport auto, and by the LangChain client", async () => {
    await using server = await startOldServer({ path: "/sse" });
    expect(await connect({ transport: "auto", url: `${server.url}/mcp` })).toMatchObject({ state: "ready" });
    await using client = new MultiServerMCPClient({ old: { url: `${server.url}/mcp` } });
    const [hello] = await client.getTools();
    expect(await hello!.invoke({})).toBe("hello");
  });

  it("is remembered: a reconnect goes to it directly", async () => {
    await using server = await startOldServer({ path: "/sse" });
    await using toolport = createToolport({ mcpServers: { old: { url: `${server.url}/mcp` } } });
    await toolport.connect();
    server.forget();
    server.cut();
    await waitFor(() => server.asked().length > 0);
    expect((await toolport.callTool("old__hello")).text).toBe("hello");
    expect(new Set(server.asked())).toEqual(new Set(["GET /sse"]));
  });

  it.each([
    ["the fallback is off", { automaticSSEFallback: false }, "/mcp", refuse(404)],
    ["the URL does not end in /mcp", {}, "/rpc", refuse(404)],
    ["a modern revision is pinned", { protocol: { pin: "2026-07-28" } } as const, "/mcp", refuse(404)],
    [
      "an MCP server refused the handshake",
      {},
      "/mcp",
      ((_request, response) =>
        sendJson(
          response,
          { jsonrpc: "2.0", id: null, error: { code: -32000, message: "no" } },
          { status: 400 },
        )) as Script,
    ],
    ["credentials are missing", {}, "/mcp", refuse(401)],
    ["the server is busy", {}, "/mcp", refuse(429)],
  ])("is not tried when %s", async (_why, options, path, otherwise) => {
    await using server = await startOldServer({ path: "/sse", otherwise });
    const { error } = await connect({ url: `${server.url}${path}`, ...options });
    expect(error).toBeDefined();
    expect(server.asked()).not.toContain("GET /sse");
  });

  it("that needs a login reports it", async () => {
    await using server = await startOldServer({
      path: "/none",
      otherwise: (request, response) => refuse(request.path === "/sse" ? 401 : 404)(request, response),
    });
    const { error } = await connect({ url: `${server.url}/mcp` });
    expect(isUnauthorized(error)).toBe(true);
  });
});

it("the stream at the configured URL comes first", async () => {
  await using server = await startOldServer({ path: "/mcp", otherwise: refuse(405) });
  expect(await connect({ url: `${server.url}/mcp` })).toMatchObject({ state: "ready" });
  expect(server.asked()).not.toContain("GET /sse");
});

it("a server without any endpoint causes one error with all attempts", async () => {
  await using server = await startScriptedServer(refuse(404)).then((one) => ({
    ...one,
    [Symbol.asyncDispose]: () => one.close(),
  }));
  const { error } = await connect({ url: `${server.url}/mcp` });
  expect(error).toMatchObject({ code: "UNREACHABLE", status: 404, outcome: "unsent" });
  expect(error?.message).toContain("/sse");
  expect((error as ConnectionError).attempts?.length).toBe(3);
});
