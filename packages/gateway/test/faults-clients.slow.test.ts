/** Faults of clients of a gateway: gone in the middle of a call, too slow to read, too many requests at once. */
import { EventEmitter, once } from "node:events";
import { inputRequired } from "@modelcontextprotocol/server";
import { createTestServer, type TestToolContext } from "toolport/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../../../test/support/wait-for.js";
import { openGateway } from "./gateway-scene.js";
import { callModern, openRaw, readAll, sendModern, textOfReply } from "./support/raw-gateway-client.js";
import { warmUp } from "./warm-up.js";

beforeAll(warmUp);

const ERAS = ["modern", "legacy"] as const;
const FORM = { elicitation: { form: {} } };

/** A server whose tool waits until it is cancelled or asked to go on. */
function createWaiting(era: (typeof ERAS)[number] | "both" = "both") {
  const news = new EventEmitter();
  const server = createTestServer({
    era,
    tools: {
      wait: {
        handler: (_args, { signal }) =>
          new Promise<string>((resolve) => {
            news.once("go on", () => resolve("done"));
            signal.addEventListener("abort", () => news.emit("cancelled"));
            news.emit("started");
          }),
      },
      ask: {
        handler(_args, { request, signal }: TestToolContext) {
          signal.addEventListener("abort", () => news.emit("cancelled"));
          if (request.mcpReq.inputResponses !== undefined) return "answered";
          return inputRequired({
            inputRequests: {
              name: inputRequired.elicit({
                message: "Your name?",
                requestedSchema: { type: "object", properties: { name: { type: "string" } } },
              } as never),
            },
          });
        },
      },
      echo: { handler: () => "ok" },
    },
  });
  return { server, news };
}

describe("G09 a client is gone in the middle of a call", () => {
  test.each(ERAS)("a %s server is cancelled when the connection of the client closes", async (era) => {
    const { server, news } = createWaiting(era);
    await using _ = server;
    const { url } = await server.http();
    await using scene = await openGateway({ mcpServers: { one: { url } } });
    const started = once(news, "started");
    const cancelled = once(news, "cancelled");
    const { response, abandon } = openRaw(scene.url, "tools/call", { name: "one__wait", arguments: {} });
    const failed = expect(response).rejects.toThrow();
    await started;
    abandon();
    await cancelled;
    await failed;
    expect(textOfReply(await callModern(scene.url, "one__echo"))).toBe("ok");
  });

  test.each(ERAS)("a server is cancelled when a %s client aborts its call", async (era) => {
    const { server, news } = createWaiting();
    await using _ = server;
    const { url } = await server.http();
    await using scene = await openGateway({ mcpServers: { one: { url } } });
    const client = await scene.client(era);
    const started = once(news, "started");
    const cancelled = once(news, "cancelled");
    const controller = new AbortController();
    const call = client.callTool({ name: "one__wait", arguments: {} }, { signal: controller.signal });
    const failed = expect(call).rejects.toThrow();
    await started;
    controller.abort();
    await cancelled;
    await failed;
  });

  test("a parked call goes on until its client answers, or until questionTimeoutMs", async () => {
    const { server, news } = createWaiting("legacy");
    await using _ = server;
    const { url } = await server.http();
    await using scene = await openGateway(
      { mcpServers: { one: { url, protocol: "legacy" } } },
      { auth: false, questionTimeoutMs: 1_500 },
    );
    let isCancelled = false;
    news.once("cancelled", () => {
      isCancelled = true;
    });
    const ask = () => callModern(scene.url, "one__ask", {}, { capabilities: FORM });
    const answer = (requestState: unknown) =>
      sendModern(
        scene.url,
        "tools/call",
        {
          name: "one__ask",
          arguments: {},
          requestState,
          inputResponses: { [key]: { action: "accept", content: { name: "Ada" } } },
        },
        { capabilities: FORM },
      );
    // The connection of the first request is closed as soon as the question has arrived.
    const { result } = (await ask()).message;
    const [key = ""] = Object.keys(result?.["inputRequests"] as object);
    expect(isCancelled).toBe(false);
    expect(textOfReply(await answer(result?.["requestState"]))).toBe("answered");
    const unanswered = (await ask()).message.result;
    await waitFor(() => isCancelled, { label: "the end of the parked call" });
    expect((await answer(unanswered?.["requestState"])).message.error).toMatchObject({ code: -32602 });
  });
});

describe("G10 a client reads slowly", () => {
  const COUNT = 400;
  const MESSAGE = "x".repeat(64 * 1024);

  /** A server that sends 25 MB of notifications, more than all sockets on the way hold. */
  function createChatty() {
    const news = new EventEmitter();
    let sent = 0;
    const send = async (notify: (step: number) => Promise<void>) => {
      for (let step = 1; step <= COUNT; step += 1) {
        await notify(step);
        sent = step;
      }
      news.emit("sent");
      return "done";
    };
    const server = createTestServer({
      capabilities: { logging: {} },
      tools: {
        progress: { handler: (_args, { progress }) => send((step) => progress(step, COUNT, MESSAGE)) },
        log: { handler: (_args, { request }) => send(() => request.mcpReq.log("info", MESSAGE)) },
      },
    });
    return { server, news, sent: () => sent };
  }

  test("progress is merged while it does not read, and the result still arrives", async () => {
    const { server, news } = createChatty();
    await using _ = server;
    await using scene = await openGateway({ mcpServers: { one: server.memory() } });
    const allSent = once(news, "sent");
    const response = await openRaw(
      scene.url,
      "tools/call",
      { name: "one__progress", arguments: {} },
      { meta: { progressToken: "p" } },
    ).response;
    await allSent;
    const messages = messagesOf(await readAll(response));
    const steps = messages.flatMap(({ params }) => (params === undefined ? [] : [params.progress]));
    expect(messages.at(-1)).toMatchObject({ result: { content: [{ text: "done" }] } });
    expect(steps.length).toBeLessThan(COUNT);
    expect(steps).toEqual([...steps].sort((a, b) => a - b));
    expect(steps.at(-1)).toBe(COUNT);
  });

  test("is cut when more than 4 MiB of other notifications wait for it", async () => {
    const { server } = createChatty();
    await using _ = server;
    await using scene = await openGateway({ mcpServers: { one: server.memory() } });
    const cut = new Promise((resolve) => {
      scene.server.once("request", (_request, given) => given.once("close", resolve));
    });
    const response = await openRaw(
      scene.url,
      "tools/call",
      { name: "one__log", arguments: {} },
      { meta: { "io.modelcontextprotocol/logLevel": "debug" } },
    ).response;
    await cut;
    await expect(readAll(response)).rejects.toThrow();
  });

  test("responses that it does not read count as its open requests", async () => {
    const TEXT = "x".repeat(9 * 1024 * 1024);
    await using server = createTestServer({
      tools: { big: { handler: () => TEXT }, small: { handler: () => "ok" } },
    });
    await using scene = await openGateway(
      { mcpServers: { one: server.memory() } },
      { auth: false, concurrency: 3 },
    );
    const unread = Array.from({ length: 3 }, () =>
      openRaw(scene.url, "tools/call", { name: "one__big", arguments: {} }),
    );
    const responses = await Promise.all(unread.map(({ response }) => response));
    const refused = await callModern(scene.url, "one__small");
    expect({ status: refused.status, retry: refused.headers["retry-after"] }).toEqual({
      status: 429,
      retry: "1",
    });
    // A reader gets its whole result, and a client that is gone frees its place.
    expect((await readAll(responses[0]!)).length).toBeGreaterThan(TEXT.length);
    await waitFor(async () => textOfReply(await callModern(scene.url, "one__small")) === "ok");
    unread[1]!.abandon();
    unread[2]!.abandon();
    const more = async () =>
      (await Promise.all([1, 2, 3].map(() => callModern(scene.url, "one__small")))).map(textOfReply);
    await waitFor(async () => (await more()).every((text) => text === "ok"));
  });
});

interface StreamedMessage {
  readonly params?: { readonly progress: number };
  readonly result?: unknown;
}

const messagesOf = (stream: string): StreamedMessage[] =>
  stream
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice("data: ".length)) as StreamedMessage);
