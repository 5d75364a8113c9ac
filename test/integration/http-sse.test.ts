/** Legacy HTTP+SSE: the SDK's client over our transport, and failures of such servers. */
import type { ServerResponse } from "node:http";
import { Client } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { describe, expect, it } from "vitest";
import { SecretRecord } from "../../packages/core/src/config/known-secrets.js";
import {
  event,
  openEvents,
  result,
  type Script,
  type SeenRequest,
  startScriptedServer,
} from "../fixtures/servers/http-scripted.js";
import { useSetup } from "../fixtures/servers/http-setup.js";
import { takeLeakSnapshot, waitForNoLeaks } from "../support/leaks.js";
import { waitFor } from "../support/wait-for.js";

const setup = useSetup();
const { start } = setup;
const call = { jsonrpc: "2.0" as const, id: 1, method: "tools/call", params: {} };

/** A server whose stream the test controls. */
async function startHeld(post: Script = (_request, response) => response.writeHead(202).end()) {
  const streams: ServerResponse[] = [];
  const server = await start((request, response) => {
    if (request.method !== "GET") return post(request, response);
    openEvents(response);
    streams.push(response);
    return response.write("event: endpoint\ndata: /messages?session=1\n\n");
  });
  return { server, streams, url: `${server.url}/sse` };
}

it("lists and calls over the SDK's own server", async () => {
  const sessions = new Map<string, SSEServerTransport>();
  const server = await start(async ({ method, path, message }: SeenRequest, response) => {
    if (method === "GET") {
      const transport = new SSEServerTransport("/messages", response);
      sessions.set(transport.sessionId, transport);
      const mcp = new McpServer({ name: "old", version: "1.0.0" });
      mcp.registerTool("hello", { description: "Says hello." }, () => ({
        content: [{ type: "text", text: "hello" }],
      }));
      return mcp.connect(transport);
    }
    const session = new URL(path, "http://127.0.0.1").searchParams.get("sessionId") ?? "";
    await sessions.get(session)?.handleMessage(message);
    return response.writeHead(202).end("Accepted");
  });
  const headers = new SecretRecord({ "x-key": "secret" });
  const { transport } = await setup.sse(`${server.url}/sse`, { headers });
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(transport);
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["hello"]);
  expect(await client.callTool({ name: "hello" })).toMatchObject({ content: [{ text: "hello" }] });
  expect(new Set(server.seen.map(({ headers: sent }) => sent["x-key"]))).toEqual(new Set(["secret"]));
  expect("pid" in transport).toBe(false);
  await client.close();
  await setup.http.close();
  await waitFor(() => server.sockets.size === 0);
});

describe("the event stream", () => {
  it.each([
    ["ends", (stream: ServerResponse) => stream.end()],
    ["breaks", (stream: ServerResponse) => stream.socket?.resetAndDestroy()],
  ])("closes the transport when it %s, after what was on it, and is not opened again", async (how, end) => {
    const { server, streams, url } = await startHeld();
    const observed = await setup.sse(url);
    await observed.transport.start();
    streams[0]?.write(`retry: 50\n${event(result(1))}`);
    if (how === "ends") end(streams[0]!);
    else {
      await waitFor(() => observed.messages.length === 1);
      end(streams[0]!);
    }
    await waitFor(() => observed.closes > 0);
    expect(observed.messages).toEqual([result(1)]);
    expect(observed.transport.closeError).toMatchObject({ code: "STREAM_CUT", retryable: true });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(server.seen).toHaveLength(1);
    expect(observed.closes).toBe(1);
    await expect(observed.transport.send(call)).rejects.toMatchObject({ code: "CLOSED", outcome: "unsent" });
  });

  it("drops a large event and continues", async () => {
    const { streams, url } = await startHeld();
    const { transport, discards, messages } = await setup.sse(url, { maxMessageBytes: 10_000 });
    await transport.start();
    streams[0]?.write(event(result("big", { text: "x".repeat(30_000) })));
    streams[0]?.write(event(result("next")));
    await waitFor(() => messages.length > 0);
    expect(messages).toEqual([result("next")]);
    expect(discards).toMatchObject([{ id: "big", error: { code: "MESSAGE_TOO_LARGE" } }]);
  });

  it("is closed when an event does not end", async () => {
    const { streams, url } = await startHeld();
    const observed = await setup.sse(url, { maxMessageBytes: 10_000 });
    await observed.transport.start();
    streams[0]?.write(`data: ${"x".repeat(100_000)}`);
    await waitFor(() => observed.closes > 0);
    expect(observed.transport.closeError).toMatchObject({ code: "MESSAGE_TOO_LARGE" });
  });
});

describe("start()", () => {
  it.each<[string, Script, Record<string, unknown>]>([
    [
      "an endpoint of another origin",
      (_r, s) => {
        openEvents(s);
        return s.write("event: endpoint\ndata: http://127.0.0.2:9/messages\n\n");
      },
      { code: "ADDRESS_REFUSED" },
    ],
    [
      "an endpoint that is not a URL",
      (_r, s) => {
        openEvents(s);
        return s.write("event: endpoint\ndata: http://[/\n\n");
      },
      { code: "BAD_RESPONSE" },
    ],
    [
      "a stream that ends at once",
      (_r, s) => {
        openEvents(s);
        return s.end();
      },
      { code: "STREAM_CUT" },
    ],
    [
      "HTML",
      (_r, s) => s.writeHead(200, { "content-type": "text/html" }).end("<html>"),
      { code: "BAD_RESPONSE" },
    ],
    [
      "503",
      (_r, s) => s.writeHead(503, { "retry-after": "2" }).end(),
      { code: "HTTP_STATUS", status: 503, retryAfterMs: 2_000 },
    ],
    ["404", (_r, s) => s.writeHead(404).end(), { code: "HTTP_STATUS", status: 404, outcome: "unsent" }],
    ["401", (_r, s) => s.writeHead(401).end(), { code: "AUTH_REQUIRED", status: 401 }],
    ["403", (_r, s) => s.writeHead(403).end(), { code: "FORBIDDEN", status: 403 }],
    [
      "a redirect to another origin",
      (_r, s) => s.writeHead(307, { location: "http://127.0.0.2:9/" }).end(),
      { code: "HTTP_STATUS", status: 307 },
    ],
  ])("fails on %s", async (_name, script, expected) => {
    const server = await start(script);
    const observed = await setup.sse(`${server.url}/sse`);
    await expect(observed.transport.start()).rejects.toMatchObject(expected);
    expect(server.seen).toHaveLength(1);
    expect(observed.closes).toBe(0);
  });

  it("fails on an unreachable server, and leaves no timer", async () => {
    const server = await startScriptedServer(() => {});
    await server.close();
    const before = takeLeakSnapshot();
    const { transport } = await setup.sse(`${server.url}/sse`);
    await expect(transport.start()).rejects.toMatchObject({ code: "UNREACHABLE", errno: "ECONNREFUSED" });
    await waitForNoLeaks(before);
  });

  it("is ended by close()", async () => {
    const server = await start((_request, response) => openEvents(response));
    const { transport } = await setup.sse(`${server.url}/sse`);
    const failed = expect(transport.start()).rejects.toMatchObject({ code: "CLOSED" });
    await waitFor(() => server.seen.length === 1);
    await transport.close();
    await failed;
    await waitFor(() => server.sockets.size === 0);
  });
});

describe("send()", () => {
  it.each([
    [404, { code: "SESSION_LOST", outcome: "unsent" }],
    [400, { code: "SESSION_LOST", outcome: "unknown" }],
    [401, { code: "AUTH_REQUIRED" }],
    [403, { code: "FORBIDDEN" }],
    [413, { code: "HTTP_STATUS", status: 413, retryable: false }],
    [429, { code: "HTTP_STATUS", status: 429, retryable: true, outcome: "unsent" }],
    [500, { code: "HTTP_STATUS", status: 500, retryable: true, outcome: "unknown" }],
  ])("rejects on %i", async (status, expected) => {
    const { url } = await startHeld((_request, response) => response.writeHead(status).end("no"));
    const observed = await setup.sse(url);
    await observed.transport.start();
    await expect(observed.transport.send(call)).rejects.toMatchObject(expected);
    expect(observed.closes).toBe(0);
  });
});
