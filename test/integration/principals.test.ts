/** Two users of one port never share a header, a connection, a session, a cache entry or a credential. */
import { createToolport, type Toolport } from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";
import { expect, test } from "vitest";
import { failure } from "../support/failure.js";
import { interleave, interleaveOverHttp } from "../support/users-over-http.js";
import { waitFor } from "../support/wait-for.js";

/** The user that the server sees: by header, and by session. */
const whoami: TestTool = {
  handler: ({ user }, { request }) => {
    const headers = request.http?.req?.headers;
    return JSON.stringify({
      said: user,
      header: headers?.get("x-user"),
      session: headers?.get("mcp-session-id"),
    });
  },
};

test("1,000 interleaved calls of two users over HTTP: none is mixed up, counted at the server", async () => {
  expect(await interleaveOverHttp(1_000)).toEqual({ ada: 500, grace: 500, crossed: 0, answers: 0 });
});

test("interleaved calls in sessions: each user keeps its own session", async () => {
  const sessions = new Map<string, Set<string>>();
  await using server = createTestServer({
    era: "legacy",
    tools: {
      whoami: {
        handler(_args, { request }) {
          const headers = request.http?.req?.headers;
          const user = headers?.get("x-user") ?? "unknown";
          const session = headers?.get("mcp-session-id") ?? "none";
          sessions.set(session, (sessions.get(session) ?? new Set()).add(user));
          return user;
        },
      },
    },
  });
  const http = await server.http();
  await using toolport = createToolport({ mcpServers: { s: http.entry } });
  expect(await interleave(toolport, 400)).toBe(0);
  expect([...sessions.values()].map((users) => [...users])).toEqual(
    expect.arrayContaining([["ada"], ["grace"]]),
  );
  expect(sessions.size).toBe(2);
});

const ask = async (port: Toolport, user: string) =>
  JSON.parse((await port.callTool("s__whoami", { user })).text) as Record<string, string | null>;

test("the same name returns the same port; every user has a separate connection, and so has the plain port", async () => {
  await using server = createTestServer({ era: "legacy", tools: { whoami } });
  const http = await server.http();
  await using toolport = createToolport({
    mcpServers: { s: { ...http.entry, headers: { "x-user": "service", "x-app": "1" } } },
  });
  const ada = toolport.as("ada", { headers: { "X-User": "ada" } });
  expect(toolport.as("ada")).toBe(ada);
  expect(ada.as("ada")).toBe(ada);
  const grace = toolport.as("grace", { headers: { "x-user": "grace" } });
  expect(grace).not.toBe(ada);
  expect((await ask(ada, "ada")).header).toBe("ada");
  expect((await ask(grace, "grace")).header).toBe("grace");
  expect((await ask(toolport, "service")).header).toBe("service");
  expect(http.sessionIds).toHaveLength(3);
  expect(ada.snapshot()).toMatchObject({ principal: "ada", servers: { s: { state: "ready" } } });
  expect(toolport.snapshot().principal).toBeNull();
});

test("closing the port of one user keeps the others; as() then returns a new port", async () => {
  await using server = createTestServer({ era: "legacy", tools: { whoami } });
  const http = await server.http();
  await using toolport = createToolport({ mcpServers: { s: http.entry } });
  const ada = toolport.as("ada", { headers: { "x-user": "ada" } });
  const grace = toolport.as("grace", { headers: { "x-user": "grace" } });
  await Promise.all([ask(ada, ""), ask(grace, "")]);
  await ada.close();
  await waitFor(() => http.sessionIds.length === 1);
  expect(await failure(ada.callTool("s__whoami"))).toMatchObject({ code: "CLOSED" });
  expect((await ask(grace, "")).header).toBe("grace");
  const again = toolport.as("ada", { headers: { "x-user": "ada, again" } });
  expect((await ask(again, "")).header).toBe("ada, again");
  await toolport.close();
  expect(await failure(grace.callTool("s__whoami"))).toMatchObject({ code: "CLOSED" });
  await waitFor(() => http.sessionIds.length === 0);
});

test("headers may come from a function, called for each request; per-call headers are added", async () => {
  await using server = createTestServer({ era: "modern", tools: { whoami } });
  const http = await server.http();
  await using toolport = createToolport({ mcpServers: { s: http.entry } });
  let token = 0;
  const ada = toolport.as("ada", { headers: async () => ({ "x-user": `ada ${++token}` }) });
  const first = (await ask(ada, "")).header;
  const second = (await ask(ada, "")).header;
  expect(first).toMatch(/^ada \d+$/);
  expect(second).not.toBe(first);
  const once = await ada.callTool("s__whoami", {}, { headers: { "x-user": "once" } });
  expect(JSON.parse(once.text).header).toBe("once");
  expect((await ask(ada, "")).header).toMatch(/^ada \d+$/);
});

test("each user has separate lists", async () => {
  await using plain = createTestServer({ tools: { whoami } });
  await using admin = createTestServer({ tools: { whoami, wipe: { handler: () => "wiped" } } });
  const [a, b] = [await plain.http(), await admin.http()];
  /** One URL with another list for the administrator. */
  await using front = createTestServer({ tools: {} });
  const http = await front.http({
    async intercept(request) {
      const target = request.headers.get("x-user") === "root" ? b.url : a.url;
      const body = request.method === "POST" ? await request.text() : undefined;
      const headers = new Headers(request.headers);
      headers.delete("host");
      return fetch(target, {
        method: request.method,
        headers,
        signal: request.signal,
        ...(body && { body }),
      });
    },
  });
  const events: (string | undefined)[] = [];
  await using toolport = createToolport({ mcpServers: { s: http.entry } });
  toolport.on("tools", ({ principal }) => events.push(principal));
  const ada = toolport.as("ada", { headers: { "x-user": "ada" } });
  const root = toolport.as("root", { headers: { "x-user": "root" } });
  expect((await root.tools()).map(({ name }) => name)).toEqual(["s__whoami", "s__wipe"]);
  expect((await ada.tools()).map(({ name }) => name)).toEqual(["s__whoami"]);
  expect((await root.callTool("s__wipe")).text).toBe("wiped");
  expect(await failure(ada.callTool("s__wipe"))).toMatchObject({ code: "TOOL_NOT_FOUND" });
  expect(new Set(events)).toEqual(new Set(["ada", "root"]));
});

test("servers added to or removed from the plain port change for all users, added twice or not", async () => {
  await using one = createTestServer({ tools: { whoami } });
  await using two = createTestServer({ tools: { whoami } });
  const [a, b] = [await one.http(), await two.http()];
  await using toolport = createToolport({ mcpServers: { a: a.entry } });
  const ada = toolport.as("ada", { headers: { "x-user": "ada" } });
  expect(await ada.tools()).toHaveLength(1);
  await toolport.add("b", b.entry);
  await toolport.add("b", b.entry);
  expect((await ada.tools()).map(({ server }) => server)).toEqual(["a", "b"]);
  expect(JSON.parse((await ada.callTool("b__whoami")).text).header).toBe("ada");
  await toolport.remove("a");
  expect((await ada.tools()).map(({ server }) => server)).toEqual(["b"]);
});

test("the user reaches interceptors, listeners, approve and events", async () => {
  await using server = createTestServer({ tools: { whoami } });
  const seen: unknown[] = [];
  await using toolport = createToolport({
    mcpServers: { s: server.memory() },
    interceptors: [
      (next) => (call) => {
        seen.push(["interceptor", call.principal]);
        return next(call);
      },
    ],
    listeners: [{ before: ({ principal }) => seen.push(["before", principal]) }],
    approve({ principal }) {
      seen.push(["approve", principal]);
      return true;
    },
  });
  toolport.on("state", ({ to, principal }) => to === "ready" && seen.push(["ready", principal]));
  await toolport.as("ada").callTool("s__whoami");
  await toolport.callTool("s__whoami");
  expect(seen).toEqual([
    ["ready", "ada"],
    ["interceptor", "ada"],
    ["before", "ada"],
    ["approve", "ada"],
    ["ready", undefined],
    ["interceptor", undefined],
    ["before", undefined],
    ["approve", undefined],
  ]);
});
