/** The WebSocket transport against real servers that behave and that do not. */
import { createServer as createHttpServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { SecretRecord } from "../../config/secret-record.js";
import type { HeaderSource, WebSocketConfig } from "../../config/server-config.js";
import type { ServerTransport } from "../server-transport.js";
import { createGlobalWebSocketTransport, type StandardWebSocketConstructor } from "./web-socket-transport.js";
import { createWebSocketTransport, type WebSocketTimings } from "./websocket-transport.js";

const MIB = 1024 * 1024;
const PING: JSONRPCMessage = { jsonrpc: "2.0", id: 1, method: "ping" };
const PONG = '{"jsonrpc":"2.0","id":1,"result":{}}';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

interface Peer {
  readonly url: string;
  readonly upgrades: IncomingMessage[];
}

type OnConnection = (socket: WebSocket, request: IncomingMessage) => void;

/** A WebSocket server that selects the subprotocol `mcp` (or none) and leaves the rest to `onConnection`. */
async function serve(
  onConnection: OnConnection,
  options: { selectNone?: boolean; autoPong?: boolean } = {},
): Promise<Peer> {
  const upgrades: IncomingMessage[] = [];
  const server = new WebSocketServer({
    port: 0,
    host: "127.0.0.1",
    path: "/mcp/ws",
    autoPong: options.autoPong ?? true,
    handleProtocols: options.selectNone ? () => false : (protocols) => (protocols.has("mcp") ? "mcp" : false),
  });
  server.on("connection", (socket, request) => {
    upgrades.push(request);
    socket.on("error", () => {});
    onConnection(socket, request);
  });
  await new Promise((resolve) => server.once("listening", resolve));
  open.push(async () => {
    for (const client of server.clients) client.terminate();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/mcp/ws`, upgrades };
}

async function listen(server: Server | ReturnType<typeof createTcpServer>): Promise<string> {
  const sockets = new Set<{ destroy(): void }>();
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/mcp/ws`;
}

function configOf(url: string, headers: HeaderSource = new SecretRecord()): WebSocketConfig {
  return {
    kind: "websocket",
    name: "peer",
    url,
    headers,
    timeoutMs: undefined,
    protocol: "auto",
    enabled: true,
    logEvents: false,
    logRequests: false,
    logResponses: false,
    reconnect: { enabled: true, maxAttempts: undefined, delayMs: undefined },
  } as WebSocketConfig;
}

async function make(url: string, timings: Partial<WebSocketTimings> = {}, headers?: HeaderSource) {
  return watch(
    await createWebSocketTransport(configOf(url, headers), { maxMessageBytes: 10 * MIB }, timings),
  );
}

/** The transport with promises for its first message and its end. */
function watch(transport: ServerTransport) {
  const errors: Error[] = [];
  const received: JSONRPCMessage[] = [];
  let closes = 0;
  transport.onerror = (error) => errors.push(error);
  const closed = new Promise<void>((resolve) => {
    transport.onclose = () => {
      closes++;
      resolve();
    };
  });
  const first = new Promise<JSONRPCMessage>((resolve) => {
    transport.onmessage = (message) => {
      received.push(message);
      resolve(message);
    };
  });
  open.push(() => transport.close());
  return { transport, errors, received, closed, first, closes: () => closes };
}

describe("createWebSocketTransport", () => {
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

  it("asks again without a subprotocol where the server selects none, and remembers that", async () => {
    const peer = await serve((socket) => socket.on("message", () => socket.send(PONG)), { selectNone: true });
    const config = configOf(peer.url);
    for (const upgrades of [2, 3]) {
      const { transport, first } = watch(await createWebSocketTransport(config, { maxMessageBytes: MIB }));
      await transport.start();
      await transport.send(PING);
      expect(await first).toEqual(JSON.parse(PONG));
      await transport.close();
      expect(peer.upgrades).toHaveLength(upgrades);
    }
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
  ])("says what close code %i means", async (code, expected) => {
    const peer = await serve((socket) => socket.close(code));
    const { transport, closed, closes } = await make(peer.url);
    await transport.start();
    await closed;
    expect(transport.closeError).toMatchObject({ ...expected, server: "peer" });
    await transport.close();
    expect(closes()).toBe(1);
  });

  it("notices a connection that is cut without a goodbye", async () => {
    const peer = await serve((socket) => socket.terminate());
    const { transport, closed } = await make(peer.url);
    await transport.start();
    await closed;
    expect(transport.closeError).toMatchObject({ code: "CLOSED", retryable: true });
    await expect(transport.send(PING)).rejects.toMatchObject({ code: "CLOSED", outcome: "unsent" });
  });

  it("ends a connection whose pings are not answered, and keeps one whose are", async () => {
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

  it("ends the connection over a frame of 100 MB without taking it in", async () => {
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

  it("takes a legal message of 9.9 MiB in fragments of 4 KiB", async () => {
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
  ])("rejects when the upgrade is answered with %i", async (status, expected) => {
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

  it("rejects when nobody listens, and when the answer is no WebSocket's", async () => {
    const gone = createTcpServer();
    const url = await listen(gone);
    await open.pop()?.();
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

  it("gives up on a server that accepts and says nothing, or headers that never come", async () => {
    const url = await listen(createTcpServer());
    const timeout = { code: "CONNECT_TIMEOUT", outcome: "unsent", retryable: true };
    await expect((await make(url, { handshakeTimeoutMs: 50 })).transport.start()).rejects.toMatchObject(
      timeout,
    );
    const never = () => new Promise<never>(() => {});
    const { transport } = await make(url, { handshakeTimeoutMs: 50 }, never);
    await expect(transport.start()).rejects.toMatchObject(timeout);
  });

  it("terminates a server that does not answer the goodbye", async () => {
    const peer = await serve((socket) => socket.pause());
    const { transport, closes } = await make(peer.url, { closeGraceMs: 50 });
    await transport.start();
    await Promise.all([transport.close(), transport.close()]);
    expect(closes()).toBe(1);
    expect(transport.closeError).toBeUndefined();
  });

  it("shows no header value in what it throws", async () => {
    const url = await listen(createTcpServer((socket) => socket.destroy()));
    const { transport } = await make(url, {}, new SecretRecord({ Authorization: "Bearer s3cret" }));
    const error = await transport.start().catch((caught: Error) => caught);
    expect(JSON.stringify([String(error), error])).not.toContain("s3cret");
  });
});

describe("createGlobalWebSocketTransport", () => {
  const options = { WebSocket: WebSocket as unknown as StandardWebSocketConstructor };
  const global = async (url: string, maxMessageBytes = MIB) =>
    watch(await createGlobalWebSocketTransport(configOf(url), { maxMessageBytes }, options));

  it.each([{ selectNone: false }, { selectNone: true }])("talks to a server (%o)", async (serverOptions) => {
    const peer = await serve(
      (socket) => socket.on("message", () => socket.send(Buffer.from(PONG))),
      serverOptions,
    );
    const { transport, first, closes } = await global(peer.url);
    await transport.start();
    await transport.send(PING);
    expect(await first).toEqual(JSON.parse(PONG));
    await transport.close();
    expect(closes()).toBe(1);
    await expect(transport.send(PING)).rejects.toMatchObject({ code: "CLOSED", outcome: "unsent" });
  });

  it("reports close codes, an end, and messages over the cap", async () => {
    const closing = await global((await serve((socket) => socket.close(4401))).url);
    await closing.transport.start();
    await closing.closed;
    expect(closing.transport.closeError).toMatchObject({ code: "AUTH_REQUIRED" });

    const chatty = await global(
      (await serve((socket) => socket.on("message", () => socket.send("é".repeat(600))))).url,
      1_000,
    );
    await chatty.transport.start();
    await chatty.transport.send(PING);
    await chatty.closed;
    expect(chatty.transport.closeError).toMatchObject({ code: "MESSAGE_TOO_LARGE" });

    const url = await listen(createTcpServer((socket) => socket.destroy()));
    await expect((await global(url)).transport.start()).rejects.toMatchObject({
      code: "UNREACHABLE",
      outcome: "unsent",
    });
  });

  it("refuses what a runtime without headers cannot do", async () => {
    const config = configOf("ws://127.0.0.1:1", new SecretRecord({ Authorization: "x" }));
    await expect(
      createGlobalWebSocketTransport(config, { maxMessageBytes: MIB }, options),
    ).rejects.toMatchObject({
      code: "TRANSPORT_NOT_SUPPORTED",
    });
  });
});

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
