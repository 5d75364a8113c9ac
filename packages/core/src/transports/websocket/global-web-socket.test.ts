/** The transport over a runtime's own WebSocket; these tests use the one of `ws`. */
import { createServer as createTcpServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
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
import { createGlobalWebSocketTransport, type StandardWebSocketConstructor } from "./global-web-socket.js";

afterEach(closeAll);

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

  it("reports close codes, a lost connection, and messages over the size limit", async () => {
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

  it("rejects a configuration with headers", async () => {
    const config = configOf("ws://127.0.0.1:1", new SecretRecord({ Authorization: "x" }));
    await expect(
      createGlobalWebSocketTransport(config, { maxMessageBytes: MIB }, options),
    ).rejects.toMatchObject({
      code: "TRANSPORT_NOT_SUPPORTED",
    });
  });

  it("reports a failed headers function, and accepts undefined as no headers", async () => {
    const cause = new Error("cache is down");
    const make = (headers: () => Promise<Record<string, string>>) =>
      createGlobalWebSocketTransport(
        configOf("ws://127.0.0.1:1", headers),
        { maxMessageBytes: MIB },
        options,
      );
    await expect(make(() => Promise.reject(cause))).rejects.toMatchObject({ code: "INVALID_CONFIG", cause });
    await expect(make(async () => undefined as never)).resolves.toMatchObject({ kind: "websocket" });
  });
});
