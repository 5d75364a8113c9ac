/** Serves the routes with `node:http`. In Next.js each route is a file `app/…/route.ts`, and this file is not needed. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { createTestServer } from "toolport/testing";
import { createApp } from "./routes.ts";

const port = Number(process.env["PORT"] ?? 3000);
const baseUrl = process.env["BASE_URL"] ?? `http://127.0.0.1:${port}`;

// Without MCP_URL: a local server that needs no login.
const local = createTestServer({ tools: { whoami: { handler: () => "a guest of the local server" } } });
const mcpUrl = process.env["MCP_URL"] ?? (await local.http()).url;
const app = createApp({ mcpUrl, baseUrl });

async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(incoming.url ?? "/", baseUrl);
  const route = app.routes[`${incoming.method} ${url.pathname}`];
  const left = new AbortController(); // aborts the agent when the browser leaves
  response.on("close", () => left.abort());
  const hasBody = incoming.method !== "GET" && incoming.method !== "HEAD";
  const request = new Request(url, {
    method: incoming.method ?? "GET",
    headers: Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
    signal: left.signal,
    ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream, duplex: "half" }),
  });
  const answered = (await route?.(request)) ?? new Response("Not found", { status: 404 });
  response.writeHead(answered.status, Object.fromEntries(answered.headers));
  response.end(await answered.text());
}

const server = createServer((incoming, response) => {
  answer(incoming, response).catch((error: unknown) => {
    console.error(error);
    if (!response.headersSent) response.writeHead(500).end("Something went wrong");
  });
});
server.listen(port, "127.0.0.1", () => console.log(`Open ${baseUrl}`));

async function stop(): Promise<void> {
  server.close();
  server.closeAllConnections();
  await app.close();
  await local[Symbol.asyncDispose]();
}
process.once("SIGINT", stop);
process.once("SIGTERM", stop);
