/** Replicas over a real Redis: it is away or slow, tokens are refreshed, and servers are added. */

import { randomBytes } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { redisStore } from "toolport/redis";
import { createTestServer, type TestServer } from "toolport/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type OAuthBench, startOAuthBench } from "../../../test/support/oauth-bench.js";
import { logIn } from "../../../test/support/oauth-browser.js";
import { sendRaw } from "../../../test/support/raw-request.js";
import { type RedisService, startRedis, withoutRedis } from "../../../test/support/redis-service.js";
import { slowStore } from "../../../test/support/slow-store.js";
import { startTcpProxy, type TcpProxy } from "../../../test/support/tcp-proxy.js";
import { waitFor } from "../../../test/support/wait-for.js";
import { type AttackScene, openAttackScene, URL_OF_GATEWAY } from "./attack-scene.js";
import { ACCEPT, META, type RpcMessage, readMessages, VERSIONS } from "./raw-client.js";

const ORIGIN = new URL(URL_OF_GATEWAY).origin;
const key = randomBytes(32).toString("base64");
const form = { type: "object" as const, properties: { seat: { type: "string" as const } } };

describe.skipIf(withoutRedis)("replicas over Redis", () => {
  let redis: RedisService;
  let proxy: TcpProxy;
  let vault: OAuthBench;
  let upstream: TestServer;
  let prefix = 0;
  /** Of each direction, for all replicas. */
  const ways = { delayMs: 0 };

  beforeAll(async () => {
    [redis, vault] = await Promise.all([startRedis(), startOAuthBench()]);
    proxy = await startTcpProxy(redis.port);
    upstream = createTestServer({
      era: "legacy",
      tools: {
        ping: { handler: () => "pong" },
        book: {
          async handler(_args, { request }) {
            const params = { message: "Which seat?", requestedSchema: form };
            const answer = await request.mcpReq.send({ method: "elicitation/create", params });
            return `booked ${JSON.stringify(answer)}`;
          },
        },
      },
    });
  });
  afterEach(() => {
    proxy.target = redis.port;
    ways.delayMs = 0;
    prefix += 1;
  });
  afterAll(async () => {
    await proxy?.[Symbol.asyncDispose]();
    await Promise.all([redis?.[Symbol.asyncDispose](), vault?.[Symbol.asyncDispose](), upstream?.close()]);
  });

  /** Opens a replica. All of one test share their records. */
  async function replica(shared?: AttackScene): Promise<AttackScene> {
    const url = redis.url.replace(`:${redis.port}/`, `:${proxy.port}/`);
    const store = slowStore(redisStore(url, { key, prefix: `{test-${prefix}}:` }), ways);
    const scene = await openAttackScene(
      {
        mcpServers: { up: (await upstream.http()).entry, vault: { url: vault.url } },
        store,
        callbackUrl: `${ORIGIN}/connect/callback`,
        logger: { debug() {}, info() {}, warn() {}, error() {} },
      },
      { identify: (request) => request.headers.get("x-browser-user") ?? undefined },
      shared,
    );
    return {
      ...scene,
      async [Symbol.asyncDispose]() {
        await scene[Symbol.asyncDispose]();
        await store.close();
      },
    };
  }

  const takeAway = () => {
    // No process listens there.
    proxy.target = 1;
    proxy.cut();
  };
  const bringBack = () => {
    proxy.target = redis.port;
  };
  const statusOf = async ({ url }: AttackScene, path: string) => (await fetch(new URL(path, url))).status;
  const ping = (scene: AttackScene, user = "ada") =>
    scene.modern(user, "tools/call", { name: "up__ping", arguments: {} });
  const pong = { content: [{ type: "text", text: "pong" }] };
  const capabilities = { elicitation: { form: {}, url: {} } };
  const book = (scene: AttackScene, more = {}) =>
    scene.modern("ada", "tools/call", { name: "up__book", arguments: {}, ...more }, { capabilities });

  /** Opens a page in the browser of a user. */
  const browse = (scene: AttackScene, url: string | URL, cookie = "") => {
    const { pathname, search } = new URL(url);
    const headers = { host: "127.0.0.1", "x-browser-user": scene.principalOf("ada"), cookie };
    return sendRaw(scene.url, pathname + search, { headers });
  };

  test("G26 without the store calls go on, logins and handed-over answers get 503, and all of it heals", async () => {
    await using one = await replica();
    await using two = await replica(one);
    expect((await ping(one)).last.result).toMatchObject(pong);
    expect((await ping(two)).last.result).toMatchObject(pong);
    const session = await one.session("ada");
    const whoami = { name: "vault__whoami", arguments: {} };
    const login = (await one.modern("ada", "tools/call", whoami, { capabilities })).last.result;
    const asked = (await book(one)).last.result;
    // A call of a legacy client, which is asked on the stream of the call.
    const asking = await one.session("ada", capabilities);
    const news = new EventEmitter();
    const booking = one.legacy(
      "ada",
      asking,
      { id: 5, method: "tools/call", params: { name: "up__book", arguments: {} } },
      { onMessage: (message) => void (message.method && news.emit(message.method, message)) },
    );
    const [question] = (await once(news, "elicitation/create")) as [RpcMessage];
    const reply = { id: question.id, result: { action: "accept", content: { seat: "2B" } } };
    takeAway();
    await waitFor(async () => (await statusOf(one, "/readyz")) === 503);
    expect(await statusOf(one, "/healthz")).toBe(200);
    // Calls of known users, of a new user, of a session, and a new session.
    expect((await ping(one)).last.result).toMatchObject(pong);
    expect((await ping(one, "grace")).last.result).toMatchObject(pong);
    const call = { id: 1, method: "tools/call", params: { name: "up__ping", arguments: {} } };
    for (const id of [session, await two.session("ada")])
      expect((await two.legacy("ada", id, call)).last.result).toMatchObject(pong);
    // Logins.
    const { url } = login.inputRequests.login.params;
    expect((await browse(one, url)).status).toBe(503);
    // The call waits on the first replica, its answer reaches the second one.
    const [name] = Object.keys(asked.inputRequests);
    const answer = {
      requestState: asked.requestState,
      inputResponses: { [name!]: { action: "accept", content: { seat: "1A" } } },
    };
    const early = await book(two, answer);
    expect({ status: early.status, error: early.last.error }).toMatchObject({
      status: 503,
      error: { code: -32603, data: { retryable: true } },
    });
    expect((await two.legacy("ada", asking, reply)).status).toBe(503);
    // Ended here at once, on the other replica when the store is back.
    const ended = await one.session("ada");
    const headers = { authorization: `Bearer ${await one.tokenOf("ada")}`, "mcp-session-id": ended };
    const deleting = fetch(one.url, { method: "DELETE", headers });
    await waitFor(async () => (await one.legacy("ada", ended, call)).status === 404);
    bringBack();
    // 503 if the store was away for longer than its client tries again. The end of the session is saved later then.
    expect([200, 503]).toContain((await deleting).status);
    await waitFor(
      async () => (await statusOf(one, "/readyz")) === 200 && (await statusOf(two, "/readyz")) === 200,
    );
    expect((await book(two, answer)).last.result.content[0].text).toContain("booked");
    expect((await two.legacy("ada", asking, reply)).status).toBe(202);
    expect((await booking).last.result.content[0].text).toContain("2B");
    await waitFor(async () => (await two.legacy("ada", ended, call)).status === 404);
    const page = await browse(one, url);
    expect(page.status).toBe(302);
    const cookie = page.headers["set-cookie"]!.map((line) => line.split(";")[0]).join("; ");
    expect((await browse(one, await logIn(page.headers.location!, "ada"), cookie)).status).toBe(200);
    expect((await one.modern("ada", "tools/call", whoami)).last.result.content[0].text).toBe("ada");
  });

  test("G26 a store that is away at the start: 503 until it is back", async () => {
    takeAway();
    await using scene = await replica();
    expect((await ping(scene)).status).toBe(503);
    expect(await statusOf(scene, "/readyz")).toBe(503);
    bringBack();
    await waitFor(async () => (await statusOf(scene, "/readyz")) === 200);
    expect((await ping(scene)).last.result).toMatchObject(pong);
  });

  test("G26 a slow store does not slow calls", async () => {
    await using scene = await replica();
    expect((await ping(scene)).last.result).toMatchObject(pong);
    const session = await scene.session("ada");
    const call = { id: 1, method: "tools/call", params: { name: "up__ping", arguments: {} } };
    ways.delayMs = 1_000;
    const ended: string[] = [];
    // One operation of the store.
    const ready = statusOf(scene, "/readyz").then(() => void ended.push("store"));
    for (let index = 0; index < 10; index += 1) {
      expect((await ping(scene)).last.result).toMatchObject(pong);
      expect((await scene.legacy("ada", session, call)).last.result).toMatchObject(pong);
    }
    ended.push("calls");
    await ready;
    expect(ended).toEqual(["calls", "store"]);
    ways.delayMs = 0;
  });

  test("G25 three replicas with an expired token: one token request", async () => {
    await using one = await replica();
    await using two = await replica(one);
    await using three = await replica(one);
    const whoami = { name: "vault__whoami", arguments: {} };
    const { last } = await one.modern("ada", "tools/call", whoami, { capabilities });
    const page = await browse(one, last.result.inputRequests.login.params.url);
    const cookie = page.headers["set-cookie"]!.map((line) => line.split(";")[0]).join("; ");
    expect((await browse(one, await logIn(page.headers.location!, "ada"), cookie)).status).toBe(200);
    const callAll = (times: number) =>
      Promise.all(
        [one, two, three].flatMap((scene) =>
          Array.from({ length: times }, async () => {
            const answer = await scene.modern("ada", "tools/call", whoami);
            return answer.last.result.content[0].text;
          }),
        ),
      );
    expect(new Set(await callAll(1))).toEqual(new Set(["ada"]));
    const before = vault.countTokens("refresh_token");
    vault.expireAccessTokens();
    expect(new Set(await callAll(10))).toEqual(new Set(["ada"]));
    expect(vault.countTokens("refresh_token")).toBe(before + 1);
    expect(vault.revokedFamilies).toEqual([]);
  });

  test("G27 a server that is added on one replica is offered on all, with list_changed", async () => {
    await using one = await replica();
    await using two = await replica(one);
    expect((await ping(two)).last.result).toMatchObject(pong);
    await two.modern("ada", "tools/list");
    const controller = new AbortController();
    const news = new EventEmitter();
    const method = "subscriptions/listen";
    const response = await fetch(two.url, {
      method: "POST",
      headers: {
        accept: ACCEPT,
        "content-type": "application/json",
        authorization: `Bearer ${await two.tokenOf("ada")}`,
        "mcp-protocol-version": VERSIONS.modern,
        "mcp-method": method,
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method,
        params: {
          notifications: { toolsListChanged: true },
          _meta: { [META.version]: VERSIONS.modern, [META.capabilities]: {} },
        },
      }),
      signal: controller.signal,
    });
    const ended = readMessages(response, (message: RpcMessage) => void news.emit(message.method ?? "")).catch(
      () => {},
    );
    await once(news, "notifications/subscriptions/acknowledged");
    const changed = once(news, "notifications/tools/list_changed");
    await using added = createTestServer({ tools: { fresh: { handler: () => "new" } } });
    await one.toolport.add("added", (await added.http()).entry);
    await changed;
    await waitFor(async () => {
      const { tools } = (await two.modern("ada", "tools/list")).last.result;
      return tools.some(({ name }: { name: string }) => name === "added__fresh");
    });
    const { last } = await two.modern("ada", "tools/call", { name: "added__fresh", arguments: {} });
    expect(last.result.content[0].text).toBe("new");
    controller.abort();
    await ended;
  });
});
