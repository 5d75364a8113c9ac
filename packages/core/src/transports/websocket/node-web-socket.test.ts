/** The WebSocket transport against real servers, well-behaved and broken ones. */
import { createServer as createHttpServer } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import {
  closeAll,
  configOf,
  listen,
  MIB,
  PING,
  PONG,
  serve,
  watch,
} from "../../../../../test/contract/web-socket-peer.js";
import { SecretRecord } from "../../config/known-secrets.js";
import type { HeaderSource } from "../../config/server-config.js";
import { createNodeWebSocketTransport, type WebSocketTimings } from "./node-web-socket.js";

afterEach(closeAll);

async function make(url: string, timings: Partial<WebSocketTimings> = {}, headers?: HeaderSource) {
  return watch(
    await createNodeWebSocketTransport(configOf(url, headers), { maxMessageBytes: 10 * MIB }, timings),
  );
}

describe("createNodeWebSocketTransport", () => {
  it("offers the subprotocol mcp and sends its headers with the upgrade", async () => {
    const peer = await serve((socket) => socket.on("message", () => socket.send(PONG)));
    const { transport, first } = await make(peer.url, {}, async () => ({
      Authorization: "Bearer abc",
      "X-Mine": "1",
    }));
    await transport.start();
    await transport.send(PING);
    expect(await first).toEqual(JSON.parse(PONG));
    expect(peer.upgrades[0]?.headers).toMatchObject({
      authorization: "Bearer abc",
      "x-mine": "1",
      "sec-websocket-protocol": "mcp",
    });
    expect(peer.upgrades[0]?.headers["sec-websocket-extensions"]).toBeUndefined();
  });

  it("connects again without a subprotocol if the server selects none, and remembers that", async () => {
    const peer = await serve((socket) => socket.on("message", () => socket.send(PONG)), { selectNone: true });
    const config = configOf(peer.url);
    for (const upgrades of [2, 3]) {
      const { transport, first } = watch(
        await createNodeWebSocketTransport(config, { maxMessageBytes: MIB }),
      );
      await transport.start();
      await transport.send(PING);
      expect(await first).toEqual(JSON.parse(PONG));
      await transport.close();
      expect(peer.upgrades).toHaveLength(upgrades);
    }
  });

  it("fails the requests that a batch answers at once", async () => {
    const peer = await serve((socket) => socket.on("message", () => socket.send(`[${PONG}]`)));
    const { transport } = await make(peer.url);
    const discarded = new Promise((resolve) => {
      transport.ondiscard = resolve;
    });
    await transport.start();
    await transport.send(PING);
    expect(await discarded).toMatchObject({ id: JSON.parse(PONG).id, error: { code: "BAD_RESPONSE" } });
  });

  it("reads text and binary frames and skips the others with one warning", async () => {
    const peer = await serve((socket) => {
      socket.send("log line");
      socket.send("[1,2]");
      socket.send(Buffer.from([0xff, 0xfe, 0]), { binary: false });
      socket.send('{"jsonrpc":"2.0","id":7,"result":{"half":');
      socket.send(Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"text":"héllo 👋"}}'), { binary: true });
    });
    const { transport, first, errors, received } = await make(peer.url);
    await transport.start();
    expect(await first).toMatchObject({ result: { text: "héllo 👋" } });
    expect(received).toHaveLength(1);
    expect(errors).toMatchObject([{ code: "BAD_RESPONSE", server: "peer" }]);
  });

  it.each([
    [1011, { code: "CLOSED", retryable: true, outcome: "unknown" }],
    [1001, { code: "CLOSED", retryable: true }],
    [1009, { code: "MESSAGE_TOO_LARGE", retryable: false }],
    [4401, { code: "AUTH_REQUIRED", name: "AuthError", status: 401, outcome: "unknown" }],
    [4403, { code: "FORBIDDEN", name: "AuthError", status: 403 }],
    [4999, { code: "CLOSED" }],
  ])("explains close code %i", async (code, expected) => {
    const peer = await serve((socket) => socket.close(code));
    const { transport, closed, closes } = await make(peer.url);
    await transport.start();
    await closed;
    expect(transport.closeError).toMatchObject({ ...expected, server: "peer" });
    await transport.close();
    expect(closes()).toBe(1);
  });

  it("notices a connection that is lost without a close frame", async () => {
    const peer = await serve((socket) => socket.terminate());
    const { transport, closed } = await make(peer.url);
    await transport.start();
    await closed;
    expect(transport.closeError).toMatchObject({ code: "CLOSED", retryable: true });
    await expect(transport.send(PING)).rejects.toMatchObject({ code: "CLOSED", outcome: "unsent" });
  });

  it("closes a connection whose pings are not answered, and keeps one whose pings are", async () => {
    const timings = { pingIntervalMs: 20, pongTimeoutMs: 60 };
    const deaf = await serve(() => {}, { autoPong: false });
    const lost = await make(deaf.url, timings);
    await lost.transport.start();
    await lost.closed;
    expect(lost.transport.closeError).toMatchObject({
      code: "CLOSED",
      what: expect.stringContaining("ping"),
    });

    let pings = 0;
    const { promise: several, resolve } = deferred();
    const peer = await serve((socket) => socket.on("ping", () => ++pings === 3 && resolve()));
    const kept = await make(peer.url, timings);
    await kept.transport.start();
    await several;
    expect(kept.transport.closeError).toBeUndefined();
  });

  it("closes the connection for a frame of 100 MB without reading it", async () => {
    const peer = await serve((socket) =>
      socket.on("message", () => socket.send(Buffer.alloc(100 * MIB, 0x20))),
    );
    const { transport, closed } = await make(peer.url);
    await transport.start();
    const call = transport.send(PING);
    await closed;
    await call;
    expect(transport.closeError).toMatchObject({ code: "MESSAGE_TOO_LARGE", server: "peer" });
  });

  it("accepts a message of 9.9 MiB in fragments of 4 KiB", async () => {
    const text = "x".repeat(Math.floor(9.9 * MIB));
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { text } }));
    const peer = await serve((socket) => {
      for (let at = 0; at < body.length; at += 4096) {
        socket.send(body.subarray(at, at + 4096), { binary: false, fin: at + 4096 >= body.length });
      }
    });
    const { transport, first } = await make(peer.url);
    await transport.start();
    expect(JSON.stringify(await first).length).toBe(body.length);
  });

  it.each([
    [401, { code: "AUTH_REQUIRED", status: 401 }],
    [403, { code: "FORBIDDEN", status: 403 }],
    [404, { code: "HTTP_STATUS", status: 404, retryable: false }],
    [302, { code: "HTTP_STATUS", status: 302, retryable: false }],
    [503, { code: "HTTP_STATUS", status: 503, retryable: true, retryAfterMs: 2_000 }],
  ])("rejects if the upgrade is answered with %i", async (status, expected) => {
    const headers = { "retry-after": "2", location: "ws://127.0.0.1:1/" };
    const url = await listen(
      createHttpServer().on("upgrade", (_request, socket) => {
        const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
        socket.end(`HTTP/1.1 ${status} Whatever\r\n${lines.join("")}content-length: 0\r\n\r\n`);
      }),
    );
    const { transport } = await make(url);
    await expect(transport.start()).rejects.toMatchObject({ ...expected, server: "peer", outcome: "unsent" });
  });

  it("rejects if the connection is refused, and if the response is not a WebSocket upgrade", async () => {
    const url = await listen(createTcpServer());
    await closeAll();
    await expect((await make(url)).transport.start()).rejects.toMatchObject({
      code: "UNREACHABLE",
      errno: "ECONNREFUSED",
      outcome: "unsent",
      retryable: true,
    });
    const liar = await listen(
      createHttpServer().on("upgrade", (_request, socket) =>
        socket.end(
          "HTTP/1.1 101 Switching\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: x\r\n\r\n",
        ),
      ),
    );
    await expect((await make(liar)).transport.start()).rejects.toMatchObject({
      code: "HANDSHAKE_FAILED",
      outcome: "unsent",
    });
  });

  it("reports a headers function that fails, and a header that cannot be sent", async () => {
    const { url } = await serve(() => {});
    const cause = new Error("cache is down");
    const failing = await make(url, {}, () => Promise.reject(cause));
    await expect(failing.transport.start()).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      cause,
      retryable: true,
    });
    const broken = await make(url, {}, async () => ({ "x-a": "secret\r\nx-b: 1" }));
    const error = await broken.transport.start().catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ code: "INVALID_CONFIG", outcome: "unsent" });
    expect((error as Error).message).not.toContain("secret");
  });

  it("times out if the server accepts and sends nothing, or if the headers function never resolves", async () => {
    const url = await listen(createTcpServer());
    const timeout = { code: "CONNECT_TIMEOUT", outcome: "unsent", retryable: true };
    await expect((await make(url, { handshakeTimeoutMs: 50 })).transport.start()).rejects.toMatchObject(
      timeout,
    );
    const never = () => new Promise<never>(() => {});
    const { transport } = await make(url, { handshakeTimeoutMs: 50 }, never);
    await expect(transport.start()).rejects.toMatchObject(timeout);
  });

  it("terminates the connection if the server does not answer the close frame", async () => {
    const peer = await serve((socket) => socket.pause());
    const { transport, closes } = await make(peer.url, { closeGraceMs: 50 });
    await transport.start();
    await Promise.all([transport.close(), transport.close()]);
    expect(closes()).toBe(1);
    expect(transport.closeError).toBeUndefined();
  });

  it("shows no header value in errors", async () => {
    const url = await listen(createTcpServer((socket) => socket.destroy()));
    const { transport } = await make(url, {}, new SecretRecord({ Authorization: "Bearer s3cret" }));
    const error = await transport.start().catch((caught: Error) => caught);
    expect(JSON.stringify([String(error), error])).not.toContain("s3cret");
  });
});

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
