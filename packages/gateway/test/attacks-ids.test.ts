/** Ids and states that clients carry: of another user, another request, another gateway, changed, expired or used before. */
import { createTestServer, type TestServer } from "toolport/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { JsonRpcServer } from "../../../test/fixtures/servers/http-json-rpc.js";
import { type AttackScene, openAttackScene } from "./attack-scene.js";
import { ACCEPT, type Fields, post } from "./raw-client.js";
import { UNUSABLE } from "./support/approvals.js";
import { numbered, startAskingServer } from "./support/asking-server.js";

const CAPABILITIES = {
  elicitation: { form: {} },
  extensions: { "io.modelcontextprotocol/tasks": {} },
};
const form = { type: "object" as const, properties: { seat: { type: "string" as const } } };

let legacyServer: TestServer;
let modernServer: JsonRpcServer;
let scene: AttackScene;
/** The same users and servers, but keys of its own. */
let other: AttackScene;
/** Seats that the legacy server booked. */
const booked: unknown[] = [];
/** Calls of the modern server that came with a state. */
const continued: Fields[] = [];

beforeAll(async () => {
  legacyServer = createTestServer({
    era: "legacy",
    tools: {
      book: {
        async handler(_args, { request }) {
          const answer = await request.mcpReq.send({
            method: "elicitation/create",
            params: { message: "Which seat?", requestedSchema: form },
          });
          booked.push(answer);
          return "booked";
        },
      },
    },
  });
  modernServer = await startAskingServer({
    nameOf: (index) => (index === 0 ? "ask" : `tool_${numbered(index)}`),
    createsTask: (name) => name !== "ask",
    requestedSchema: form,
    onContinued: (params) => continued.push(params),
  });
  const mcpServers = { old: (await legacyServer.http()).entry, new: modernServer.entry };
  scene = await openAttackScene({ mcpServers });
  other = await openAttackScene({ mcpServers }, {}, scene);
});

afterAll(async () => {
  await other?.[Symbol.asyncDispose]();
  await scene?.[Symbol.asyncDispose]();
  await modernServer?.[Symbol.asyncDispose]();
  await legacyServer?.close();
});

afterEach(() => void vi.useRealTimers());

/** Another letter in the middle. */
const changed = (text: string): string => {
  const at = Math.floor(text.length / 2);
  return `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;
};

describe("G17 a session id", () => {
  const list = { id: 1, method: "tools/list", params: {} };

  test("G17 of another user, of another gateway, changed or invented: 404 for every method, and the session goes on", async () => {
    const session = await scene.session("ada");
    const cursor = (await scene.modern("bob", "tools/list")).last.result.nextCursor as string;
    const wrong = [
      ["bob", session],
      ["ada", changed(session)],
      ["ada", `${session}A`],
      ["ada", await other.session("ada")],
      ["ada", crypto.randomUUID()],
      ["ada", "../../etc/passwd"],
      // Sealed by the gateway, but for another purpose.
      ["bob", cursor],
    ] as const;
    for (const [user, id] of wrong) {
      const authorization = `Bearer ${await scene.tokenOf(user)}`;
      const headers = { authorization, accept: ACCEPT, "mcp-session-id": id };
      const answers = [
        await post(scene.url, { jsonrpc: "2.0", ...list }, { headers }),
        await post(scene.url, { jsonrpc: "2.0", method: "notifications/initialized" }, { headers }),
        await fetch(scene.url, { headers }),
        await fetch(scene.url, { method: "DELETE", headers }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    }
    expect((await scene.legacy("ada", session, list)).status).toBe(200);
  });

  test("G17 is no authorization: without a token, 401", async () => {
    const session = await scene.session("ada");
    const answer = await post(
      scene.url,
      { jsonrpc: "2.0", ...list },
      { headers: { "mcp-session-id": session } },
    );
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toContain("resource_metadata=");
  });

  test("G17 that a client brings to its handshake is not used", async () => {
    const planted = await scene.session("ada");
    const clientInfo = { name: "raw", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const { headers } = await scene.legacy("bob", planted, { id: 0, method: "initialize", params });
    expect(headers.get("mcp-session-id")).not.toBe(planted);
    expect((await scene.legacy("bob", planted, list)).status).toBe(404);
  });

  test("G17 that was ended is not found", async () => {
    const session = await scene.session("ada");
    const headers = { authorization: `Bearer ${await scene.tokenOf("ada")}`, "mcp-session-id": session };
    expect((await fetch(scene.url, { method: "DELETE", headers })).status).toBe(200);
    expect((await scene.legacy("ada", session, list)).status).toBe(404);
  });
});

describe("G18", () => {
  const call = (name: string, more: Fields = {}) => ({ name, arguments: { to: "Oslo" }, ...more });
  const answers = { inputResponses: { seat: { action: "accept", content: { seat: "1A" } } } };
  const ask = async (at: AttackScene, name: string, more: Fields = {}, user = "ada") =>
    (await at.modern(user, "tools/call", call(name, more), { capabilities: CAPABILITIES })).last;
  const stateOf = async (at: AttackScene, name: string): Promise<string> =>
    (await ask(at, name)).result.requestState;

  test.each(["new__ask", "old__book"])(
    "G18 requestState of %s: changed, moved, of another gateway or expired is one error, and nothing runs",
    async (name) => {
      const requestState = await stateOf(scene, name);
      const from = await stateOf(other, name);
      const [otherName, list] = [name === "new__ask" ? "old__book" : "new__ask", "tools/list"];
      const cursor = (await scene.modern("ada", list)).last.result.nextCursor as string;
      const [before, ran] = [continued.length, booked.length];
      const errors = [
        await ask(scene, name, { requestState: changed(requestState), ...answers }),
        await ask(scene, name, { requestState: "", ...answers }),
        await ask(scene, name, { requestState: { a: 1 }, ...answers }),
        await ask(scene, name, { requestState: "of the server", ...answers }),
        await ask(scene, name, { requestState: cursor, ...answers }),
        await ask(scene, name, { requestState: from, ...answers }),
        await ask(scene, name, { requestState, ...answers }, "bob"),
        await ask(scene, name, { requestState, ...answers, arguments: { to: "Rome" } }),
        await ask(scene, otherName, { requestState, ...answers }),
      ];
      // Longer than `stateTtlMs` and the minute that clocks may differ.
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 11 * 60_000 + 1_000 });
      errors.push(await ask(scene, name, { requestState, ...answers }));
      vi.useRealTimers();
      expect(errors.map((answer) => answer.error)).toEqual(errors.map(() => UNUSABLE));
      expect([continued.length, booked.length]).toEqual([before, ran]);
      // None of the attempts used the state up.
      expect((await ask(scene, name, { requestState, ...answers })).error).toBeUndefined();
    },
  );

  test("G18 requestState of a parked call works once", async () => {
    const asked = (await ask(scene, "old__book")).result;
    const [question] = Object.keys(asked.inputRequests);
    const more = {
      requestState: asked.requestState,
      inputResponses: { [question!]: { action: "accept", content: { seat: "2B" } } },
    };
    const before = booked.length;
    const [first, second] = await Promise.all([ask(scene, "old__book", more), ask(scene, "old__book", more)]);
    expect([first, second].filter(({ error }) => error === undefined)).toHaveLength(1);
    const third = await ask(scene, "old__book", more);
    expect(third.error).toEqual(UNUSABLE);
    expect(booked.length).toBe(before + 1);
  });

  test("G18 a task id: changed, moved or invented answers as an unknown one", async () => {
    const created = await ask(scene, "new__tool_001");
    const taskId = created.result.taskId as string;
    const get = async (id: unknown, user = "ada") =>
      (await scene.modern(user, "tasks/get", { taskId: id }, { capabilities: CAPABILITIES })).last;
    const foreign = (await ask(other, "new__tool_001")).result.taskId as string;
    const reads = modernServer.asked.filter((method) => method === "tasks/get").length;
    const errors = [
      await get(changed(taskId)),
      await get("task-1"),
      await get(taskId, "bob"),
      await get(foreign),
      await get(await stateOf(scene, "new__ask")),
    ];
    expect(errors.map((answer) => answer.error)).toEqual(
      errors.map(() => ({ code: -32602, message: "Unknown task" })),
    );
    expect(modernServer.asked.filter((method) => method === "tasks/get")).toHaveLength(reads);
    expect((await get(taskId)).result).toMatchObject({ status: "working", taskId });
  });

  test("G18 a cursor: changed, moved to another list, user or gateway is one error", async () => {
    const page = async (at: AttackScene, cursor?: unknown, user = "ada", method = "tools/list") =>
      (await at.modern(user, method, cursor === undefined ? {} : { cursor })).last;
    const cursor = (await page(scene)).result.nextCursor as string;
    const foreign = (await page(other)).result.nextCursor as string;
    const errors = [
      await page(scene, changed(cursor)),
      await page(scene, ""),
      await page(scene, 7),
      await page(scene, foreign),
      await page(scene, cursor, "bob"),
      await page(scene, cursor, "ada", "prompts/list"),
      await page(scene, await stateOf(scene, "new__ask")),
    ];
    expect(errors.map((answer) => answer.error)).toEqual(
      errors.map(() => ({ code: -32602, message: "Invalid cursor" })),
    );
    expect((await page(scene, cursor)).result.tools.length).toBeGreaterThan(0);
  });
});
