/** News of one user never reach another one: lists, contents, log messages, progress, updates of resources and questions. */
import { EventEmitter, once } from "node:events";
import type { ServerContext } from "@modelcontextprotocol/server";
import { createTestServer, type TestServer, type TestTool } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startJsonRpcServer } from "../../../test/fixtures/servers/http-json-rpc.js";
import { type AttackScene, openAttackScene } from "./attack-scene.js";
import { ACCEPT, type Fields, META, type RpcMessage, readMessages, VERSIONS } from "./raw-client.js";

const USERS = ["ada", "bob"] as const;
const ERAS = ["modern", "legacy"] as const;

/** The server learns the user by a header. */
function nameUsers(scene: AttackScene): void {
  for (const user of USERS) scene.toolport.as(scene.principalOf(user), { headers: { "x-user": user } });
}

const userOf = (request: ServerContext): string => request.http?.req?.headers.get("x-user") ?? "unknown";

describe("G16 lists and contents", () => {
  test("G16 only a list that the server calls public is shared between users", async () => {
    const listOf = (cache: Fields) => ({
      "tools/list": ({ headers }: { headers: NodeJS.Dict<string | string[]> }) => ({
        resultType: "complete",
        ...cache,
        tools: [{ name: `for_${headers["x-user"]}`, inputSchema: { type: "object" } }],
      }),
    });
    await using common = await startJsonRpcServer(listOf({ ttlMs: 3_600_000, cacheScope: "public" }));
    await using own = await startJsonRpcServer({
      ...listOf({ ttlMs: 3_600_000, cacheScope: "private" }),
      "resources/list": () => ({
        resultType: "complete",
        ttlMs: 3_600_000,
        cacheScope: "private",
        resources: [{ uri: "test://me", name: "me" }],
      }),
      "resources/read": ({ headers }) => ({
        resultType: "complete",
        ttlMs: 3_600_000,
        cacheScope: "private",
        contents: [{ uri: "test://me", text: `of ${headers["x-user"]}` }],
      }),
    });
    await using unsaid = await startJsonRpcServer(listOf({}));
    await using scene = await openAttackScene({
      mcpServers: { common: common.entry, own: own.entry, unsaid: unsaid.entry },
    });
    nameUsers(scene);
    const namesOf = async (user: string) => {
      const { last } = await scene.modern(user, "tools/list");
      expect(last.result.cacheScope).toBe("private");
      return last.result.tools.map(({ name }: { name: string }) => name);
    };
    expect(await namesOf("ada")).toEqual(["common__for_ada", "own__for_ada", "unsaid__for_ada"]);
    expect(await namesOf("bob")).toEqual(["common__for_ada", "own__for_bob", "unsaid__for_bob"]);
    const read = async (user: string) =>
      (await scene.modern(user, "resources/read", { uri: "test://me" })).last.result.contents[0].text;
    expect(await Promise.all([...USERS, ...USERS].map(read))).toEqual([
      "of ada",
      "of bob",
      "of ada",
      "of bob",
    ]);
  });
});

/** What the tool `noise` does is seen by its own user only. */
const events = new EventEmitter();
/** Refusals of questions that belonged to no call. */
const refused: unknown[] = [];

const question = (message: string) => ({
  message,
  requestedSchema: { type: "object" as const, properties: { name: { type: "string" as const } } },
});

function createNoise(era: "modern" | "legacy"): TestServer {
  let arrived = 0;
  const noise: TestTool = {
    async handler(_args, { request, server }) {
      const user = userOf(request);
      arrived += 1;
      // Both calls are in flight before either makes noise.
      if (arrived % 2 === 0) events.emit("both");
      else await once(events, "both");
      const { progressToken } = request.mcpReq._meta ?? {};
      const send = (method: string, params: Fields) => request.mcpReq.notify({ method, params } as never);
      await send("notifications/message", { level: "error", data: `log of ${user}` });
      await send("notifications/progress", { progressToken, progress: 1, message: `progress of ${user}` });
      if (era === "legacy") {
        // Bound to no call: these belong to the connection, which is this user's.
        await server.sendLoggingMessage({ level: "error", data: `connection log of ${user}` });
        for (const each of USERS) await server.sendResourceUpdated({ uri: `${era}://${each}` });
        const answer = await request.mcpReq.send({
          method: "elicitation/create",
          params: question(`question to ${user}`),
        });
        return `${user} answered ${JSON.stringify(answer)}`;
      }
      return `result of ${user}`;
    },
  };
  const later: TestTool = {
    handler(_args, { server, request }) {
      const user = userOf(request);
      void once(events, "returned")
        .then(() => server.elicitInput(question(`late question to ${user}`)))
        .then((answer) => refused.push(answer))
        .catch((error: unknown) => refused.push(error))
        .finally(() => events.emit("refused"));
      return "started";
    },
  };
  return createTestServer({
    era,
    tools: { noise, later },
    resources: { [`${era}://ada`]: { text: "a" }, [`${era}://bob`]: { text: "b" } },
    capabilities: { logging: {} },
  });
}

const servers = { modern: createNoise("modern"), legacy: createNoise("legacy") };
let scene: AttackScene;

beforeAll(async () => {
  scene = await openAttackScene({
    mcpServers: {
      modern: (await servers.modern.http()).entry,
      legacy: (await servers.legacy.http()).entry,
    },
  });
  nameUsers(scene);
});

afterAll(async () => {
  await scene?.[Symbol.asyncDispose]();
  await Promise.all(ERAS.map((era) => servers[era].close()));
});

const capabilities = { elicitation: { form: {} } };

interface Watch {
  readonly messages: RpcMessage[];
  stop(): Promise<void>;
}

/** The stream on which a client gets news that belong to no request of its own. */
async function watch(
  era: "modern" | "legacy",
  { user, session, uri }: { user: string; session: string; uri: string },
): Promise<Watch> {
  const controller = new AbortController();
  const authorization = `Bearer ${await scene.tokenOf(user)}`;
  const method = "subscriptions/listen";
  const notifications = { toolsListChanged: true, resourceSubscriptions: [uri] };
  const _meta = { [META.version]: VERSIONS.modern, [META.capabilities]: {} };
  const response = await (era === "modern"
    ? fetch(scene.url, {
        method: "POST",
        headers: {
          authorization,
          accept: ACCEPT,
          "content-type": "application/json",
          "mcp-protocol-version": VERSIONS.modern,
          "mcp-method": method,
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { notifications, _meta } }),
        signal: controller.signal,
      })
    : fetch(scene.url, {
        headers: { authorization, accept: ACCEPT, "mcp-session-id": session },
        signal: controller.signal,
      }));
  const messages: RpcMessage[] = [];
  const news = new EventEmitter();
  const ended = readMessages(response, (message) => {
    messages.push(message);
    news.emit("message");
  }).catch(() => {});
  const seen = async (text: string) => {
    while (!JSON.stringify(messages).includes(text)) await once(news, "message");
  };
  if (era === "modern") await seen("acknowledged");
  return {
    messages,
    async stop() {
      controller.abort();
      await ended;
    },
  };
}

/** Sends the answer to a question of a server. */
async function answer(user: string, session: string, { id }: RpcMessage): Promise<void> {
  const result = { action: "accept", content: { name: user } };
  await scene.legacy(user, session, { id, result });
}

describe.each(ERAS)("G16 clients of a %s server", (server) => {
  test.each(ERAS)("G16 %s clients get only their own news", async (era) => {
    const sessions = await Promise.all(USERS.map((user) => scene.session(user, capabilities)));
    const watches: Watch[] = [];
    for (const [index, user] of USERS.entries()) {
      const session = sessions[index]!;
      const uri = `${server}://${user}`;
      if (era === "legacy")
        await scene.legacy(user, session, { id: 7, method: "resources/subscribe", params: { uri } });
      watches.push(await watch(era, { user, session, uri }));
    }
    const params = { name: `${server}__noise`, arguments: {} };
    // Equal ids and progress tokens.
    const meta = { progressToken: 1, "io.modelcontextprotocol/logLevel": "debug" };
    const answers = await Promise.all(
      USERS.map(async (user, index) => {
        const session = sessions[index]!;
        if (era === "legacy") {
          return scene.legacy(
            user,
            session,
            { id: 1, method: "tools/call", params: { ...params, _meta: { progressToken: 1 } } },
            {
              onMessage(message) {
                if (message.method === "elicitation/create") void answer(user, session, message);
              },
            },
          );
        }
        const asked = await scene.modern(user, "tools/call", params, { capabilities, meta });
        const { requestState, inputRequests } = asked.last.result;
        if (requestState === undefined) return asked;
        const [key] = Object.keys(inputRequests);
        const inputResponses = { [key!]: { action: "accept", content: { name: user } } };
        const next = await scene.modern(
          user,
          "tools/call",
          { ...params, requestState, inputResponses },
          { capabilities, meta },
        );
        return { ...next, messages: [...asked.messages, ...next.messages] };
      }),
    );
    // The news of each user's own resource, after everything else.
    for (const [index, user] of USERS.entries()) {
      const uri = `${server}://${user}`;
      // A legacy client does not learn when its subscription is open, so the server says it until it is.
      const seen = async () => {
        await servers[server].resourceUpdated(uri);
        return JSON.stringify(watches[index]!.messages);
      };
      await expect.poll(seen).toContain(`{"uri":"${uri}"`);
    }
    await Promise.all(watches.map((each) => each.stop()));
    for (const [index, user] of USERS.entries()) {
      const other = USERS[1 - index]!;
      const seen = JSON.stringify([answers[index]!.messages, watches[index]!.messages]);
      // Each message once: on the stream of the call, or on the other one.
      expect(seen.split(`"log of ${user}"`)).toHaveLength(2);
      if (server === "legacy") expect(seen.split(`"connection log of ${user}"`)).toHaveLength(2);
      expect(seen).toContain(`progress of ${user}`);
      if (server === "legacy") {
        expect(seen).toContain(`question to ${user}`);
        expect(answers[index]!.last.result.content[0].text).toContain(`${user} answered`);
      } else expect(answers[index]!.last.result.content[0].text).toBe(`result of ${user}`);
      expect(seen).not.toContain(`of ${other}`);
      expect(seen).not.toContain(`to ${other}`);
      expect(seen).not.toContain(`://${other}`);
    }
  });
});

test("G16 a question that belongs to no call is refused and shown to no client", async () => {
  const sessions = await Promise.all(USERS.map((user) => scene.session(user, capabilities)));
  const watches = await Promise.all(
    USERS.map((user, index) => watch("legacy", { user, session: sessions[index]!, uri: "" })),
  );
  const params = { name: "legacy__later", arguments: {} };
  const { messages } = await scene.legacy("ada", sessions[0]!, { id: 1, method: "tools/call", params });
  const over = once(events, "refused");
  events.emit("returned");
  await over;
  expect(refused).toMatchObject([{ code: expect.any(Number) }]);
  await Promise.all(watches.map((each) => each.stop()));
  expect(JSON.stringify([messages, ...watches.map((each) => each.messages)])).not.toContain("late question");
});
