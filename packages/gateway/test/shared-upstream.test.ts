/** Two users of one server that does not know them apart: neither gets the tasks and the pages of the other. */
import { EventEmitter, once } from "node:events";
import { memoryStore, type Store } from "toolport";
import { type AuditEvent, type Policy, type PolicyDocument, readPolicy } from "toolport/serve";
import { describe, expect, onTestFinished, test } from "vitest";
import { startJsonRpcServer } from "../../../test/fixtures/servers/http-json-rpc.js";
import { type AttackScene, openAttackScene } from "./attack-scene.js";
import { ACCEPT, type Fields, type RpcMessage, readMessages } from "./raw-client.js";
import { type SharedServer, startSharedServer } from "./support/shared-server.js";

const RELATED = "io.modelcontextprotocol/related-task";
const URLS = { elicitation: { form: {}, url: {} } };

interface Legacy {
  readonly news: readonly RpcMessage[];
  request(method: string, params?: Fields, onMessage?: (message: RpcMessage) => void): Promise<RpcMessage>;
  call(name: string, args?: Fields): Promise<RpcMessage>;
  /** Starts a task and returns the client's id of it. @param id the server's id */
  begin(id: string): Promise<string>;
  /** Resolves when the stream for news has a message with this text. */
  seen(text: string): Promise<void>;
  answer(question: RpcMessage): Promise<unknown>;
}

async function openLegacy(scene: AttackScene, user: string, capabilities: Fields = {}): Promise<Legacy> {
  const session = await scene.session(user, capabilities);
  const stop = new AbortController();
  const authorization = `Bearer ${await scene.tokenOf(user)}`;
  const stream = await fetch(scene.url, {
    headers: { accept: ACCEPT, authorization, "mcp-session-id": session },
    signal: stop.signal,
  });
  const news: RpcMessage[] = [];
  const arrived = new EventEmitter();
  const reading = readMessages(stream, (message) => {
    news.push(message);
    arrived.emit("message");
  }).catch(() => {});
  onTestFinished(async () => {
    stop.abort();
    await reading;
  });
  const request: Legacy["request"] = async (method, params = {}, onMessage = () => {}) =>
    (await scene.legacy(user, session, { id: 1, method, params }, { onMessage })).last;
  const call: Legacy["call"] = (name, args = {}) =>
    request("tools/call", { name: `up__${name}`, arguments: args });
  return {
    news,
    request,
    call,
    async begin(id) {
      const params = { name: "up__work", arguments: { id }, task: { ttl: 60_000 } };
      return (await request("tools/call", params)).result.task.taskId;
    },
    async seen(text) {
      while (!JSON.stringify(news).includes(text)) await once(arrived, "message");
    },
    answer: ({ id }) => scene.legacy(user, session, { id, result: { action: "accept", content: {} } }),
  };
}

async function openServer(): Promise<SharedServer> {
  const server = await startSharedServer();
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

async function openScene(
  server: SharedServer,
  store: Store = memoryStore(),
  more: Parameters<typeof openAttackScene>[1] = {},
  shared?: AttackScene,
): Promise<AttackScene> {
  const scene = await openAttackScene({ mcpServers: { up: server.entry }, store }, more, shared);
  onTestFinished(() => scene[Symbol.asyncDispose]());
  return scene;
}

/** Two users whose connections to the server listen for news. */
async function openUsers(server: SharedServer, capabilities: Fields = {}) {
  const scene = await openScene(server);
  const [ada, bob] = [
    await openLegacy(scene, "ada", capabilities),
    await openLegacy(scene, "bob", capabilities),
  ];
  // Connects the server for each of them.
  for (const client of [ada, bob]) await client.request("tools/list");
  await expect.poll(() => server.listening).toBeGreaterThanOrEqual(2);
  return { scene, ada, bob };
}

const idsOf = async (client: Legacy): Promise<string[]> =>
  (await client.request("tasks/list")).result.tasks.map(({ taskId }: { taskId: string }) => taskId);

const UNKNOWN = { code: -32602, message: "Unknown task" };

/** Every text in a message. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

describe("G16 tasks of a server that lists those of all users", () => {
  test("G16 are listed for the user who began them only, under the id that the user has", async () => {
    const server = await openServer();
    const { ada, bob } = await openUsers(server);
    // More than a page of the server's list, before and after.
    for (const id of ["bob 1", "bob 2", "bob 3"]) await bob.begin(id);
    server.tasks.set("of another client", "working");
    const own = [await ada.begin("ada 1"), await ada.begin("ada 2")];
    await bob.begin("bob 4");
    expect(await idsOf(ada)).toEqual(own);
    const { tasks } = (await ada.request("tasks/list")).result;
    expect(tasks[0]).toMatchObject({ status: "working", statusMessage: "status of ada 1", ttl: 60_000 });
    const texts = textsIn((await bob.request("tasks/list")).result);
    expect(texts.filter((text) => text.startsWith("status of")).sort()).toEqual(
      ["bob 1", "bob 2", "bob 3", "bob 4"].map((id) => `status of ${id}`),
    );
    expect((await ada.request("tasks/result", { taskId: own[0] })).result.content[0].text).toBe(
      "result of ada 1",
    );
    // Tasks that are over stay in the list as long as the server keeps them.
    expect(await idsOf(ada)).toEqual(own);
    server.tasks.delete("ada 1");
    expect(await idsOf(ada)).toEqual([own[1]]);
    expect((await ada.request("tasks/list", { cursor: "2" })).error).toEqual({
      code: -32602,
      message: "Invalid cursor",
    });
  });

  test("G16 are listed on every replica, and after a restart, and on no other gateway", async () => {
    const server = await openServer();
    const store = memoryStore();
    const first = await openScene(server, store);
    const second = await openScene(server, store, {}, first);
    const foreign = await openScene(server, memoryStore(), {}, first);
    const own = await (await openLegacy(first, "ada")).begin("ada 1");
    expect(await idsOf(await openLegacy(second, "ada"))).toEqual([own]);
    expect(await idsOf(await openLegacy(second, "bob"))).toEqual([]);
    expect(await idsOf(await openLegacy(foreign, "ada"))).toEqual([]);
    await second.gateway.close();
    const restarted = await openScene(server, store, {}, first);
    expect(await idsOf(await openLegacy(restarted, "ada"))).toEqual([own]);
  });

  test("the list has the latest 64 tasks of a user; older ones go on", async () => {
    const server = await openServer();
    const { ada } = await openUsers(server);
    const oldest = await ada.begin("oldest");
    const ids: string[] = [];
    for (const part of [1, 2]) {
      const begun = Array.from({ length: 32 }, (_, index) => ada.begin(`task ${part}.${index}`));
      ids.push(...(await Promise.all(begun)));
    }
    expect((await idsOf(ada)).sort()).toEqual(ids.sort());
    expect((await ada.request("tasks/get", { taskId: oldest })).result.status).toBe("working");
  });

  test("tasks that begin at once are all listed", async () => {
    const server = await openServer();
    const store = memoryStore();
    const first = await openScene(server, store);
    const replicas = [first, await openScene(server, store, {}, first)];
    const clients = await Promise.all(replicas.map((scene) => openLegacy(scene, "ada")));
    const ids = await Promise.all(
      Array.from({ length: 20 }, (_, index) => clients[index % 2]!.begin(`task ${index}`)),
    );
    expect((await idsOf(clients[0]!)).sort()).toEqual(ids.sort());
  });

  test("a call begins its task while the store is away", async () => {
    const server = await openServer();
    const store = memoryStore();
    let isAway = false;
    const failing: Store = {
      ...store,
      put(key, ...rest) {
        if (isAway) return Promise.reject(new Error("away"));
        return store.put(key, ...rest);
      },
    };
    const ada = await openLegacy(await openScene(server, failing), "ada");
    await ada.request("tools/list");
    isAway = true;
    const taskId = await ada.begin("ada 1");
    expect((await ada.request("tasks/get", { taskId })).result).toMatchObject({ taskId, status: "working" });
  });

  test("G16 their status reaches the user who began them only", async () => {
    const server = await openServer();
    const { ada, bob } = await openUsers(server);
    const own = { ada: await ada.begin("ada 1"), bob: await bob.begin("bob 1") };
    server.finish("ada 1");
    server.finish("bob 1");
    await Promise.all([ada.seen("status of ada 1"), bob.seen("status of bob 1")]);
    for (const [client, mine, other] of [
      [ada, own.ada, "bob 1"],
      [bob, own.bob, "ada 1"],
    ] as const) {
      expect(client.news.map(({ method, params }) => [method, params?.["taskId"]])).toEqual([
        ["notifications/tasks/status", mine],
      ]);
      expect(JSON.stringify(client.news)).not.toContain(other);
    }
  });

  test("G16 cannot be reached by an id that a result names", async () => {
    const server = await openServer();
    const { ada, bob } = await openUsers(server);
    const own = await ada.begin("ada 1");
    const { result } = await bob.call("report", { job: "ada 1" });
    expect(result).toMatchObject({ content: [{ text: "reported" }] });
    for (const taskId of textsIn(result))
      for (const method of ["tasks/get", "tasks/result", "tasks/cancel"])
        expect((await bob.request(method, { taskId })).error).toEqual(UNKNOWN);
    expect(result._meta?.[RELATED]).toBeUndefined();
    expect(server.tasks.get("ada 1")).toBe("working");
    // To the user who has the task, the server names it by the user's id.
    const named = (await ada.call("report", { job: "ada 1" })).result;
    expect(named._meta[RELATED]).toEqual({ taskId: own });
  });

  test("G16 are not named in log messages and questions", async () => {
    const server = await openServer();
    const { ada, bob } = await openUsers(server, URLS);
    await ada.begin("ada 1");
    const messages: RpcMessage[] = [];
    const call = (tool: string) =>
      bob.request("tools/call", { name: `up__${tool}`, arguments: { job: "ada 1" } }, (message) => {
        messages.push(message);
        if (message.method === "elicitation/create") void bob.answer(message);
      });
    await call("log");
    await call("ask");
    expect(messages.map(({ method }) => method)).toEqual(
      expect.arrayContaining(["notifications/message", "elicitation/create"]),
    );
    expect(JSON.stringify(messages)).not.toContain("ada 1");
  });
});

describe("G16 a modern server", () => {
  test("G16 names tasks of another user in a result: their ids open nothing", async () => {
    const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
    const task = { status: "working", ttlMs: 60_000, createdAt: "2026-11-16T00:00:00Z" };
    await using server = await startJsonRpcServer({
      "tools/list": () => ({
        resultType: "complete",
        ttlMs: 0,
        cacheScope: "private",
        tools: [{ name: "run", inputSchema: { type: "object" } }],
      }),
      "tools/call": ({ params }) => {
        const { job } = params["arguments"] as Fields;
        if (job === undefined) return { ...task, resultType: "task", taskId: "ada 1" };
        const named = { taskId: job, task: { taskId: job }, tasks: [{ taskId: job }] };
        return { ...named, resultType: "complete", content: [], _meta: { [RELATED]: { taskId: job } } };
      },
      "tasks/get": ({ params }) => ({ ...task, resultType: "complete", taskId: params["taskId"] }),
    });
    await using scene = await openAttackScene({ mcpServers: { up: server.entry } });
    const send = async (user: string, method: string, params: Fields) =>
      (await scene.modern(user, method, params, { capabilities: TASKS })).last;
    const { taskId } = (await send("ada", "tools/call", { name: "up__run", arguments: {} })).result;
    expect((await send("ada", "tasks/get", { taskId })).result).toMatchObject({ taskId, status: "working" });
    const { result } = await send("bob", "tools/call", { name: "up__run", arguments: { job: "ada 1" } });
    for (const text of textsIn(result))
      expect((await send("bob", "tasks/get", { taskId: text })).error).toEqual(UNKNOWN);
  });
});

describe("G16 pages of a server that tells all users about each", () => {
  test.each(["visit", "ask"])(
    "G16 that %s demands: their end reaches the user who was sent there only",
    async (tool) => {
      const server = await openServer();
      const { ada, bob } = await openUsers(server, URLS);
      for (const [client, page] of [
        [ada, "page-ada"],
        [bob, "page-bob"],
      ] as const) {
        const params = { name: `up__${tool}`, arguments: { page } };
        const texts: RpcMessage[] = [];
        const last = await client.request("tools/call", params, (message) => {
          texts.push(message);
          if (message.method === "elicitation/create") void client.answer(message);
        });
        expect(JSON.stringify([texts, last])).toContain(`"elicitationId":"${page}"`);
      }
      for (const elicitationId of ["page-ada", "page-bob"])
        server.broadcast("notifications/elicitation/complete", { elicitationId });
      await Promise.all([ada.seen("page-ada"), bob.seen("page-bob")]);
      expect(JSON.stringify(ada.news)).not.toContain("page-bob");
      expect(JSON.stringify(bob.news)).not.toContain("page-ada");
    },
  );
});

/** A policy whose rules the test replaces. */
async function changeable(): Promise<Policy & { deny(tool: string | undefined): Promise<void> }> {
  const read = (rules: PolicyDocument["rules"]) => readPolicy({ default: "allow", rules });
  let current = await read([]);
  const listeners = new Set<() => void>();
  return {
    decide: (request) => current.decide(request),
    decideAll: (requests) => current.decideAll(requests),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close() {},
    async deny(tool) {
      current = await read(tool === undefined ? [] : [{ effect: "deny", tool, reason: "Not any more" }]);
      for (const listener of listeners) listener();
    },
  };
}

describe("a tool that is denied now", () => {
  test("its tasks are unknown: no status, no result, no news", async () => {
    const server = await openServer();
    const policy = await changeable();
    const events: AuditEvent[] = [];
    const audit = (event: AuditEvent) => void events.push(event);
    const scene = await openScene(server, memoryStore(), { policy, audit });
    const ada = await openLegacy(scene, "ada");
    await ada.request("tools/list");
    await expect.poll(() => server.listening).toBeGreaterThanOrEqual(1);
    const taskId = await ada.begin("ada 1");
    const again = await ada.begin("ada 2");
    await policy.deny("work");
    const before = server.asked.length;
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel"])
      expect((await ada.request(method, { taskId })).error).toEqual(UNKNOWN);
    expect((await ada.request("tasks/list")).result.tasks).toEqual([]);
    expect(server.asked.slice(before)).toEqual([]);
    const refused = events.filter(({ method }) => method === "tasks/result");
    expect(refused).toMatchObject([{ server: "up", tool: "work", outcome: "refused" }]);
    server.finish("ada 1");
    // Notifications keep their order, so this one comes after the one that must not come.
    server.broadcast("notifications/message", { level: "error", data: "later" });
    await ada.seen("later");
    await policy.deny(undefined);
    expect((await ada.request("tasks/result", { taskId })).result.content[0].text).toBe("result of ada 1");
    server.finish("ada 2");
    await ada.seen(again);
    expect(JSON.stringify(ada.news)).not.toContain("status of ada 1");
  });

  test("a call that waits for an answer gets none, and is cancelled at the server: here and on another replica", async () => {
    const server = await openServer();
    const store = memoryStore();
    const policy = await changeable();
    const first = await openScene(server, store, { policy });
    const replicas = [first, await openScene(server, store, { policy }, first)];
    for (const [index, replica] of replicas.entries()) {
      await policy.deny(undefined);
      const call = (scene: AttackScene, more: Fields = {}) =>
        scene.modern(
          "ada",
          "tools/call",
          { name: "up__ask", arguments: {}, ...more },
          { capabilities: URLS },
        );
      const { requestState, inputRequests } = (await call(first)).last.result;
      const [key] = Object.keys(inputRequests);
      const more = { requestState, inputResponses: { [key!]: { action: "accept", content: {} } } };
      await policy.deny("ask");
      const { result } = (await call(replica, more)).last;
      expect(result).toMatchObject({
        isError: true,
        _meta: { "toolport/error": { code: "REFUSED", retryable: false, outcome: "unknown" } },
      });
      expect(result.content[0].text).toContain("Not any more");
      expect(server.answers.filter((answer) => answer["result"] !== undefined)).toEqual([]);
      await expect.poll(() => server.cancelled.length).toBe(index + 1);
    }
  });
});

describe("G16 resources of a server that reports each change to all users", () => {
  test("G16 updates reach those who have subscribed only", async () => {
    const server = await openServer();
    const { ada, bob } = await openUsers(server);
    for (const [client, uri] of [
      [ada, "shared://ada"],
      [bob, "shared://bob"],
    ] as const)
      await client.request("resources/subscribe", { uri });
    // The subscription of a client's stream opens in the background.
    await expect
      .poll(() => {
        for (const uri of ["shared://ada", "shared://bob"])
          server.broadcast("notifications/resources/updated", { uri });
        return [ada, bob].map(({ news }) => news.length > 0);
      })
      .toEqual([true, true]);
    expect(JSON.stringify(ada.news)).not.toContain("shared://bob");
    expect(JSON.stringify(bob.news)).not.toContain("shared://ada");
  });

  test("a link in a result does not help to read what the policy denies", async () => {
    const server = await openServer();
    const policy = await readPolicy({
      default: "allow",
      rules: [{ effect: "deny", resource: "shared://bob" }],
    });
    const scene = await openScene(server, memoryStore(), { policy });
    const ada = await openLegacy(scene, "ada");
    const links: Fields[] = (await ada.call("link")).result.content;
    const reads = await Promise.all(links.map(({ uri }) => ada.request("resources/read", { uri })));
    expect(reads.map(({ result, error }) => result?.contents[0].text ?? error?.data?.["code"])).toEqual([
      "content of shared://ada",
      "REFUSED",
    ]);
  });
});
