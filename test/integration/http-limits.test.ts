/** A response over the size limit fails only its own call, over HTTP. */
import type { ServerResponse } from "node:http";
import { createGzip, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import {
  event,
  openEvents,
  result,
  type Script,
  sendJson,
  writeFiller,
} from "../fixtures/servers/http-scripted.js";
import { useSetup } from "../fixtures/servers/http-setup.js";
import { waitFor } from "../support/wait-for.js";

const MIB = 1024 * 1024;

const setup = useSetup();
const { start } = setup;
const call = (id: string, method = "tools/call") => ({ jsonrpc: "2.0" as const, id, method, params: {} });

/** Answers "big" with the script, everything else correctly. */
const bigOr =
  (big: (response: ServerResponse) => unknown): Script =>
  ({ message }, response) =>
    message?.id === "big" ? big(response) : sendJson(response, result(message?.id));

describe("one answer over the limit", () => {
  it.each([
    [
      "64 MB of JSON",
      async (response: ServerResponse) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.write('{"jsonrpc":"2.0","id":"big","result":{"text":"');
        await writeFiller(response, 64 * MIB);
        response.end('"}}');
      },
    ],
    [
      "64 MB in one event",
      async (response: ServerResponse) => {
        openEvents(response);
        response.write('data: {"jsonrpc":"2.0","id":"big","result":{"text":"');
        await writeFiller(response, 64 * MIB);
        response.end('"}}\n\n');
      },
    ],
    [
      "300 MB without a delimiter",
      async (response: ServerResponse) => {
        openEvents(response);
        response.write("id: 1\ndata: ");
        await writeFiller(response, 300 * MIB);
        response.end();
      },
    ],
    [
      "a gzip bomb",
      (response: ServerResponse) => {
        response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
        const gzip = createGzip();
        gzip.pipe(response);
        const block = Buffer.alloc(MIB);
        let left = 64;
        const write = () => {
          while (left-- > 0) if (!gzip.write(block)) return void gzip.once("drain", write);
          gzip.end();
        };
        write();
      },
    ],
  ])("%s is cut, and the next request works", async (_name, big) => {
    const server = await start(bigOr(big));
    const { transport, cuts, messages } = await setup.streamable(`${server.url}/mcp`);
    const before = process.memoryUsage.rss();
    await transport.send(call("big")).catch((error) => expect(error.code).toBe("MESSAGE_TOO_LARGE"));
    await waitFor(() => cuts.length > 0, { label: "the cut" });
    expect(cuts).toMatchObject([{ id: "big", error: { code: "MESSAGE_TOO_LARGE", outcome: "unknown" } }]);
    // Server and client share this process; neither may hold the whole response in memory.
    expect(process.memoryUsage.rss() - before).toBeLessThan(100 * MIB);
    await transport.send(call("next"));
    expect(messages).toMatchObject([{ id: "next" }]);
    await waitFor(() => server.sockets.size <= 1, { label: "the cut socket to close" });
    expect(cuts).toHaveLength(1);
  });
});

it("accepts a response just under the limit, compressed or not, in any chunks", async () => {
  const text = "x".repeat(900_000);
  const server = await start(async ({ message }, response) => {
    const body = JSON.stringify(result(message?.id, { text }));
    if (message?.id === "gzip") {
      response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
      return response.end(gzipSync(body));
    }
    if (message?.id === "json") return sendJson(response, body);
    openEvents(response);
    for (let at = 0; at < body.length; at += 4_096) {
      response.write(at === 0 ? `data: ${body.slice(0, 4_096)}` : body.slice(at, at + 4_096));
    }
    return response.end("\n\n");
  });
  const { transport, messages } = await setup.streamable(`${server.url}/mcp`, { maxMessageBytes: MIB });
  for (const id of ["gzip", "json", "sse"]) await transport.send(call(id));
  await waitFor(() => messages.length === 3);
  for (const message of messages) expect(message).toMatchObject({ result: { text } });
});

it("drops a large event of the listening stream, reports its id, and keeps listening", async () => {
  let stream: ServerResponse | undefined;
  const server = await start(({ method, message }, response) => {
    if (method === "GET") {
      openEvents(response);
      stream = response;
      return;
    }
    if (message?.id === undefined) return response.writeHead(202).end();
    return sendJson(response, result(message.id), { headers: { "mcp-session-id": "s" } });
  });
  const { transport, discards, messages } = await setup.streamable(`${server.url}/mcp`, {
    maxMessageBytes: 10_000,
  });
  await transport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  const open = await waitFor(() => stream);
  open.write(event(result(7, { text: "x".repeat(50_000) })));
  open.write(event({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }));
  await waitFor(() => messages.length > 0);
  expect(discards).toMatchObject([{ id: 7, error: { code: "MESSAGE_TOO_LARGE" } }]);
  expect(messages).toMatchObject([{ method: "notifications/tools/list_changed" }]);
});
