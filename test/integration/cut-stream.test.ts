/** A response stream that ends early fails the call at once, or the client resumes it where that is safe. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type ConnectionError, createToolport } from "toolport";
import { describe, expect, test } from "vitest";

interface Request {
  id?: string | number;
  method: string;
  params?: { name?: string; protocolVersion?: string };
}

type Cut = (response: ServerResponse, request: Request) => void;

const SSE = { "content-type": "text/event-stream" };

/** A legacy server without sessions. Its tool `cut` ends the response stream in the given way. */
async function startCuttingServer(
  cut: Cut,
  onGet?: (request: IncomingMessage, response: ServerResponse) => void,
) {
  const calls = { cut: 0, list: 0, cutLists: 0 };
  const server = createServer(async (request, response) => {
    if (request.method === "GET" && onGet !== undefined) return onGet(request, response);
    if (request.method !== "POST") return void response.writeHead(405).end();
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const message = JSON.parse(body) as Request;
    const reply = (result: object) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
    };
    if (message.id === undefined) return void response.writeHead(202).end();
    if (message.method === "initialize") {
      const serverInfo = { name: "cutting", version: "1.0.0" };
      return reply({
        protocolVersion: message.params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo,
      });
    }
    if (message.method === "tools/list") {
      calls.list += 1;
      if (calls.cutLists-- > 0) return cut(response, message);
      return reply({ tools: ["cut", "fine"].map((name) => ({ name, inputSchema: { type: "object" } })) });
    }
    if (message.method === "tools/call" && message.params?.name === "cut") {
      calls.cut += 1;
      return cut(response, message);
    }
    if (message.method === "tools/call") return reply({ content: [{ type: "text", text: "fine" }] });
    response.writeHead(200, { "content-type": "application/json" });
    response.end(
      JSON.stringify({
        jsonrpc: "2.0",
        id: message.id,
        error: { code: -32601, message: "Method not found" },
      }),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/mcp`, calls, [Symbol.asyncDispose]: close };
}

const ends: Record<string, Cut> = {
  "ends cleanly": (response) => void response.writeHead(200, SSE).end(": nothing\n\n"),
  "is reset": (response) => {
    response.writeHead(200, SSE).write(": soon\n\n");
    setImmediate(() => response.socket?.resetAndDestroy());
  },
  "ends in the middle of an event": (response) => {
    response.writeHead(200, SSE).end('data: {"jsonrpc": "2.0", "id');
  },
};

describe.each(Object.keys(ends))("a stream that %s", (how) => {
  test("fails the call within a second, once, and the next call works", async () => {
    await using server = await startCuttingServer(ends[how]!);
    await using toolport = createToolport({ mcpServers: { it: { url: server.url } } });
    await toolport.connect();
    const error = await toolport.callTool("it__cut").then(
      () => undefined,
      (reason: ConnectionError) => reason,
    );
    expect(error).toMatchObject({
      name: "ConnectionError",
      server: "it",
      tool: "cut",
      outcome: "unknown",
      retryable: true,
    });
    expect(server.calls.cut).toBe(1);
    expect((await toolport.callTool("it__fine")).text).toBe("fine");
  });

  test("is requested again where that is safe: a list", async () => {
    await using server = await startCuttingServer(ends[how]!);
    await using toolport = createToolport({ mcpServers: { it: { url: server.url } } });
    await toolport.connect();
    server.calls.cutLists = 1;
    await toolport.refresh("it");
    expect(await toolport.tools()).toHaveLength(2);
  });
});

test("a stream with event ids is resumed with Last-Event-ID, and the call succeeds", async () => {
  let waiting: Request | undefined;
  await using server = await startCuttingServer(
    (response, request) => {
      waiting = request;
      response.writeHead(200, SSE).end("id: 7\nretry: 100\ndata:\n\n");
    },
    (request, response) => {
      if (request.headers["last-event-id"] !== "7") return void response.writeHead(405).end();
      const result = { content: [{ type: "text", text: "resumed" }] };
      response
        .writeHead(200, SSE)
        .end(`data: ${JSON.stringify({ jsonrpc: "2.0", id: waiting?.id, result })}\n\n`);
    },
  );
  await using toolport = createToolport({ mcpServers: { it: { url: server.url } } });
  expect((await toolport.callTool("it__cut")).text).toBe("resumed");
  expect(server.calls.cut).toBe(1);
});

test("a resume that the server refuses fails the call at once", async () => {
  await using server = await startCuttingServer(
    (response) => void response.writeHead(200, SSE).end("id: 7\nretry: 100\ndata:\n\n"),
    (_request, response) => void response.writeHead(404).end(),
  );
  await using toolport = createToolport({ mcpServers: { it: { url: server.url } } });
  await toolport.connect();
  await expect(toolport.callTool("it__cut")).rejects.toMatchObject({
    name: "ConnectionError",
    outcome: "unknown",
  });
});
