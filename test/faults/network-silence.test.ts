/** Servers that accept connections and send nothing, or almost nothing, and the timeouts for it. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ServerEntry } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect } from "vitest";
import { startFaultServer } from "../fixtures/servers/fault-http.js";
import { startSocketServer } from "../fixtures/servers/fault-socket.js";
import { openEvents, type Script } from "../fixtures/servers/http-scripted.js";
import { waitFor } from "../support/wait-for.js";
import { bound, faultCase } from "./fault-case.js";

/** Enough for the start of the neighbour, too. */
const CONNECT_MS = bound(2_000, 10_000);
const IDLE_MS = bound(600, 60_000);
const CAP_MS = bound(1_500, 300_000);
/** From the timeout to the rejection, on a busy machine. */
const SLACK_MS = 1_500;

const ENTRIES: Record<string, (port: number) => ServerEntry> = {
  http: (port) => ({ url: `http://127.0.0.1:${port}/mcp` }),
  https: (port) => ({ url: `https://127.0.0.1:${port}/mcp` }),
  sse: (port) => ({ transport: "sse", url: `http://127.0.0.1:${port}/sse` }),
  websocket: (port) => ({ transport: "websocket", url: `ws://127.0.0.1:${port}/ws` }),
};

const FAILURES = ["TIMEOUT", "CONNECT_TIMEOUT", "UNREACHABLE"];

/** One byte a second; ten a second in the short run. */
function drip(write: (piece: string) => unknown, text: string): () => void {
  let at = 0;
  const timer = setInterval(() => write(text[at++] ?? "x"), bound(100, 1_000));
  return () => clearInterval(timer);
}

function dripInto(response: ServerResponse, text: string): void {
  response.on(
    "close",
    drip((piece) => response.write(piece), text),
  );
}

for (const [kind, entry] of Object.entries(ENTRIES)) {
  faultCase("N04", `${kind}: accepts and is silent`, async (harness) => {
    const server = harness.keep(await startSocketServer());
    const toolport = harness.open({ it: entry(server.port) }, { connectTimeoutMs: CONNECT_MS });
    await harness.fails(toolport.callTool("it__fine"), {
      code: FAILURES,
      server: "it",
      withinMs: CONNECT_MS + SLACK_MS,
    });
    // The pool gives up a pending TLS handshake after ten seconds or on close.
    if (kind !== "https") await waitFor(() => server.sockets.size === 0, { label: "the sockets to close" });
  });

  faultCase("N04", `${kind}: headers at a byte a time`, async (harness) => {
    const slowly = (socket: Socket) =>
      socket.on(
        "close",
        drip((piece) => socket.write(piece), "HTTP/1.1 200 OK\r\nx: "),
      );
    const server = harness.keep(await startSocketServer(slowly));
    const toolport = harness.open({ it: entry(server.port) }, { connectTimeoutMs: CONNECT_MS });
    await harness.fails(toolport.callTool("it__fine"), {
      // The first byte already shows that the server does not speak TLS.
      code: kind === "https" ? ["UNREACHABLE"] : FAILURES,
      server: "it",
      withinMs: CONNECT_MS + SLACK_MS,
    });
    await waitFor(() => server.sockets.size === 0, { label: "the sockets to close" });
  });
}

faultCase("N04", "sse: event stream without an endpoint", async (harness) => {
  const server = harness.keep(await startFaultServer());
  server.script = (_request, response) => openEvents(response);
  const it: ServerEntry = { transport: "sse", url: `${server.url}/sse` };
  const toolport = harness.open({ it }, { connectTimeoutMs: CONNECT_MS });
  await harness.fails(toolport.callTool("it__fine"), {
    code: FAILURES,
    server: "it",
    withinMs: CONNECT_MS + SLACK_MS,
  });
  await waitFor(() => server.sockets.size === 0, { label: "the sockets to close" });
});

const SILENT: Record<string, Script> = {
  "no headers": () => {},
  "headers of JSON, then silence": (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
  },
  "headers of events, then silence": (_request, response) => openEvents(response),
  "JSON at a byte a time": (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    dripInto(response, '{"jsonrpc":"2.0","id":"');
  },
  "an event at a byte a time": (_request, response) => {
    openEvents(response);
    dripInto(response, "data: x");
  },
};

for (const [how, bad] of Object.entries(SILENT)) {
  // The body does not depend on the era, the cancellation does.
  for (const era of how.includes("byte") ? (["legacy"] as const) : (["legacy", "modern"] as const)) {
    faultCase("N04", `${how}: ends at the idle timeout, ${era}`, async (harness) => {
      const server = harness.keep(await startFaultServer({ era, bad }));
      const toolport = harness.open({ it: server.entry }, { timeoutMs: IDLE_MS });
      await toolport.connect();
      const began = performance.now();
      const error = await harness.fails(toolport.callTool("it__bad"), {
        code: "TIMEOUT",
        server: "it",
        tool: "bad",
        withinMs: IDLE_MS + SLACK_MS,
      });
      // Timers may fire a moment early.
      expect(performance.now() - began).toBeGreaterThanOrEqual(IDLE_MS - 5);
      expect(error).toMatchObject({ retryable: true, outcome: "unknown" });
      expect(server.asked("bad")).toBe(1);
      expect((await toolport.callTool("it__fine")).text).toBe("fine");
      await waitFor(() => server.sockets.size <= 1, { label: "the socket of the silent call to close" });
    });
  }
}

faultCase("N04", "endless progress: ends at the hard cap", async (harness) => {
  const bad: Script = ({ message }, response) => {
    openEvents(response);
    const { progressToken } = (message?.params?.["_meta"] ?? {}) as { progressToken?: unknown };
    let progress = 0;
    const timer = setInterval(() => {
      progress += 1;
      const params = { progressToken, progress };
      response.write(
        `data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params })}\n\n`,
      );
    }, IDLE_MS / 6);
    response.on("close", () => clearInterval(timer));
  };
  const server = harness.keep(await startFaultServer({ bad }));
  const toolport = harness.open({ it: server.entry }, { timeoutMs: IDLE_MS, maxTimeoutMs: CAP_MS });
  await toolport.connect();
  const began = performance.now();
  await harness.fails(toolport.callTool("it__bad"), {
    code: "TIMEOUT",
    server: "it",
    withinMs: CAP_MS + SLACK_MS,
  });
  expect(performance.now() - began).toBeGreaterThanOrEqual(CAP_MS - 5);
});

faultCase("N04", "a refusal with an endless body is still a refusal", async (harness) => {
  const bad: Script = (_request, response) => {
    response.writeHead(500, { "content-type": "text/plain" });
    dripInto(response, "no");
  };
  const server = harness.keep(await startFaultServer({ bad }));
  const toolport = harness.open({ it: server.entry });
  await toolport.connect();
  await harness.fails(toolport.callTool("it__bad"), { code: "HTTP_STATUS", server: "it", withinMs: 10_000 });
});

for (const kind of ["sse", "webSocket"] as const) {
  faultCase("N04", `${kind}: a call without an answer`, async (harness) => {
    const hang = { handler: () => new Promise<string>(() => {}) };
    const server = harness.keep(createTestServer({ tools: { hang, fine: { handler: () => "fine" } } }));
    const toolport = harness.open({ it: (await server[kind]()).entry }, { timeoutMs: IDLE_MS });
    await toolport.connect();
    await harness.fails(toolport.callTool("it__hang"), {
      code: "TIMEOUT",
      server: "it",
      withinMs: IDLE_MS + SLACK_MS,
    });
    expect((await toolport.callTool("it__fine")).text).toBe("fine");
  });
}
