/** A legacy client that loses the stream of a call comes back with the id of its first event, and learns that the outcome of the call is unknown. */
import { createTestServer } from "toolport/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type GatewayScene, openGateway } from "./gateway-scene.js";
import { ACCEPT, post } from "./raw-client.js";

let scene: GatewayScene;
let closeServer: () => Promise<void>;
beforeAll(async () => {
  const server = createTestServer({
    tools: {
      wait: {
        handler: async (_args, { signal }) => {
          await new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve()));
          return "ended";
        },
      },
    },
  });
  closeServer = () => server.close();
  scene = await openGateway({ mcpServers: { up: server.memory() } });
});
afterAll(async () => {
  await scene[Symbol.asyncDispose]();
  await closeServer();
});

const VERSION = { "mcp-protocol-version": "2025-11-25" };

async function beginSession(): Promise<Record<string, string>> {
  const hello = await post(scene.url, {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } },
  });
  return { ...VERSION, "mcp-session-id": hello.headers.get("mcp-session-id") ?? "" };
}

/** Begins a call that does not end, reads the first event, and cuts the stream. */
async function loseStream(headers: Record<string, string>, id: string | number): Promise<string> {
  const cut = new AbortController();
  const response = await fetch(scene.url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: ACCEPT, ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "up__wait" } }),
    signal: cut.signal,
  });
  const event = await firstEvent(response, (text) => text.startsWith("id: "));
  cut.abort();
  expect(event).toMatch(/\nretry: 1000\ndata: $/);
  return /^id: (\S+)/.exec(event)![1]!;
}

/** Resolves with the first event of a stream that fits. */
async function firstEvent(response: Response, fits: (event: string) => boolean): Promise<string> {
  let text = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const event = text.split("\n\n").slice(0, -1).find(fits);
    if (event !== undefined) return event;
  }
  throw new Error(`The stream ended with ${text}`);
}

/** The first message of a GET stream; undefined if the stream begins without one. */
async function resume(headers: Record<string, string>, lastEventId: string): Promise<unknown> {
  const cut = new AbortController();
  const response = await fetch(scene.url, {
    headers: { accept: "text/event-stream", ...headers, "last-event-id": lastEventId },
    signal: cut.signal,
  });
  expect(response.status).toBe(200);
  // The comment and the message are written together.
  const { value } = await response.body!.getReader().read();
  cut.abort();
  const data = /^data: (.+)$/m.exec(new TextDecoder().decode(value))?.[1];
  return data === undefined ? undefined : JSON.parse(data);
}

const unknownOutcome = (id: string | number) => ({
  jsonrpc: "2.0",
  id,
  error: {
    code: -32603,
    message: "The connection was lost during the request, and its outcome is unknown",
    data: { code: "CLOSED", retryable: false, outcome: "unknown" },
  },
});

test.each([7, "seven", 'a "quoted\n.id" 🙂'])("the client learns the outcome of request %j", async (id) => {
  const headers = await beginSession();
  const eventId = await loseStream(headers, id);
  expect(await resume(headers, eventId)).toEqual(unknownOutcome(id));
});

test("the id of an event says nothing about another session, and cannot be changed", async () => {
  const headers = await beginSession();
  const eventId = await loseStream(headers, 1);
  expect(await resume(await beginSession(), eventId)).toBeUndefined();
  const [expiry, id, key, hash] = eventId.split(".") as [string, string, string, string];
  const other = Buffer.from("2").toString("base64url");
  for (const changed of [
    `${Number(expiry) + 1}.${id}.${key}.${hash}`,
    `${expiry}.${other}.${key}.${hash}`,
    `${expiry}.${id}.00000000.${hash}`,
    `${expiry}.${id}.${key}.`,
    `${expiry}.${id}.`,
    "",
    "x".repeat(10_000),
  ])
    expect(await resume(headers, changed)).toBeUndefined();
});
