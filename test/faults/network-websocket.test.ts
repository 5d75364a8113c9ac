/** WebSockets that stop answering, close in every way, or send frames that are too large or of the wrong kind. */

import type { Socket } from "node:net";
import { expect } from "vitest";
import type { WebSocket } from "ws";
import { parseServerEntry } from "../../packages/core/src/config/parse-servers.js";
import type { WebSocketConfig } from "../../packages/core/src/config/server-config.js";
import { createNodeWebSocketTransport } from "../../packages/core/src/transports/websocket/node-web-socket.js";
import { type BadFrame, startFaultWebSocket } from "../fixtures/servers/fault-websocket.js";
import { AS_WRITTEN, bound, faultCase } from "./fault-case.js";

/** Three times the longest time on an idle machine. */
const AT_ONCE_MS = 3_000;
const PING_MS = bound(300, 20_000);
const PONG_MS = bound(300, 10_000);
const MAX_BYTES = 10 * 1024 * 1024;

const wireOf = (socket: WebSocket): Socket => (socket as unknown as { _socket: Socket })._socket;

/** The entry itself in the long run; otherwise the same transport with shorter intervals, which no option sets. */
function quickPings(entry: { transport: "websocket"; url: string }) {
  if (AS_WRITTEN) return entry;
  const config = parseServerEntry("it", entry) as WebSocketConfig;
  const timings = { pingIntervalMs: PING_MS, pongTimeoutMs: PONG_MS };
  return { transport: () => createNodeWebSocketTransport(config, { maxMessageBytes: MAX_BYTES }, timings) };
}

faultCase("N13", "pings without a pong", async (harness) => {
  const server = harness.keep(await startFaultWebSocket(() => {}, { answersPings: false }));
  const toolport = harness.open({ it: quickPings(server.entry) });
  await toolport.connect();
  const error = await harness.fails(toolport.callTool("it__bad"), {
    code: "CLOSED",
    server: "it",
    withinMs: PING_MS + PONG_MS + AT_ONCE_MS,
  });
  expect(error).toMatchObject({ retryable: true, outcome: "unknown" });
  expect(server.asked("bad")).toBe(1);
  expect((await toolport.callTool("it__fine")).text).toBe("fine");
});

faultCase("N13", "pings with a pong: a long call is not interrupted", async (harness) => {
  const slow: BadFrame = (socket, { answer }) =>
    setTimeout(() => socket.send(answer), 2 * (PING_MS + PONG_MS));
  const server = harness.keep(await startFaultWebSocket(slow));
  const toolport = harness.open({ it: quickPings(server.entry) });
  expect((await toolport.callTool("it__bad")).text).toBe("bad");
});

const CLOSES: Record<string, readonly [bad: BadFrame, code: string]> = {
  "1006, without a goodbye": [(socket) => socket.terminate(), "CLOSED"],
  "1006, reset": [(socket) => wireOf(socket).resetAndDestroy(), "CLOSED"],
  "1000": [(socket) => socket.close(1000), "CLOSED"],
  "1001": [(socket) => socket.close(1001), "CLOSED"],
  "1009": [(socket) => socket.close(1009), "MESSAGE_TOO_LARGE"],
  "1011": [(socket) => socket.close(1011, "\u001b[31mbroken"), "CLOSED"],
  "1012": [(socket) => socket.close(1012), "CLOSED"],
  "4000": [(socket) => socket.close(4000), "CLOSED"],
};

for (const [how, [bad, code]] of Object.entries(CLOSES)) {
  faultCase("N13", `closed with ${how}`, async (harness) => {
    const server = harness.keep(await startFaultWebSocket(bad));
    const toolport = harness.open({ it: server.entry });
    await toolport.connect();
    const error = await harness.fails(toolport.callTool("it__bad"), {
      code,
      server: "it",
      tool: "bad",
      withinMs: AT_ONCE_MS,
    });
    expect(error.outcome).toBe("unknown");
    expect(server.asked("bad")).toBe(1);
    expect((await harness.within(AT_ONCE_MS, toolport.callTool("it__fine"))).text).toBe("fine");
  });
}

faultCase("N13", "closed with 4401: authorization is needed, and no loop", async (harness) => {
  const server = harness.keep(await startFaultWebSocket((socket) => socket.close(4401)));
  const toolport = harness.open({ it: { ...server.entry, headers: { "x-key": harness.secret() } } });
  await toolport.connect();
  const expected = { code: "AUTH_REQUIRED", server: "it", withinMs: AT_ONCE_MS };
  await harness.fails(toolport.callTool("it__bad"), expected);
  expect(toolport.snapshot().servers["it"]?.state).toBe("authenticating");
  await harness.fails(toolport.callTool("it__fine"), expected);
  expect(server.asked("initialize")).toBe(1);
});

faultCase("N13", "closed with 4403: access is denied", async (harness) => {
  const server = harness.keep(await startFaultWebSocket((socket) => socket.close(4403)));
  const toolport = harness.open({ it: server.entry });
  await toolport.connect();
  await harness.fails(toolport.callTool("it__bad"), {
    code: "FORBIDDEN",
    server: "it",
    withinMs: AT_ONCE_MS,
  });
});

/** The head of a text frame of 100 MB; nothing follows. */
const HUGE_HEAD = Buffer.from([0x81, 127, 0, 0, 0, 0, 0x05, 0xf5, 0xe1, 0x00]);

const FRAMES: Record<string, readonly [bad: BadFrame, code: string]> = {
  "100 MB announced": [(socket) => wireOf(socket).write(HUGE_HEAD), "MESSAGE_TOO_LARGE"],
  "2 GB and more announced": [
    (socket) => wireOf(socket).write(Buffer.from([0x81, 127, 0x7f, 255, 255, 255, 255, 255, 255, 255])),
    "MESSAGE_TOO_LARGE",
  ],
  "endless fragments": [
    (socket) => {
      const piece = "x".repeat(1024 * 1024);
      const send = () => {
        if (socket.readyState === socket.OPEN) socket.send(piece, { fin: false }, send);
      };
      send();
    },
    "MESSAGE_TOO_LARGE",
  ],
  "masked by the server": [
    (socket) => wireOf(socket).write(Buffer.from([0x81, 0x80, 0, 0, 0, 0])),
    "BAD_RESPONSE",
  ],
  "compressed without having agreed on it": [
    (socket) => wireOf(socket).write(Buffer.from([0xc1, 0x01, 0x00])),
    "BAD_RESPONSE",
  ],
  "unknown kind": [(socket) => wireOf(socket).write(Buffer.from([0x83, 0x00])), "BAD_RESPONSE"],
};

for (const [how, [bad, code]] of Object.entries(FRAMES)) {
  faultCase("N13", `frame: ${how}`, async (harness) => {
    const server = harness.keep(await startFaultWebSocket(bad));
    const toolport = harness.open({ it: server.entry });
    await toolport.connect();
    await harness.fails(toolport.callTool("it__bad"), { code, server: "it", withinMs: AT_ONCE_MS });
    expect((await harness.within(AT_ONCE_MS, toolport.callTool("it__fine"))).text).toBe("fine");
  });
}

const MIXES: Record<string, BadFrame> = {
  "the answer in a binary frame": (socket, { answer }) => socket.send(Buffer.from(answer), { binary: true }),
  "garbage, text and binary, before the answer": (socket, { answer }) => {
    socket.send("hello");
    socket.send("");
    socket.send(Buffer.from([0xff, 0x00, 0xfe]), { binary: true });
    socket.send(Buffer.from([0xff, 0xfe]), { binary: false });
    socket.send("[1,2,3]");
    socket.send("null");
    socket.send(answer);
  },
  "a ping in the middle of the answer": (socket, { answer }) => {
    socket.send(answer.slice(0, 5), { fin: false });
    socket.ping("well?");
    socket.send(answer.slice(5), { fin: true });
  },
};

for (const [how, bad] of Object.entries(MIXES)) {
  faultCase("N13", `frames: ${how}`, async (harness) => {
    const server = harness.keep(await startFaultWebSocket(bad));
    const toolport = harness.open({ it: server.entry });
    await toolport.connect();
    expect((await harness.within(AT_ONCE_MS, toolport.callTool("it__bad"))).text).toBe("bad");
    expect(server.asked("initialize")).toBe(1);
  });
}
