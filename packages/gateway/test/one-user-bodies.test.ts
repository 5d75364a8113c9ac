/** Bodies of one user: what is refused before it is read or parsed, and what counts as a request of the user. */
import { once } from "node:events";
import { type IncomingMessage, request as nodeRequest } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { type GatewayScene, openGateway } from "./gateway-scene.js";
import { VERSIONS } from "./raw-client.js";
import { callModern, sendModern, textOfReply } from "./support/raw-gateway-client.js";

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

test("bodies count until their requests end, and until a call that waits for its client ends", async () => {
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  await using server = createTestServer({
    era: "legacy",
    tools: {
      wait: {
        handler: async () => {
          await finished;
          return "ok";
        },
      },
      ask: {
        handler: (_args, { request }) =>
          request.mcpReq
            .elicitInput({ message: "Which seat?", requestedSchema: { type: "object", properties: {} } })
            .then(({ action }) => action),
      },
    },
  });
  await using scene = await openGateway(
    { mcpServers: { up: (await server.http()).entry } },
    { auth: false, maxBodyBytes: 4_000 },
  );
  const call = (tool: string, more: object = {}) =>
    sendModern(
      scene.url,
      "tools/call",
      { name: `up__${tool}`, arguments: { text: "x".repeat(3_000) }, ...more },
      { capabilities: tool === "ask" ? { elicitation: { form: {} } } : {} },
    );
  // Four times 4,000 bytes are enough for four of these requests.
  const asked = await call("ask");
  expect(asked.message.result).toMatchObject({ resultType: "input_required" });
  const open = [call("wait"), call("wait"), call("wait")];
  await expect.poll(() => server.calls.length).toBe(4);
  expect((await call("wait")).status).toBe(429);
  expect((await callModern(scene.url, "up__none")).status).toBe(200);
  finish();
  expect((await Promise.all(open)).map(({ status }) => status)).toEqual([200, 200, 200]);
  const { requestState } = asked.message.result!;
  const answer = { requestState, inputResponses: { question1: { action: "accept", content: {} } } };
  expect(textOfReply(await call("ask", answer))).toBe("accept");
  const all = await Promise.all([1, 2, 3, 4].map(() => call("wait")));
  expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

/** Of what lives, in this process, which is the gateway too. */
function megabytes(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

/** Resolves when the gateway has all pieces. */
const inPieces = {
  async node({ url, server }: GatewayScene, pieces: number) {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    const arrived = once(server, "request");
    const head = Object.entries({ host: "localhost", ...HEADERS, "transfer-encoding": "chunked" });
    socket.write(`POST /mcp HTTP/1.1\r\n${head.map((each) => each.join(": ")).join("\r\n")}\r\n\r\n`);
    const [message] = (await arrived) as [IncomingMessage];
    let received = 0;
    const all = new Promise<void>((resolve) => {
      message.on("data", ({ length }: Buffer) => {
        received += length;
        if (received === pieces) resolve();
      });
    });
    socket.write("1\r\n \r\n".repeat(pieces));
    await all;
    return () => socket.destroy();
  },
  async fetch({ gateway }: GatewayScene, pieces: number) {
    const [piece] = [new TextEncoder().encode(" ")];
    let left = pieces;
    let isRead = (): void => {};
    const all = new Promise<void>((resolve) => {
      isRead = resolve;
    });
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left === 0) return isRead();
        left -= 1;
        controller.enqueue(piece!.slice());
      },
    });
    const abort = new AbortController();
    const init = { method: "POST", headers: HEADERS, body, duplex: "half", signal: abort.signal };
    void gateway.fetch(new Request("http://localhost/mcp", init as RequestInit)).catch(() => {});
    await all;
    return () => abort.abort();
  },
};

test.each(["node", "fetch"] as const)(
  "over %s a body in pieces of one byte takes no more memory than others",
  async (way) => {
    const pieces = 200_000;
    await using scene = await openGateway({ mcpServers: {} }, { auth });
    expect((await senderTo(scene)(PING)).status).toBe(200);
    const before = megabytes();
    const end = await inPieces[way](scene, pieces);
    // As a list they have 20 MB and more.
    expect(megabytes() - before).toBeLessThan(8);
    end();
  },
);

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
