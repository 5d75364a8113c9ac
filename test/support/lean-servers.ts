/** Small hand-written MCP servers in this process, over the transports that the SDK's server package does not have. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";

interface Request {
  id?: string | number;
  method: string;
  params?: { name?: string; protocolVersion?: string; arguments?: Record<string, unknown> };
}

type Send = (message: object) => void;

const TOOLS = ["echo", "big", "slow"].map((name) => ({ name, inputSchema: { type: "object" } }));
const text = (value: unknown) => ({ content: [{ type: "text", text: String(value) }] });

/** Answers one message of the legacy wire. Tools: echo{text}, big{bytes}, slow{ms}. */
export function answerLean({ id, method, params = {} }: Request, send: Send): void {
  if (id === undefined) return;
  const reply = (result: object) => send({ jsonrpc: "2.0", id, result });
  const args = params.arguments ?? {};
  switch (method === "tools/call" ? params.name : method) {
    case "initialize":
      return reply({
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "lean", version: "1.0.0" },
      });
    case "ping":
      return reply({});
    case "tools/list":
      return reply({ tools: TOOLS });
    case "echo":
      return reply(text(args["text"]));
    case "big":
      return reply(text("x".repeat(Number(args["bytes"]))));
    case "slow":
      return void setTimeout(() => reply(text("done")), Number(args["ms"]));
    default:
      return send({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } });
  }
}

/** A server that runs, and how to end it. `drop` cuts every open connection but goes on listening. */
export interface RunningServer extends AsyncDisposable {
  url: string;
  port: number;
  drop(): void;
  close(): Promise<void>;
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const closeAll = async (server: Server): Promise<void> => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
};

/** Legacy HTTP+SSE at `/sse`; everything else is 404, as such servers answer a Streamable HTTP client. */
export async function startSseServer({ port = 0 } = {}): Promise<RunningServer> {
  const streams = new Map<string, Send>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    if (request.method === "GET" && url.pathname === "/sse") {
      const session = randomUUID();
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`event: endpoint\ndata: /messages?session=${session}\n\n`);
      streams.set(session, (message) =>
        response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`),
      );
      response.on("close", () => streams.delete(session));
      return;
    }
    const send = streams.get(url.searchParams.get("session") ?? "");
    if (request.method !== "POST" || send === undefined) return void response.writeHead(404).end();
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => {
      body += chunk;
    });
    request.on("end", () => {
      response.writeHead(202).end();
      answerLean(JSON.parse(body) as Request, send);
    });
  });
  const actual = await listen(server, port);
  const close = () => closeAll(server);
  return {
    url: `http://127.0.0.1:${actual}/sse`,
    port: actual,
    drop: () => server.closeAllConnections(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** WebSocket at `/mcp/ws`, in the manner of Quarkus. */
export async function startWebSocketServer({ port = 0 } = {}): Promise<RunningServer> {
  const http = createServer();
  const server = new WebSocketServer({ server: http, path: "/mcp/ws" });
  server.on("connection", (socket) => {
    socket.on("error", () => {});
    socket.on("message", (data) => {
      answerLean(JSON.parse(String(data)) as Request, (message) => socket.send(JSON.stringify(message)));
    });
  });
  const actual = await listen(http, port);
  const drop = () => {
    for (const client of server.clients) client.terminate();
  };
  const close = async () => {
    drop();
    server.close();
    await closeAll(http);
  };
  return { url: `ws://127.0.0.1:${actual}/mcp/ws`, port: actual, drop, close, [Symbol.asyncDispose]: close };
}
