/** Bodies of one user: what is refused before it is read or parsed, and what counts as a request of the user. */
import { once } from "node:events";
import { type IncomingMessage, request as nodeRequest } from "node:http";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { type GatewayScene, openGateway } from "./gateway-scene.js";
import { VERSIONS } from "./raw-client.js";

/** The token is the name of the user. */
const auth = {
  verify(request: Request) {
    const principal = request.headers.get("authorization")?.slice("Bearer ".length);
    return principal === undefined ? undefined : { principal };
  },
};

const HEADERS = { "content-type": "application/json", authorization: "Bearer mallory" };
const PING = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });

type Send = (body: string, headers?: Record<string, string>) => Promise<Response>;

const senderTo =
  ({ url }: GatewayScene): Send =>
  (body, headers) =>
    fetch(url, { method: "POST", headers: { ...HEADERS, ...headers }, body });

test.each([
  ["levels", "[".repeat(4_000_000), "nested deeper than 500 levels"],
  ["objects", "{},".repeat(200_000), "more than 100000 objects and arrays"],
])("a body of too many %s is refused before it is parsed", async (_, body, message) => {
  await using scene = await openGateway({ mcpServers: {} });
  const response = await senderTo(scene)(body);
  expect(response.status).toBe(400);
  // Parsed, it would not be JSON.
  expect(await response.json()).toMatchObject({
    error: { code: -32600, message: expect.stringContaining(message) },
  });
});

test("a body that a framework has parsed may not have too many levels either", async () => {
  await using scene = await openGateway(
    { mcpServers: {} },
    { auth: false },
    (gateway) => async (request, response) => {
      const body: unknown = JSON.parse(await text(request));
      await gateway.node(Object.assign(request, { body }), response);
    },
  );
  const response = await senderTo(scene)("[".repeat(50_000) + "]".repeat(50_000));
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: -32600 } });
});

interface Reply {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** A request whose body has no end yet. */
interface OpenBody {
  readonly reply: Promise<Reply>;
  write(text: string): void;
  end(): void;
  cut(): void;
}

type OpenBodies = (scene: GatewayScene, headers?: Record<string, string>) => Promise<OpenBody>;

/** Resolves when the gateway has the head of the request. */
const overNode: OpenBodies = async ({ url, server }, headers) => {
  const sent = nodeRequest(url, { method: "POST", headers: { ...HEADERS, ...headers }, agent: false });
  sent.on("error", () => {});
  const reply = once(sent, "response").then(([response]: IncomingMessage[]) => {
    response!.resume();
    return { status: response!.statusCode!, retryAfter: response!.headers["retry-after"] };
  });
  // A request that is cut has no reply.
  reply.catch(() => {});
  const arrived = once(server, "request");
  sent.flushHeaders();
  await arrived;
  return {
    reply,
    write: (text) => void sent.write(text),
    end: () => void sent.end(),
    cut: () => void sent.destroy(),
  };
};

const overFetch: OpenBodies = async ({ gateway }, headers) => {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
  });
  const init = { method: "POST", headers: { ...HEADERS, ...headers }, body, duplex: "half" };
  const answered = gateway.fetch(new Request("http://localhost/mcp", init as RequestInit));
  const reply = answered.then(({ status, headers }) => ({
    status,
    retryAfter: headers.get("retry-after") ?? undefined,
  }));
  return {
    reply,
    write: (text) => controller.enqueue(new TextEncoder().encode(text)),
    end: () => controller.close(),
    cut: () => controller.error(new Error("The client is gone")),
  };
};

const BUSY = { status: 429, retryAfter: "1" };

test.each([
  ["node", overNode],
  ["fetch", overFetch],
] as const)("over %s an unfinished body counts as an open request", async (_, open) => {
  await using scene = await openGateway({ mcpServers: {} }, { auth, concurrency: 1 });
  const send = senderTo(scene);
  // The next one is refused before its body.
  const first = await open(scene);
  first.write(PING);
  const second = await open(scene);
  expect(await second.reply).toEqual(BUSY);
  expect((await send(PING, { authorization: "Bearer bob" })).status).toBe(200);
  first.end();
  expect(await first.reply).toMatchObject({ status: 200 });
  // A body that is cut counts no longer.
  const cut = await open(scene);
  cut.write("{");
  cut.cut();
  await expect.poll(async () => (await send(PING)).status).toBe(200);
});

test.each([
  ["node", overNode],
  ["fetch", overFetch],
] as const)("over %s a body that takes too long ends with 408, and frees its place", async (_, open) => {
  await using scene = await openGateway({ mcpServers: {} }, { auth, concurrency: 1, bodyTimeoutMs: 50 });
  const slow = await open(scene);
  slow.write("{");
  expect(await slow.reply).toMatchObject({ status: 408 });
  expect((await senderTo(scene)(PING)).status).toBe(200);
});

test.each([
  ["node", overNode],
  ["fetch", overFetch],
] as const)("over %s all bodies of a user together have a limit", async (_, open) => {
  await using scene = await openGateway({ mcpServers: {} }, { auth, maxBodyBytes: 1_000 });
  const send = senderTo(scene);
  const bodies: OpenBody[] = [];
  for (let count = 0; count < 5; count += 1) bodies.push(await open(scene));
  for (const body of bodies) body.write(" ".repeat(900));
  // The one that came last.
  expect(await Promise.race(bodies.map(({ reply }) => reply))).toEqual(BUSY);
  expect((await send(PING, { authorization: "Bearer bob" })).status).toBe(200);
  for (const body of bodies) body.cut();
  await expect.poll(async () => (await send(PING + " ".repeat(900))).status).toBe(200);
});

test.each([
  ["node", overNode],
  ["fetch", overFetch],
] as const)("over %s the rate is checked before the body", async (_, open) => {
  await using scene = await openGateway(
    { mcpServers: {} },
    { auth, rateLimit: { perSecond: 0.001, burst: 1 } },
  );
  expect((await senderTo(scene)(PING)).status).toBe(200);
  const { status, retryAfter } = await (await open(scene)).reply;
  expect(status).toBe(429);
  // When there is a request again.
  expect(Number(retryAfter)).toBeGreaterThan(1);
});

const MODERN = { "mcp-protocol-version": VERSIONS.modern };
const unknown = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "nothing" });
const note = { jsonrpc: "2.0", method: "notifications/initialized" };

test.each<[string, number, (send: Send, url: string) => Promise<Response>]>([
  ["a body that is not JSON", 1, (send) => send("{")],
  ["a body that is no message", 1, (send) => send("{}")],
  ["another content type", 1, (send) => send(PING, { "content-type": "text/plain" })],
  ["an unknown method", 1, (send) => send(unknown)],
  ["headers of another revision", 1, (send) => send(PING, MODERN)],
  ["an unknown session", 1, (send) => send(PING, { "mcp-session-id": "forged" })],
  ["a notification", 1, (send) => send(JSON.stringify(note))],
  ["another HTTP method", 1, (_, url) => fetch(url, { method: "PUT", headers: HEADERS })],
  ["a stream without a session", 1, (_, url) => fetch(url, { headers: HEADERS })],
  ["a batch", 3, (send) => send(`[${PING},${JSON.stringify(note)},${PING}]`)],
  ["a batch of notifications", 3, (send) => send(JSON.stringify([note, note, note]))],
  ["a refused batch", 3, (send) => send(`[${PING},${PING},${PING}]`, { "mcp-session-id": "forged" })],
])("%s counts for the rate", async (_, cost, attempt) => {
  const burst = cost + 1;
  await using scene = await openGateway({ mcpServers: {} }, { auth, rateLimit: { perSecond: 0.001, burst } });
  const send = senderTo(scene);
  expect((await attempt(send, scene.url)).status).not.toBe(429);
  expect((await send(PING)).status).toBe(200);
  expect((await send(PING)).status).toBe(429);
});
