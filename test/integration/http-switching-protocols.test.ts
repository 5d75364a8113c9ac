/** HTTP 101 as an answer: no final answer follows it, so the request fails at once. */
import type { Socket } from "node:net";
import { type ConnectionError, createToolport, type ServerEntry } from "toolport";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FaultHttpServer, startFaultServer } from "../fixtures/servers/fault-http.js";
import type { Script } from "../fixtures/servers/http-scripted.js";
import { failure } from "../support/failure.js";
import { waitFor } from "../support/wait-for.js";

const FORMS = {
  "with an upgrade": "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
  "without an upgrade": "HTTP/1.1 101 Switching Protocols\r\n\r\n",
};

describe.each(Object.entries(FORMS))("HTTP 101 %s", (_form, head) => {
  let server: FaultHttpServer;
  let switched: Socket;
  const switching: Script = (_request, response) => {
    switched = response.socket!;
    switched.write(head);
  };
  beforeEach(async () => {
    server = await startFaultServer({ bad: switching });
  });
  afterEach(() => server.close());

  test("fails a call at once, and the next call is answered", async () => {
    await using toolport = createToolport({ mcpServers: { it: server.entry } });
    await toolport.connect();
    const error = await failure<ConnectionError>(toolport.callTool("it__bad"));
    expect(error).toMatchObject({
      name: "ConnectionError",
      code: "BAD_RESPONSE",
      server: "it",
      tool: "bad",
      status: 101,
      outcome: "unknown",
    });
    expect(error.message).toContain("101");
    expect(server.asked("bad")).toBe(1);
    expect((await toolport.callTool("it__fine")).text).toBe("fine");
    await waitFor(() => switched.closed, { label: "the switched socket to close" });
  });

  test.each<[string, () => ServerEntry]>([
    ["Streamable HTTP", () => server.entry],
    ["HTTP+SSE", () => ({ transport: "sse", url: `${server.url}/sse` })],
  ])("fails the handshake of %s at once", async (_transport, entry) => {
    server.script = switching;
    await using toolport = createToolport({ mcpServers: { it: entry() } });
    const { servers } = await toolport.connect();
    expect(servers["it"]).toMatchObject({ state: "failed", error: { code: "BAD_RESPONSE", status: 101 } });
    await waitFor(() => switched.closed, { label: "the switched socket to close" });
  });
});

test("other interim responses are skipped", async () => {
  const interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
  const server = await startFaultServer({
    before: ({ message }, response) => {
      if (message?.method === "tools/call") response.socket?.write(interim);
      return false;
    },
  });
  await using toolport = createToolport({ mcpServers: { it: server.entry } });
  expect((await toolport.callTool("it__fine")).text).toBe("fine");
  await server.close();
});
