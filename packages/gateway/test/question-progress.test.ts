/** A server that asks a client may want to know the progress of the answer. */
import { EventEmitter, once } from "node:events";
import { createToolport, type ServerEntry } from "toolport";
import { createGateway } from "toolport/serve";
import { expect, onTestFinished, test } from "vitest";
import { startJsonRpcServer } from "../../../test/fixtures/servers/http-json-rpc.js";
import { handWrittenServer, legacyWelcome } from "../../../test/support/hand-written-server.js";
import { openAttackScene } from "./attack-scene.js";
import { openGateway } from "./gateway-scene.js";
import type { Fields, RpcMessage } from "./raw-client.js";
import { sendModern } from "./support/raw-gateway-client.js";

const RELATED = "io.modelcontextprotocol/related-task";
const SAMPLING = { sampling: {} };

/** Its tool asks for a sample with a token of the server. The result of its task does, too. */
function startAskingServer() {
  const progress: unknown[] = [];
  const news = new EventEmitter();
  let waiting: unknown;
  const transport = handWrittenServer(({ id, method, params, result }, say) => {
    const ask = (meta: Fields) =>
      say({
        id: 99,
        method: "sampling/createMessage",
        params: { messages: [], maxTokens: 1, _meta: { progressToken: 7, "x/kept": 1, ...meta } },
      });
    if (method === "notifications/progress") {
      progress.push(params);
      news.emit("progress");
    } else if (id === 99) say({ id: waiting, result: { content: [], _meta: { "x/answer": result } } });
    else if (method === "initialize")
      say({
        id,
        result: legacyWelcome("asking", { tools: {}, tasks: { requests: { tools: { call: {} } } } }),
      });
    else if (method === "tools/list")
      say({ id, result: { tools: [{ name: "ask", inputSchema: { type: "object" } }] } });
    else if (method === "tools/call" && params?.["task"] !== undefined)
      say({ id, result: { task: { taskId: "up", status: "working", ttl: null } } });
    else if (method === "tools/call" || method === "tasks/result") {
      waiting = id;
      ask(method === "tasks/result" ? { [RELATED]: { taskId: "up" } } : {});
    }
  });
  const entry: ServerEntry = { transport, protocol: "legacy" };
  return { entry, progress, next: () => once(news, "progress") };
}

interface Client {
  /** Sends a message without an answer. */
  tell(message: Fields): Promise<void>;
  /** Sends a request, and resolves with the question that the server asks, and with the answer to the request. */
  ask(method: string, params: Fields): Promise<{ question: RpcMessage; answered: Promise<RpcMessage> }>;
  request(method: string, params: Fields): Promise<RpcMessage>;
}

async function openOverMemory(entry: ServerEntry): Promise<Client> {
  const toolport = createToolport({ mcpServers: { up: entry } });
  const gateway = createGateway(toolport, { auth: false });
  const transport = gateway.memory();
  const news = new EventEmitter();
  transport.onmessage = (message) => {
    const { id, method } = message as RpcMessage;
    news.emit(method ?? `response ${id}`, message);
  };
  await transport.start();
  onTestFinished(async () => {
    await transport.close();
    await gateway.close();
    await toolport.close();
  });
  const next = async (name: string) => (await once(news, name))[0] as RpcMessage;
  let last = 0;
  const tell = (message: Fields) => transport.send({ jsonrpc: "2.0", ...message } as never);
  const request = async (method: string, params: Fields) => {
    last += 1;
    const answered = next(`response ${last}`);
    await tell({ id: last, method, params });
    return answered;
  };
  const clientInfo = { name: "raw", version: "1" };
  await request("initialize", { protocolVersion: "2025-11-25", capabilities: SAMPLING, clientInfo });
  return {
    tell,
    request,
    async ask(method, params) {
      const asked = next("sampling/createMessage");
      const answered = request(method, params);
      return { question: await asked, answered };
    },
  };
}

async function openOverHttp(entry: ServerEntry, other?: { user: string }): Promise<Client> {
  const scene = await openAttackScene({ mcpServers: { up: entry } });
  onTestFinished(() => scene[Symbol.asyncDispose]());
  const session = await scene.session("ada", SAMPLING);
  const foreign = other && (await scene.session(other.user, SAMPLING));
  const request = async (method: string, params: Fields) =>
    (await scene.legacy("ada", session, { id: 1, method, params })).last;
  return {
    request,
    async tell(message) {
      if (other !== undefined && message["method"] !== undefined)
        await scene.legacy(other.user, foreign, message);
      else await scene.legacy("ada", session, message);
    },
    async ask(method, params) {
      let onQuestion = (_message: RpcMessage) => {};
      const asked = new Promise<RpcMessage>((resolve) => {
        onQuestion = resolve;
      });
      const onMessage = (message: RpcMessage) => {
        if (message.method === "sampling/createMessage") onQuestion(message);
      };
      const answered = scene
        .legacy("ada", session, { id: 1, method, params }, { onMessage })
        .then(({ last }) => last);
      return { question: await asked, answered };
    },
  };
}

const CALL = { name: "up__ask", arguments: {} };
const SAMPLE = { role: "assistant", content: { type: "text", text: "ok" }, model: "m" };
const tokenOf = ({ params }: RpcMessage) => (params?.["_meta"] as Fields | undefined)?.["progressToken"];
const progressOf = (progressToken: unknown, progress: number) => ({
  method: "notifications/progress",
  params: {
    progressToken,
    progress,
    total: 10,
    message: "thinking",
    "x-unknown": 1,
    _meta: { "x/kept": 2, "io.modelcontextprotocol/own": 3 },
  },
});

test.each([
  ["in memory", openOverMemory],
  ["over HTTP", openOverHttp],
])("progress of a legacy client %s reaches the server under the server's token", async (_, open) => {
  const server = startAskingServer();
  const client = await open(server.entry);
  const { question, answered } = await client.ask("tools/call", CALL);
  expect(question.params).toMatchObject({ maxTokens: 1, _meta: { "x/kept": 1 } });
  const token = tokenOf(question);
  expect(token).toEqual(expect.any(String));
  const next = server.next();
  await client.tell(progressOf(token, 1));
  await next;
  // Tokens that were not given to this client.
  for (const wrong of [7, "7", `${token}x`, undefined]) await client.tell(progressOf(wrong, 2));
  await client.tell({ id: question.id, result: SAMPLE });
  expect((await answered).result._meta["x/answer"]).toEqual(SAMPLE);
  // The question is over.
  await client.tell(progressOf(token, 3));
  const again = await client.ask("tools/call", CALL);
  expect(tokenOf(again.question)).not.toBe(token);
  await client.tell({ id: again.question.id, result: SAMPLE });
  await again.answered;
  expect(server.progress).toEqual([
    { progressToken: 7, progress: 1, total: 10, message: "thinking", "x-unknown": 1, _meta: { "x/kept": 2 } },
  ]);
});

test("progress of another user is ignored", async () => {
  const server = startAskingServer();
  const client = await openOverHttp(server.entry, { user: "bob" });
  const { question, answered } = await client.ask("tools/call", CALL);
  await client.tell(progressOf(tokenOf(question), 1));
  await client.tell({ id: question.id, result: SAMPLE });
  await answered;
  expect(server.progress).toEqual([]);
});

test("a question about a task names the task as its client knows it", async () => {
  const server = startAskingServer();
  const client = await openOverHttp(server.entry);
  const { result } = await client.request("tools/call", { ...CALL, task: {} });
  const { taskId } = result.task;
  const { question, answered } = await client.ask("tasks/result", { taskId });
  expect(question.params?.["_meta"]).toMatchObject({ [RELATED]: { taskId } });
  await client.tell({ id: question.id, result: SAMPLE });
  expect((await answered).result._meta["x/answer"]).toEqual({
    ...SAMPLE,
    _meta: { [RELATED]: { taskId: "up" } },
  });
});

test("a modern client gets no token: it answers with its next request", async () => {
  const server = startAskingServer();
  await using scene = await openGateway({ mcpServers: { up: server.entry } });
  const { message } = await sendModern(scene.url, "tools/call", CALL, { capabilities: SAMPLING });
  const [question] = Object.values(message.result?.["inputRequests"] as Record<string, RpcMessage>);
  expect(question?.params).toEqual({ messages: [], maxTokens: 1, _meta: { "x/kept": 1 } });
});

test("a legacy client gets no token of a modern server, which takes no progress", async () => {
  const params = {
    message: "?",
    requestedSchema: { type: "object", properties: {} },
    _meta: { progressToken: 7 },
  };
  await using up = await startJsonRpcServer({
    "tools/list": () => ({
      resultType: "complete",
      tools: [{ name: "ask", inputSchema: { type: "object" } }],
    }),
    "tools/call": ({ params: { inputResponses } }) =>
      inputResponses === undefined
        ? {
            resultType: "input_required",
            inputRequests: { a: { method: "elicitation/create", params } },
            requestState: "s",
          }
        : { resultType: "complete", content: [] },
  });
  await using scene = await openGateway({ mcpServers: { up: up.entry } });
  const client = await scene.client("legacy", { capabilities: { elicitation: { form: {} } } });
  const seen: unknown[] = [];
  client.setRequestHandler("elicitation/create", async ({ params: asked }) => {
    seen.push(asked._meta ?? {});
    return { action: "decline" };
  });
  await client.callTool({ name: "up__ask", arguments: {} });
  expect(seen).toEqual([{}]);
});
