/** What a user waits with counts: parked calls and unanswered questions as requests, streams as streams. Answers get through. */
import { once } from "node:events";
import type { Client, ClientOptions } from "@modelcontextprotocol/client";
import { memoryStore } from "toolport";
import type { GatewayOptions } from "toolport/serve";
import { createTestServer, type TestServer } from "toolport/testing";
import { expect, onTestFinished, test } from "vitest";
import { type GatewayScene, openGateway } from "./gateway-scene.js";
import { callModern, openRaw, type RawReply, sendModern, textOfReply } from "./support/raw-gateway-client.js";

const QUESTION = { message: "Which seat?", requestedSchema: { type: "object" as const, properties: {} } };
const ACCEPTED = { action: "accept", content: {} } as const;
const capabilities = { elicitation: { form: {} } };

function createAsking(): TestServer {
  const server = createTestServer({
    era: "legacy",
    tools: {
      ask: {
        handler: (_args, { request }) =>
          request.mcpReq.elicitInput(QUESTION).then(
            ({ action }) => action,
            () => "no answer",
          ),
      },
      echo: { handler: () => "ok" },
    },
  });
  onTestFinished(() => server.close());
  return server;
}

async function open(options: Omit<GatewayOptions, "auth">): Promise<GatewayScene> {
  const { entry } = await createAsking().http();
  return openGateway({ mcpServers: { up: entry } }, { auth: false, ...options });
}

/** Calls `ask`, and answers the question of `asked`. */
const ask = (url: string, asked?: RawReply): Promise<RawReply> => {
  const requestState = asked?.message.result?.["requestState"];
  const answers = asked && { requestState, inputResponses: { question1: ACCEPTED } };
  return sendModern(url, "tools/call", { name: "up__ask", arguments: {}, ...answers }, { capabilities });
};

const typeOf = ({ message }: RawReply): unknown => message.result?.["resultType"];

test("a parked call counts as a request until it is answered, and its answer gets through", async () => {
  await using scene = await open({ concurrency: 1 });
  const asked = await ask(scene.url);
  expect(typeOf(asked)).toBe("input_required");
  expect((await callModern(scene.url, "up__echo")).status).toBe(429);
  // Only the answer to a parked call may use its place, and only once.
  const forged = { requestState: "forged", name: "up__echo", arguments: {} };
  expect((await sendModern(scene.url, "tools/call", forged)).status).toBe(429);
  const foreign = { ...forged, requestState: asked.message.result!["requestState"] };
  expect((await sendModern(scene.url, "tools/list", foreign)).status).toBe(200);
  const other = await sendModern(scene.url, "tools/call", foreign);
  expect(other.message.error?.message).toBe("Invalid or expired requestState");
  expect(textOfReply(await ask(scene.url, asked))).toBe("accept");
  expect(textOfReply(await callModern(scene.url, "up__echo"))).toBe("ok");
  // The place of the call was given back once.
  expect(typeOf(await ask(scene.url))).toBe("input_required");
  expect((await callModern(scene.url, "up__echo")).status).toBe(429);
});

test("a parked call that is never answered frees its place after questionTimeoutMs", async () => {
  await using scene = await open({ concurrency: 1, questionTimeoutMs: 50 });
  expect(typeOf(await ask(scene.url))).toBe("input_required");
  await expect.poll(async () => textOfReply(await callModern(scene.url, "up__echo"))).toBe("ok");
});

test("a parked call that another replica gets the answer to frees its place", async () => {
  const { entry } = await createAsking().http();
  const store = memoryStore();
  const options = { auth: false, concurrency: 1 } as const;
  await using one = await openGateway({ mcpServers: { up: entry }, store }, options);
  await using two = await openGateway({ mcpServers: { up: entry }, store }, options);
  const asked = await ask(one.url);
  expect((await callModern(one.url, "up__echo")).status).toBe(429);
  expect(textOfReply(await ask(two.url, asked))).toBe("accept");
  expect(textOfReply(await callModern(one.url, "up__echo"))).toBe("ok");
});

/** A legacy client that answers its questions on an event. */
async function connect(scene: GatewayScene, options: ClientOptions = { capabilities }) {
  const client = await scene.client("legacy", options);
  const questions = new EventTarget();
  client.setRequestHandler("elicitation/create", async () => {
    const answer = once(questions, "answer");
    questions.dispatchEvent(new Event("asked"));
    await answer;
    return ACCEPTED;
  });
  return { client, questions };
}

const statusOf = (client: Client): Promise<unknown> =>
  client.callTool({ name: "up__echo", arguments: {} }).then(
    () => 200,
    (error: { data?: { status?: number }; code?: unknown }) => error.data?.status ?? error.code,
  );

test.each<[string, Omit<GatewayOptions, "auth">]>([
  ["at concurrency", { concurrency: 1 }],
  // The handshake, its notification, the stream for news, and one call.
  ["above the rate", { rateLimit: { perSecond: 0.001, burst: 4 } }],
])("answers and cancellations of a legacy client get through %s", async (_, options) => {
  await using scene = await open(options);
  const { client, questions } = await connect(scene);
  const asked = once(questions, "asked");
  const calling = client.callTool({ name: "up__ask", arguments: {} });
  await asked;
  // The stream for news may arrive after the call.
  await expect.poll(() => statusOf(client)).toBe(429);
  questions.dispatchEvent(new Event("answer"));
  expect(await calling).toMatchObject({ content: [{ text: "accept" }] });
});

test("a legacy client cancels a call at concurrency", async () => {
  await using scene = await open({ concurrency: 1 });
  const { client, questions } = await connect(scene);
  const asked = once(questions, "asked");
  const controller = new AbortController();
  const calling = client.callTool({ name: "up__ask", arguments: {} }, { signal: controller.signal });
  await asked;
  controller.abort();
  await expect(calling).rejects.toThrow();
  await expect.poll(() => statusOf(client)).toBe(200);
  questions.dispatchEvent(new Event("answer"));
});

test("a question that a legacy client never answers frees its place after questionTimeoutMs", async () => {
  await using scene = await open({ concurrency: 1, questionTimeoutMs: 50 });
  const { client, questions } = await connect(scene);
  const result = await client.callTool({ name: "up__ask", arguments: {} });
  expect(result).toMatchObject({ content: [{ text: "no answer" }] });
  expect(await statusOf(client)).toBe(200);
  questions.dispatchEvent(new Event("answer"));
});

/** The token is the name of the user. */
const auth = {
  verify: (request: Request) => ({ principal: request.headers.get("authorization")!.slice(7) }),
};

test.each<[string, GatewayOptions, number]>([
  ["a tenth of all streams", { auth, maxStreams: 20 }, 2],
  ["as many streams as the option says", { auth, maxStreamsPerUser: 1 }, 1],
  ["all streams if there are no users", { auth: false, maxStreams: 2 }, 2],
])("one user may open %s", async (_, options, count) => {
  await using scene = await openGateway({ mcpServers: { up: createAsking().memory() } }, options);
  const notifications = { toolsListChanged: true };
  const listen = async (token: string) => {
    const stream = openRaw(scene.url, "subscriptions/listen", { notifications }, { token });
    onTestFinished(() => stream.abandon());
    const response = await stream.response;
    response.on("error", () => {});
    response.resume();
    return { status: response.statusCode, abandon: stream.abandon };
  };
  const opened = [];
  for (let each = 0; each < count; each += 1) opened.push(await listen("mallory"));
  expect(opened.map(({ status }) => status)).toEqual(opened.map(() => 200));
  expect((await listen("mallory")).status).toBe(429);
  if (options.auth !== false) expect((await listen("bob")).status).toBe(200);
  opened[0]!.abandon();
  await expect.poll(async () => (await listen("mallory")).status).toBe(200);
});
