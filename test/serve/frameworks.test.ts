/** `gateway.node` in frameworks that have read the body or changed the path of a request. */
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createToolport } from "toolport";
import { createGateway, type Gateway } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { describe, expect, it } from "vitest";

const PING = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });

/** Sends a ping to a server with these routes. */
async function ping(routes: (gateway: Gateway) => RequestListener, path = "/mcp") {
  await using upstream = createTestServer({ tools: {} });
  const toolport = createToolport({ mcpServers: { one: upstream.memory() } });
  const gateway = createGateway(toolport, { auth: false });
  const server = createServer(routes(gateway)).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: PING,
      signal: AbortSignal.timeout(10_000),
    });
    return { status: response.status, body: await response.text() };
  } finally {
    server.closeAllConnections();
    server.close();
    await gateway.close();
    await toolport.close();
  }
}

const OK = { status: 200, body: expect.stringContaining('"result":{}') };

describe("a body that was read before", () => {
  const reads = (pass: (request: IncomingMessage, body: string) => IncomingMessage) => (gateway: Gateway) => {
    const route: RequestListener = async (request, response) => {
      const body = await text(request);
      gateway.node(pass(request, body), response);
    };
    return route;
  };

  it("is answered at once with what to do, if it is not passed on", async () => {
    expect(await ping(reads((request) => request))).toEqual({
      status: 500,
      body: expect.stringContaining("Object.assign(request.raw, { body: request.body })"),
    });
  });

  it.each<[string, (body: string) => unknown]>([
    ["an object", JSON.parse],
    ["text", String],
    ["a Buffer", Buffer.from],
    ["a Uint8Array", (body) => new TextEncoder().encode(body)],
  ])("is passed on as %s", async (_, convert) => {
    expect(await ping(reads((request, body) => Object.assign(request, { body: convert(body) })))).toEqual(OK);
  });

  it("is not an empty object that a parser sets for bodies of other types", async () => {
    const routes = (gateway: Gateway): RequestListener => {
      return (request, response) => gateway.node(Object.assign(request, { body: {} }), response);
    };
    expect(await ping(routes)).toEqual(OK);
  });
});

describe("a path that a framework has shortened, as Express does", () => {
  const strips = (prefix: string) => (gateway: Gateway) => {
    const route: RequestListener = (request, response) => {
      const originalUrl = request.url!;
      const url = originalUrl.slice(prefix.length).replace(/^(?!\/)/, "/");
      gateway.node(Object.assign(request, { originalUrl, url }), response);
    };
    return route;
  };

  it.each<[string, string, string]>([
    ["not at all", "", "/mcp"],
    ["by the whole path: app.use", "/mcp", "/mcp"],
    ["by the whole path, with a query", "/mcp", "/mcp?a=b"],
    ["by the path of a router", "/api", "/api/mcp"],
  ])("%s", async (_, prefix, path) => {
    expect(await ping(strips(prefix), path)).toEqual(OK);
  });

  it("is known for the other paths of the gateway", async () => {
    expect(await ping(strips("/healthz"), "/healthz")).toEqual({ status: 200, body: "ok" });
    expect(await ping(strips("/other"), "/other/x")).toEqual({ status: 404, body: "Not found" });
  });
});
