/** Response streams and listening streams that end, break and resume. */
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { event, openEvents, result, type Script, sendJson } from "../fixtures/servers/http-scripted.js";
import { call, envelope, initialize, initialized, inSession } from "../fixtures/servers/http-session.js";
import { useSetup } from "../fixtures/servers/http-setup.js";
import { waitFor } from "../support/wait-for.js";

const setup = useSetup();
const { start } = setup;

describe("broken streams", () => {
  it.each<[string, (response: ServerResponse) => unknown]>([
    ["ends", (response) => response.end()],
    ["is reset", (response) => setImmediate(() => response.socket?.resetAndDestroy())],
  ])("an answer stream that %s is reported at once", async (_name, cut) => {
    const server = await start((_request, response) => {
      openEvents(response);
      response.write(": hello\n\n");
      cut(response);
    });
    const { transport, cuts } = await setup.streamable(`${server.url}/mcp`);
    await transport.send(call("a"));
    await waitFor(() => cuts.length > 0);
    expect(cuts).toMatchObject([
      { id: "a", error: { code: "STREAM_CUT", outcome: "unknown", retryable: true } },
    ]);
  });

  it("a stateless stream with event ids is not resumed", async () => {
    const server = await start((_request, response) => {
      openEvents(response);
      response.end("id: 7\nretry: 200\ndata:\n\n");
    });
    const { transport, cuts } = await setup.streamable(`${server.url}/mcp`);
    await transport.send(call("a", envelope));
    await waitFor(() => cuts.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(server.seen.map(({ method }) => method)).toEqual(["POST"]);
    expect(cuts).toHaveLength(1);
  });

  it("a JSON answer that breaks off is a cut", async () => {
    const server = await start((_request, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write("{", () => response.socket?.destroy());
    });
    const { transport } = await setup.streamable(`${server.url}/mcp`);
    await expect(transport.send(call(1))).rejects.toMatchObject({ code: "STREAM_CUT", outcome: "unknown" });
  });

  it("resumes with Last-Event-ID after the server's delay, and delivers the answer", async () => {
    const server = await start(
      inSession(({ method, headers, message }, response) => {
        if (method === "POST" && message?.id === undefined) return response.writeHead(202).end();
        if (method === "GET" && headers["last-event-id"] === undefined) return response.writeHead(405).end();
        openEvents(response);
        if (method === "POST") return response.end("id: e-1\nretry: 300\ndata:\n\n");
        return response.end(event(result("a", { ok: true })));
      }),
    );
    const { transport, cuts, messages } = await setup.streamable(`${server.url}/mcp`);
    await transport.send(initialize);
    const began = performance.now();
    await transport.send(call("a"));
    await waitFor(() => messages.length === 2);
    expect(performance.now() - began).toBeGreaterThan(280);
    expect(messages[1]).toEqual(result("a", { ok: true }));
    expect(server.seen.at(-1)?.headers).toMatchObject({ "last-event-id": "e-1", "mcp-session-id": "s-1" });
    expect(cuts).toEqual([]);
  });

  it.each([
    ["refused", (response: ServerResponse) => response.writeHead(500).end(), "STREAM_CUT"],
    ["broken", (response: ServerResponse) => response.socket?.destroy(), "STREAM_CUT"],
    [
      "answered by a lost session",
      (r: ServerResponse) =>
        sendJson(r, { jsonrpc: "2.0", id: null, error: { code: -32001, message: "" } }, { status: 404 }),
      "SESSION_LOST",
    ],
  ])("cuts the request when its resume is %s", async (_name, refuse, code) => {
    const server = await start(
      inSession(({ method }, response) => {
        if (method === "GET") return refuse(response);
        openEvents(response);
        return response.end("id: e-1\nretry: 1\ndata:\n\n");
      }),
    );
    const { transport, cuts, lost } = await setup.streamable(`${server.url}/mcp`);
    await transport.send(initialize);
    await transport.send(call("a"));
    await waitFor(() => cuts.length > 0);
    expect(cuts).toMatchObject([{ id: "a", error: { code, outcome: "unknown" } }]);
    expect(lost).toHaveLength(code === "SESSION_LOST" ? 1 : 0);
    const gets = () => server.seen.filter(({ method }) => method === "GET").length;
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(gets()).toBe(1);
  });

  it("stops resuming the response of a cancelled request", async () => {
    const server = await start(
      inSession(({ method, message }, response) => {
        if (method === "POST" && message?.id === undefined) return response.writeHead(202).end();
        openEvents(response);
        return response.end("id: e-1\nretry: 100\ndata:\n\n");
      }),
    );
    const { transport, cuts } = await setup.streamable(`${server.url}/mcp`);
    await transport.send(initialize);
    await transport.send(call("a"));
    const gets = () => server.seen.filter(({ method }) => method === "GET").length;
    await waitFor(() => gets() >= 2, { label: "two polls" });
    await transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "a" } });
    const polls = gets();
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(gets() - polls).toBeLessThanOrEqual(1);
    expect(cuts).toEqual([]);
  });
});

describe("the listening stream", () => {
  const listenable = (get: Script) =>
    inSession((request, response) => {
      if (request.method === "GET") return get(request, response);
      if (request.message?.id === undefined) return response.writeHead(202).end();
      return sendJson(response, result(request.message.id));
    });

  it("is requested after the handshake, on a socket that was opened before", async () => {
    const held = { accept: () => {} };
    const server = await start(
      inSession((request, response) => {
        if (request.method === "GET") return openEvents(response);
        if (request.message?.id !== undefined) return sendJson(response, result(request.message.id));
        held.accept = () => response.writeHead(202).end();
        return undefined;
      }),
    );
    const { transport } = await setup.streamable(`${server.url}/mcp`);
    await transport.send(initialize);
    const states: string[] = [];
    transport.onstream = (state) => states.push(state);
    const sent = transport.send(initialized);
    await waitFor(() => server.sockets.size === 2 && server.seen.length === 2);
    expect(server.seen.map(({ method }) => method)).toEqual(["POST", "POST"]);
    held.accept();
    await sent;
    await waitFor(() => states.includes("open"));
    expect(states).toEqual(["requested", "open"]);
    expect(server.seen.map(({ method }) => method)).toEqual(["POST", "POST", "GET"]);
    expect(server.sockets.size).toBe(2);
  });

  it("is not requested if the server rejects the handshake", async () => {
    const server = await start(
      inSession((request, response) => {
        if (request.message?.id !== undefined) return sendJson(response, result(request.message.id));
        return response.writeHead(400).end();
      }),
    );
    const { transport, errors } = await setup.streamable(`${server.url}/mcp`);
    await transport.send(initialize);
    await expect(transport.send(initialized)).rejects.toMatchObject({ status: 400 });
    await expect(transport.send(call(1))).resolves.toBeUndefined();
    expect(server.seen.map(({ method }) => method)).toEqual(["POST", "POST", "POST"]);
    expect(errors).toEqual([]);
  });

  it("reopens after failures and after a drop", async () => {
    let gets = 0;
    const server = await start(
      listenable((_request, response) => {
        gets++;
        if (gets === 1) return response.writeHead(503, { "retry-after": "0" }).end();
        openEvents(response);
        if (gets === 2) return response.end("retry: 100\n\n");
        return response.write(event({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }));
      }),
    );
    const { transport, messages } = await setup.streamable(`${server.url}/mcp`);
    await transport.send(initialize);
    await transport.send(initialized);
    await waitFor(() => messages.some((message) => "method" in message));
    expect(gets).toBe(3);
  });

  it("reports a lost session only if it has worked before", async () => {
    let gets = 0;
    const server = await start(
      listenable((_request, response) => {
        if (++gets > 1) return response.writeHead(404).end();
        openEvents(response);
        return response.end("retry: 100\n\n");
      }),
    );
    const { transport, lost } = await setup.streamable(`${server.url}/mcp`);
    await transport.send(initialize);
    await transport.send(initialized);
    await waitFor(() => lost.length > 0);
    expect(lost).toMatchObject([{ code: "SESSION_LOST", status: 404 }]);
  });

  it("treats a first 404 as a server without a listening stream", async () => {
    const server = await start(
      listenable((_request, response) => response.writeHead(404).end("Cannot GET /mcp")),
    );
    const { transport, lost, errors } = await setup.streamable(`${server.url}/mcp`);
    await transport.send(initialize);
    await transport.send(initialized);
    await waitFor(() => server.seen.some(({ method }) => method === "GET"));
    await transport.send(call(1));
    expect(lost).toEqual([]);
    expect(errors).toEqual([]);
  });
});
