/** A resumed round over HTTP, answered with every status before or after it ran: sent at most once, reported honestly. */
import { createServer, request as forward } from "node:http";
import type { AddressInfo } from "node:net";
import { createToolport, memoryStore, type Suspended, type ToolportError } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { createBookingServer } from "./booking-server.js";

const SEAT = { answers: { seat: { action: "accept", content: { seat: "12A" } } } } as const;

/** What happens to a resumed round: the server runs it or not, and the client gets this status, or a reset. */
interface Fate {
  readonly runs: boolean;
  readonly status: number | "reset";
}

/** Forwards to the server, except rounds with answers while `fate` is set. */
async function startFatefulProxy(url: string) {
  const { hostname, port } = new URL(url);
  const proxy = {
    fate: undefined as Fate | undefined,
    /** Rounds with answers that arrived. */
    rounds: 0,
    headers: [] as (string | undefined)[],
  };
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const isRound = body.includes('"inputResponses"');
    if (isRound) proxy.rounds += 1;
    if (body.includes('"tools/call"')) proxy.headers.push(incoming.headers["x-trace"] as string | undefined);
    const fate = isRound ? proxy.fate : undefined;
    const end = () => {
      if (fate?.status === "reset") incoming.socket.resetAndDestroy();
      else response.writeHead(fate!.status as number, { "retry-after": "0" }).end();
    };
    if (fate !== undefined && !fate.runs) return end();
    const headers = { ...incoming.headers, host: `${hostname}:${port}` };
    const outgoing = forward({ hostname, port, method: incoming.method, path: incoming.url, headers });
    outgoing.on("error", () => response.destroy());
    outgoing.on("response", (answer) => {
      if (fate !== undefined) return void answer.resume().once("end", end);
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    outgoing.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(proxy, {
    entry: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

async function open() {
  const { server, seen } = createBookingServer();
  const http = await server.http();
  const proxy = await startFatefulProxy(http.url);
  const store = memoryStore();
  const options = { mcpServers: { travel: proxy.entry }, store, retry: { baseMs: 1, maxMs: 1 } };
  const toolport = createToolport(options);
  // After a 401 a port does not connect by itself.
  const later = createToolport(options);
  return {
    proxy,
    seen,
    toolport,
    later,
    suspend: async (options: object = {}) =>
      (await toolport.callTool("travel__book", { to: "Oslo" }, { suspend: true, ...options })) as Suspended,
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await later.close();
      await proxy[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

/** These say nothing about whether the round ran. */
const STATUSES = [400, 404, 408, 409, 410, 418, 425, 500, 501, 502, 503, 504, "reset"] as const;
/** These reject the round before it runs. */
const REJECTIONS = [401, 403, 405, 413, 429];

test.each(STATUSES.flatMap((status) => [true, false].map((runs): Fate => ({ status, runs }))))(
  "status $status, after the effect: $runs",
  async (fate) => {
    await using scene = await open();
    const { token } = await scene.suspend();
    scene.proxy.fate = fate;
    const error: ToolportError = await failure(scene.toolport.resume(token, SEAT));
    const effects = scene.seen.booked.length;
    expect(effects).toBe(fate.runs ? 1 : 0);
    if (fate.runs) expect([error.outcome, scene.proxy.rounds]).toEqual(["unknown", 1]);
    if (error.outcome === "unknown") expect(scene.proxy.rounds).toBe(1);
    scene.proxy.fate = undefined;
    const rounds = scene.proxy.rounds;
    if (error.outcome === "unsent") {
      expect(await scene.later.resume(token, SEAT)).toMatchObject({ isError: false });
      expect(scene.seen.booked).toHaveLength(1);
    } else {
      expect(await failure(scene.later.resume(token, SEAT))).toMatchObject({ code: "OUTCOME_UNKNOWN" });
      expect([scene.proxy.rounds, scene.seen.booked.length]).toEqual([rounds, effects]);
    }
  },
);

test.each(REJECTIONS)("status %s before the effect: unsent, and the token stays valid", async (status) => {
  await using scene = await open();
  const { token } = await scene.suspend();
  scene.proxy.fate = { runs: false, status };
  expect(await failure(scene.toolport.resume(token, SEAT))).toMatchObject({ outcome: "unsent" });
  expect(scene.proxy.rounds).toBeLessThanOrEqual(3);
  scene.proxy.fate = undefined;
  expect(await scene.later.resume(token, SEAT)).toMatchObject({ isError: false });
  expect(scene.seen.booked).toHaveLength(1);
});

test("headers of the call are sent with every round", async () => {
  await using scene = await open();
  const { token } = await scene.suspend({ headers: { "x-trace": "t-1" } });
  await scene.toolport.resume(token, SEAT);
  expect(scene.proxy.headers).toEqual(["t-1", "t-1"]);
});

test("_meta of the call is sent with every round", async () => {
  const metas: unknown[] = [];
  await using server = createTestServer({
    tools: {
      ask: {
        async handler(_args, { request }) {
          metas.push((request.mcpReq._meta as Record<string, unknown> | undefined)?.["example.com/order"]);
          return "done";
        },
      },
    },
  });
  await using toolport = createToolport({ mcpServers: { it: server.memory() }, approve: { when: "always" } });
  const meta = { "example.com/order": 7 };
  const { token } = (await toolport.callTool("it__ask", {}, { suspend: true, meta })) as Suspended;
  expect(await toolport.resume(token, { approve: true })).toMatchObject({ text: "done" });
  expect(metas).toEqual([7]);
});
