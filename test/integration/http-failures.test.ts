/** Failures of HTTP servers, and the error for each. */

import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { SecretRecord } from "../../packages/core/src/config/known-secrets.js";
import {
  openEvents,
  result,
  type Script,
  sendJson,
  startScriptedServer,
} from "../fixtures/servers/http-scripted.js";
import { call, envelope, initialize, inSession } from "../fixtures/servers/http-session.js";
import { useSetup } from "../fixtures/servers/http-setup.js";
import { waitFor } from "../support/wait-for.js";

const setup = useSetup();
const { start } = setup;

describe("statuses", () => {
  it.each([
    [429, "1", { code: "HTTP_STATUS", status: 429, retryable: true, outcome: "unsent", retryAfterMs: 1_000 }],
    [
      503,
      "999999",
      { code: "HTTP_STATUS", status: 503, retryable: true, outcome: "unknown", retryAfterMs: 30_000 },
    ],
    [503, "-1", { code: "HTTP_STATUS", status: 503, retryAfterMs: undefined }],
    [
      500,
      "garbage",
      { code: "HTTP_STATUS", status: 500, retryable: true, outcome: "unknown", retryAfterMs: undefined },
    ],
    [502, undefined, { code: "HTTP_STATUS", status: 502, outcome: "unknown" }],
  ])("%i with Retry-After %s", async (status, retryAfter, expected) => {
    const server = await start((_request, response) => {
      response.writeHead(status, retryAfter === undefined ? {} : { "retry-after": retryAfter });
      response.end("\u001b[31mno\u0007\nspace");
    });
    const { transport } = await setup.streamable(`${server.url}/mcp`);
    const error = await transport.send(call(1)).catch((thrown) => thrown);
    expect(error).toMatchObject(expected);
    expect(error.what).toBe(`The server answered with HTTP ${status}: no space`);
  });

  it("removes echoed secrets from the message", async () => {
    const server = await start(({ headers }, response) =>
      response.writeHead(500).end(`bad token ${headers.authorization} ${headers["x-key"]}`),
    );
    const headers = new SecretRecord({ Authorization: "Bearer canary-1", "X-Key": "canary-2" });
    const { transport } = await setup.streamable(`${server.url}/mcp`, { headers });
    const error = await transport.send(call(1)).catch((thrown) => thrown);
    expect(server.seen[0]?.headers).toMatchObject({ authorization: "Bearer canary-1", "x-key": "canary-2" });
    expect(error.message).toContain("bad token [redacted");
    expect(error.message).not.toContain("canary");
  });

  it.each([
    [404, "gone", { code: "SESSION_LOST", outcome: "unsent", retryable: true, status: 404 }],
    [410, "gone", { code: "SESSION_LOST", outcome: "unknown", retryable: true, status: 410 }],
    [
      400,
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}',
      { code: "SESSION_LOST" },
    ],
  ])("%i in a session means that it is lost", async (status, body, expected) => {
    const server = await start(inSession((_request, response) => sendJson(response, body, { status })));
    const { transport } = await setup.streamable(`${server.url}/mcp`);
    await transport.send(initialize);
    await expect(transport.send(call(1))).rejects.toMatchObject(expected);
  });

  it.each([
    ["400 in a session", inSession, {}, 400, -32602],
    ["404 of the stateless era", (script: Script) => script, envelope, 404, -32601],
  ])(
    "%s with another JSON-RPC error is that error, for the request",
    async (_name, wrap, params, status, code) => {
      const error = { code, message: "no" };
      const server = await start(
        wrap((_r, response) => sendJson(response, { jsonrpc: "2.0", id: null, error }, { status })),
      );
      const { transport, messages } = await setup.streamable(`${server.url}/mcp`);
      if (wrap === inSession) await transport.send(initialize);
      await transport.send(call("mine", params));
      expect(messages.at(-1)).toEqual({ jsonrpc: "2.0", id: "mine", error });
    },
  );

  it.each([400, 401, 403, 404, 405])("%i without a session is left to the SDK", async (status) => {
    const server = await start((_request, response) => response.writeHead(status).end("no"));
    const { transport } = await setup.streamable(`${server.url}/mcp`);
    await expect(transport.send(call(1))).rejects.toMatchObject({ name: "SdkHttpError", status });
  });
});

describe("bodies without an answer", () => {
  it.each<[string, (response: ServerResponse) => unknown, string]>([
    [
      "a captive portal",
      (r) => r.writeHead(200, { "content-type": "text/html" }).end("<html>Sign in"),
      "<html>Sign in",
    ],
    ["204", (r) => r.writeHead(204).end(), "HTTP 204"],
    ["no type", (r) => r.writeHead(200).end("x"), "content type none"],
    ["an empty body", (r) => sendJson(r, ""), "is empty"],
    ["truncated JSON", (r) => sendJson(r, '{"jsonrpc":"2.0","id":'), "is not valid JSON"],
    ["JSON of something else", (r) => sendJson(r, { hello: 1 }), "does not answer"],
    ["an answer to another request", (r) => sendJson(r, result("other")), "does not answer"],
    ["a huge batch", (r) => sendJson(r, new Array(5_000).fill(result(1))), "does not answer"],
    [
      "an unknown character set",
      (r) => r.writeHead(200, { "content-type": "application/json; charset=klingon" }).end("{}"),
      "unknown character set",
    ],
    [
      "an encoding that was not requested",
      (r) => r.writeHead(200, { "content-type": "application/json", "content-encoding": "zstd" }).end("{}"),
      "encoding",
    ],
    [
      "a damaged gzip",
      (r) =>
        r.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" }).end("no gzip"),
      "damaged",
    ],
  ])("%s", async (_name, answer, shown) => {
    const server = await start((_request, response) => answer(response));
    const { transport } = await setup.streamable(`${server.url}/mcp`);
    const error = await transport.send(call(1)).catch((thrown) => thrown);
    expect(error).toMatchObject({ name: "ConnectionError", code: "BAD_RESPONSE", outcome: "unknown" });
    expect(error.message).toContain(shown);
  });

  it("gives an error without an id to the request", async () => {
    const error = { code: -32700, message: "no" };
    const server = await start((_request, response) =>
      sendJson(response, { jsonrpc: "2.0", id: null, error }),
    );
    const { transport, messages } = await setup.streamable(`${server.url}/mcp`);
    await transport.send(call(5));
    expect(messages).toEqual([{ jsonrpc: "2.0", id: 5, error }]);
  });
});

describe("the connection to the server", () => {
  it("is refused", async () => {
    const server = await startScriptedServer(() => {});
    await server.close();
    const { transport } = await setup.streamable(`${server.url}/mcp?key=canary`);
    const error = await transport.send(call(1)).catch((thrown) => thrown);
    expect(error).toMatchObject({
      code: "UNREACHABLE",
      errno: "ECONNREFUSED",
      outcome: "unsent",
      retryable: true,
    });
    expect(error.message).not.toContain("canary");
  });

  it("has no TLS although TLS is expected", async () => {
    const server = await start(() => {});
    const { transport } = await setup.streamable(`https://127.0.0.1:${server.port}/mcp`);
    await expect(transport.send(call(1))).rejects.toMatchObject({ code: "UNREACHABLE", outcome: "unsent" });
    expect(server.seen).toEqual([]);
  });

  it("breaks after the request was sent", async () => {
    const tcp = createServer((socket) => socket.once("data", () => socket.resetAndDestroy())).listen(
      0,
      "127.0.0.1",
    );
    await once(tcp, "listening");
    const { port } = tcp.address() as { port: number };
    const { transport } = await setup.streamable(`http://127.0.0.1:${port}/mcp`);
    await expect(transport.send(call(1))).rejects.toMatchObject({
      code: "UNREACHABLE",
      outcome: "unknown",
      retryable: true,
    });
    tcp.close();
  });

  it("is aborted by the caller", async () => {
    const server = await start(() => {});
    const { transport, cuts } = await setup.streamable(`${server.url}/mcp`);
    const controller = new AbortController();
    const sent = transport.send(call(1), { requestSignal: controller.signal });
    await waitFor(() => server.seen.length === 1);
    const reason = new Error("enough");
    controller.abort(reason);
    await expect(sent).rejects.toBe(reason);
    await waitFor(() => server.sockets.size === 0);
    expect(cuts).toEqual([]);
  });
});

describe("closing", () => {
  it("ends the calls in flight once, with an error", async () => {
    const server = await start(
      inSession(({ method }, response) => {
        if (method === "GET") openEvents(response);
      }),
    );
    const observed = await setup.streamable(`${server.url}/mcp`);
    const { transport } = observed;
    await transport.send(initialize);
    expect(transport.sessionId).toBe("s-1");
    const sent = transport.send(call(1));
    const failed = expect(sent).rejects.toMatchObject({ code: "CLOSED", outcome: "unknown" });
    await waitFor(() => server.seen.length === 2);
    await Promise.all([transport.close(), transport.close()]);
    await failed;
    expect(observed.closes).toBe(1);
    expect(observed.errors).toEqual([]);
    await expect(transport.send(call(2))).rejects.toMatchObject({ code: "CLOSED", outcome: "unsent" });
    await setup.http.close();
    await waitFor(() => server.sockets.size === 0);
  });

  it("deletes the session in time, even if the server does not answer", async () => {
    const server = await start(inSession(() => {}));
    const { transport } = await setup.streamable(`${server.url}/mcp`);
    await transport.send(initialize);
    await transport.endSession?.();
    expect(server.seen.at(-1)).toMatchObject({ method: "DELETE", headers: { "mcp-session-id": "s-1" } });
  });
});
