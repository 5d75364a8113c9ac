/** Servers that redirect the client: to another origin, in a loop, to a foreign message endpoint. */
import type { ServerEntry } from "toolport";
import { expect } from "vitest";
import { startFaultServer } from "../fixtures/servers/fault-http.js";
import { startSocketServer } from "../fixtures/servers/fault-socket.js";
import { openEvents, type Script, startScriptedServer } from "../fixtures/servers/http-scripted.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";

/** The catalogue says 1 s; a busy machine gets three times that. */
const AT_ONCE_MS = 3_000;
const MAX_HOPS = 5;

const to =
  (location: string, status = 307): Script =>
  (_request, response) =>
    response.writeHead(status, { location }).end();

/** Another host that no request may reach. */
async function elsewhere(harness: FaultHarness) {
  const target = harness.keep(await startSocketServer((socket) => socket.end(), "127.0.0.2"));
  const expectUntouched = () =>
    expect({ connections: target.connections, bytes: target.bytes }).toEqual({ connections: 0, bytes: 0 });
  return { url: `http://127.0.0.2:${target.port}/mcp`, host: `127.0.0.2:${target.port}`, expectUntouched };
}

for (const status of [301, 302, 303, 307, 308]) {
  faultCase("N09", `${status} to another host, for a call`, async (harness) => {
    const target = await elsewhere(harness);
    const server = harness.keep(await startFaultServer({ bad: to(target.url, status) }));
    const headers = { "x-key": harness.secret(), authorization: `Bearer ${harness.secret()}` };
    const toolport = harness.open({ it: { ...server.entry, headers } });
    await toolport.connect();
    const error = await harness.fails(toolport.callTool("it__bad", { text: harness.secret() }), {
      code: ["ADDRESS_REFUSED", "HTTP_STATUS", "BAD_RESPONSE"],
      server: "it",
      withinMs: AT_ONCE_MS,
    });
    expect(error.retryable).toBe(false);
    expect(server.asked("bad")).toBe(1);
    expect((await toolport.callTool("it__fine")).text).toBe("fine");
    target.expectUntouched();
  });
}

for (const era of ["legacy", "modern"] as const) {
  faultCase("N09", `307 to another host, for the handshake, ${era}`, async (harness) => {
    const target = await elsewhere(harness);
    const server = harness.keep(await startFaultServer({ era }));
    server.script = to(target.url);
    const it = { ...server.entry, headers: { "x-key": harness.secret() } };
    const toolport = harness.open({ it });
    await harness.fails(toolport.callTool("it__fine"), {
      code: ["ADDRESS_REFUSED", "HTTP_STATUS", "BAD_RESPONSE", "UNREACHABLE"],
      server: "it",
      withinMs: AT_ONCE_MS,
    });
    target.expectUntouched();
  });
}

faultCase("N09", "307 to another host, for the listening stream", async (harness) => {
  const target = await elsewhere(harness);
  const server = harness.keep(
    await startFaultServer({ unknownSession: (_r, response) => response.end(), listen: to(target.url) }),
  );
  const toolport = harness.open({ it: { ...server.entry, headers: { "x-key": harness.secret() } } });
  expect((await toolport.callTool("it__fine")).text).toBe("fine");
  target.expectUntouched();
});

faultCase("N09", "the same host, another port", async (harness) => {
  const target = harness.keep(await startSocketServer((socket) => socket.end()));
  const server = harness.keep(
    await startFaultServer({ bad: to(`http://127.0.0.1:${target.port}/mcp`, 308) }),
  );
  const toolport = harness.open({ it: { ...server.entry, headers: { "x-key": harness.secret() } } });
  await harness.fails(toolport.callTool("it__bad"), {
    code: ["ADDRESS_REFUSED", "HTTP_STATUS", "BAD_RESPONSE"],
    server: "it",
    withinMs: AT_ONCE_MS,
  });
  expect(target.bytes).toBe(0);
});

faultCase("N09", `30 hops within the origin: ${MAX_HOPS} at most`, async (harness) => {
  let hops = 0;
  const server = harness.keep(
    await startFaultServer({
      before: ({ message, path }, response) => {
        const isOurs = path.startsWith("/hop") || message?.params?.["name"] === "bad";
        if (!isOurs) return false;
        hops += 1;
        if (hops <= 30) response.writeHead(307, { location: `/hop-${hops}` }).end();
        return hops <= 30;
      },
    }),
  );
  const toolport = harness.open({ it: server.entry });
  await toolport.connect();
  const error = await harness.fails(toolport.callTool("it__bad"), {
    code: ["ADDRESS_REFUSED", "HTTP_STATUS", "BAD_RESPONSE"],
    server: "it",
    withinMs: AT_ONCE_MS,
  });
  expect(error.retryable).toBe(false);
  // The request itself, and the hops.
  expect(hops).toBeLessThanOrEqual(1 + MAX_HOPS);
  expect((await toolport.callTool("it__fine")).text).toBe("fine");
});

faultCase("N09", "a hop within the origin is followed with headers and body", async (harness) => {
  const server = harness.keep(await startFaultServer({ bad: to("/moved") }));
  const { script } = server;
  server.script = (request, response) => {
    if (request.path !== "/moved") return script(request, response);
    expect(request.headers["x-key"]).toBe("value");
    const moved = { ...request, message: { ...request.message, params: { name: "fine" } } };
    return script(moved, response);
  };
  const toolport = harness.open({ it: { ...server.entry, headers: { "x-key": "value" } } });
  expect((await toolport.callTool("it__bad")).text).toBe("fine");
});

faultCase("N09", "legacy SSE: the endpoint event names another origin", async (harness) => {
  const target = await elsewhere(harness);
  const server = harness.keep(
    await startScriptedServer((_request, response) => {
      openEvents(response);
      response.write(`event: endpoint\ndata: ${target.url}\n\n`);
    }),
  );
  const headers = { "x-key": harness.secret() };
  const it: ServerEntry = { transport: "sse", url: `${server.url}/sse`, headers };
  const toolport = harness.open({ it });
  const error = await harness.fails(toolport.callTool("it__fine"), {
    code: "ADDRESS_REFUSED",
    server: "it",
    withinMs: AT_ONCE_MS,
  });
  expect(error.message).toContain(target.host);
  target.expectUntouched();
});

for (const [what, entry] of [
  ["legacy SSE", (port: number) => ({ transport: "sse" as const, url: `http://127.0.0.1:${port}/sse` })],
  ["WebSocket", (port: number) => ({ transport: "websocket" as const, url: `ws://127.0.0.1:${port}/ws` })],
] as const) {
  faultCase("N09", `${what}: 307 to another host`, async (harness) => {
    const target = await elsewhere(harness);
    // A raw response: an HTTP server would not answer an upgrade.
    const answer = `HTTP/1.1 307 Temporary Redirect\r\nlocation: ${target.url}\r\ncontent-length: 0\r\n\r\n`;
    const server = harness.keep(
      await startSocketServer((socket) => socket.once("data", () => socket.end(answer))),
    );
    const headers = { "x-key": harness.secret() };
    const toolport = harness.open({ it: { ...entry(server.port), headers } });
    await harness.fails(toolport.callTool("it__fine"), {
      code: ["ADDRESS_REFUSED", "HTTP_STATUS", "BAD_RESPONSE", "UNREACHABLE"],
      server: "it",
      withinMs: AT_ONCE_MS,
    });
    target.expectUntouched();
  });
}
