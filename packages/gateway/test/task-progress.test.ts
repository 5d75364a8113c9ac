/** Progress of tasks: it goes on after the call is answered, until the task ends. */
import { EventEmitter, once } from "node:events";
import { createToolport } from "toolport";
import { createGateway } from "toolport/serve";
import { describe, expect, onTestFinished, test } from "vitest";
import { type AttackScene, openAttackScene } from "./attack-scene.js";
import { ACCEPT, type Fields, type RpcMessage, readMessages } from "./raw-client.js";
import { type ProgressTaskServer, startInMemory, startOverHttp } from "./support/progress-task-server.js";

const RELATED = "io.modelcontextprotocol/related-task";

/** What a client without, and with, capabilities declares: with them it has a connection of its own to a legacy server. */
const CAPABILITIES = [{}, { elicitation: { form: {} } }];

interface Client {
  readonly messages: RpcMessage[];
  request(method: string, params: Fields): Promise<RpcMessage>;
  /** Resolves with the next notification of this method. */
  next(method: string): Promise<RpcMessage>;
}

type Open = (server: ProgressTaskServer, capabilities: Fields) => Promise<Client>;

function inbox() {
  const messages: RpcMessage[] = [];
  const news = new EventEmitter();
  const take = (message: RpcMessage) => {
    messages.push(message);
    news.emit(message.method ?? `response ${message.id}`, message);
  };
  const next = async (name: string) => (await once(news, name))[0] as RpcMessage;
  return { messages, take, next };
}

/** A client on the same connection for everything. */
const openOverMemory: Open = async ({ entry }, capabilities) => {
  const toolport = createToolport({ mcpServers: { up: entry } });
  const gateway = createGateway(toolport, { auth: false });
  const transport = gateway.memory();
  const { messages, take, next } = inbox();
  transport.onmessage = (message) => take(message as RpcMessage);
  await transport.start();
  onTestFinished(async () => {
    await transport.close();
    await gateway.close();
    await toolport.close();
  });
  let id = 0;
  const request: Client["request"] = async (method, params) => {
    id += 1;
    const answered = next(`response ${id}`);
    await transport.send({ jsonrpc: "2.0", id, method, params } as never);
    return answered;
  };
  await request("initialize", hello(capabilities));
  await transport.send({ jsonrpc: "2.0", method: "notifications/initialized" } as never);
  return { messages, request, next };
};

/** A user's client over HTTP, with a stream for news. */
const openOverHttp: Open = async ({ entry }, capabilities) => {
  const scene = await openAttackScene({ mcpServers: { up: entry } });
  onTestFinished(() => scene[Symbol.asyncDispose]());
  return openSession(scene, "ada", capabilities);
};

async function openSession(scene: AttackScene, user: string, capabilities: Fields): Promise<Client> {
  const { messages, take, next } = inbox();
  const session = await scene.session(user, capabilities);
  const stop = new AbortController();
  const headers = {
    accept: ACCEPT,
    authorization: `Bearer ${await scene.tokenOf(user)}`,
    "mcp-session-id": session,
  };
  const stream = await fetch(scene.url, { headers, signal: stop.signal });
  const ended = readMessages(stream, take).catch(() => {});
  onTestFinished(async () => {
    stop.abort();
    await ended;
  });
  const request: Client["request"] = async (method, params) =>
    (await scene.legacy(user, session, { id: 1, method, params }, { onMessage: take })).last;
  return { messages, request, next };
}

const hello = (capabilities: Fields) => ({
  protocolVersion: "2025-11-25",
  capabilities,
  clientInfo: { name: "raw", version: "1" },
});

const SERVERS = { "in memory": startInMemory, "over HTTP": startOverHttp };
const CLIENTS = { "in memory": openOverMemory, "over HTTP": openOverHttp };

describe.each(Object.keys(SERVERS) as (keyof typeof SERVERS)[])("a server %s", (kind) => {
  describe.each(Object.keys(CLIENTS) as (keyof typeof CLIENTS)[])("a client %s", (way) => {
    async function open(capabilities: Fields = {}) {
      const server = await SERVERS[kind]();
      onTestFinished(() => server.close());
      const client = await CLIENTS[way](server, capabilities);
      const call = (meta?: Fields) =>
        client.request("tools/call", {
          name: "up__work",
          arguments: {},
          task: { ttl: 60_000 },
          ...(meta && { _meta: meta }),
        });
      return { server, client, call };
    }

    test.each(CAPABILITIES)(
      "progress goes on under the token and the task of the client: %o",
      async (given) => {
        const { server, client, call } = await open(given);
        const { result } = await call({ progressToken: "mine" });
        const { taskId } = result.task;
        expect(server.token).not.toBe("mine");
        for (const progress of [1, 2]) {
          const next = client.next("notifications/progress");
          server.report(progress);
          expect((await next).params).toEqual({
            progressToken: "mine",
            progress,
            _meta: { [RELATED]: { taskId } },
          });
        }
        const ended = client.next("notifications/tasks/status");
        server.finish();
        expect((await ended).params).toMatchObject({ taskId, status: "completed" });
      },
    );

    test("there is none after the end of the task", async () => {
      const { server, client, call } = await open();
      const first = await call({ progressToken: "first" });
      const ended = client.next("notifications/tasks/status");
      server.finish();
      await ended;
      server.report(1);
      // The client cancels the second task; both are over then.
      const second = await call({ progressToken: "second" });
      const { result } = await client.request("tasks/cancel", { taskId: second.result.task.taskId });
      expect(result.status).toBe("cancelled");
      server.report(2);
      const third = await call({ progressToken: "third" });
      const next = client.next("notifications/progress");
      server.report(3);
      expect((await next).params).toMatchObject({ progressToken: "third", progress: 3 });
      expect(new Set([first, second, third].map(({ result: { task } }) => task.taskId)).size).toBe(3);
      expect(client.messages.filter(({ method }) => method === "notifications/progress")).toHaveLength(1);
    });

    test("a client that wants no progress gets none", async () => {
      const { server, client, call } = await open();
      await call();
      server.report(1);
      const ended = client.next("notifications/tasks/status");
      server.finish();
      await ended;
      expect(client.messages.filter(({ method }) => method === "notifications/progress")).toEqual([]);
    });
  });
});

const call = (progressToken: string) => ({
  name: "up__work",
  arguments: {},
  task: {},
  _meta: { progressToken },
});

const progressIn = ({ messages }: Client) =>
  messages.flatMap(({ method, params }) =>
    method === "notifications/progress" ? [[params?.["progressToken"], params?.["progress"]]] : [],
  );

test("progress reaches only the session that began the task", async () => {
  const server = startInMemory();
  await using scene = await openAttackScene({ mcpServers: { up: server.entry } });
  const [mine, other, foreign] = await Promise.all(
    ["ada", "ada", "bob"].map((user) => openSession(scene, user, {})),
  );
  await mine!.request("tools/call", call("same"));
  const next = mine!.next("notifications/progress");
  server.report(1);
  await next;
  // These sessions get news, too.
  const ended = other!.next("notifications/tasks/status");
  server.finish();
  await ended;
  expect([mine, other, foreign].map((client) => progressIn(client!))).toEqual([[["same", 1]], [], []]);
});

test("a user follows the progress of 64 tasks at once", async () => {
  const server = startInMemory();
  const client = await openOverMemory(server, {});
  await client.request("tools/call", call("first"));
  const first = server.token;
  for (let count = 0; count < 64; count += 1) await client.request("tools/call", call(`task ${count}`));
  server.report(1, first);
  const next = client.next("notifications/progress");
  server.report(2);
  await next;
  expect(progressIn(client)).toEqual([["task 63", 2]]);
});

test("progress of a client without a stream is dropped, and the next call works", async () => {
  const server = startInMemory();
  await using scene = await openAttackScene({ mcpServers: { up: server.entry } });
  const session = await scene.session("ada");
  const work = () => scene.legacy("ada", session, { id: 1, method: "tools/call", params: call("mine") });
  await work();
  server.report(1);
  const { last } = await work();
  expect(last.result.task.status).toBe("working");
});
