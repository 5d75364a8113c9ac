/** Requests of a legacy server to the client. */
import { createTestServer, type TestTool } from "toolport/testing";
import { describe, expect, test } from "vitest";
import type { UrlElicitation } from "../../packages/core/src/protocol/server-requests/elicitation.js";
import type { RequestOrigin } from "../../packages/core/src/protocol/server-requests/sampling-and-roots.js";
import { openTestSession } from "../support/open-test-session.js";
import { waitFor } from "../support/wait-for.js";

const ask = (properties: Record<string, unknown>, required: string[] = []): TestTool => ({
  async handler(_args, { server }) {
    const params = { message: "Who?", requestedSchema: { type: "object", properties, required } };
    return JSON.stringify(await server.elicitInput(params as never));
  },
});

const tools: Record<string, TestTool> = {
  name: ask({ name: { type: "string", default: "Ada" }, age: { type: "integer" } }, ["name"]),
  page: {
    async handler({ url }, { server }) {
      const params = { mode: "url", message: "Pay", elicitationId: "e1", url: String(url) } as const;
      return JSON.stringify(await server.elicitInput(params));
    },
  },
  sample: {
    async handler(_args, { server }) {
      const messages = [{ role: "user" as const, content: { type: "text" as const, text: "2+2?" } }];
      return JSON.stringify(await server.createMessage({ messages, maxTokens: 10 }));
    },
  },
  roots: { handler: async (_args, { server }) => JSON.stringify(await server.listRoots()) },
  log: {
    async handler(_args, { server }) {
      await server.sendLoggingMessage({ level: "warning", logger: "db", data: { rows: 2 } });
      return "logged";
    },
  },
  wait: {
    handler: (_args, { signal }) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve("aborted"), { once: true })),
  },
  flood: {
    async handler({ count }, { server }) {
      const one = () =>
        server.listRoots().then(
          () => "answered",
          (error: { code?: number }) => String(error.code),
        );
      const outcomes = await Promise.all(Array.from({ length: Number(count) }, one));
      const counts: Record<string, number> = {};
      for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
      return JSON.stringify(counts);
    },
  },
};

const makeServer = () => createTestServer({ tools, era: "legacy", capabilities: { logging: {} } });

/** The text of a result, parsed if it is JSON. */
function answerOf(result: Record<string, unknown>): unknown {
  const [{ text }] = result["content"] as [{ text: string }];
  return result["isError"] ? text : JSON.parse(text);
}

test.each([
  ["2025-11-25", true],
  ["2025-06-18", false],
] as const)("questions as tasks are declared to servers of 2025-11-25 only: %s", async (pin, isDeclared) => {
  await using server = makeServer();
  await using opened = await openTestSession(
    { ...server.memory(), protocol: { pin } },
    { onElicitation: () => ({ action: "decline" }) },
  );
  const first = opened.wire.find(({ message }) => message["method"] === "initialize")!.message;
  const { capabilities } = first["params"] as { capabilities: object };
  expect(capabilities).toHaveProperty("elicitation");
  expect("tasks" in capabilities).toBe(isDeclared);
});

test("questions as tasks are not declared to modern servers", async () => {
  await using server = createTestServer({ tools, era: "modern" });
  await using opened = await openTestSession(server.memory(), {
    onElicitation: () => ({ action: "decline" }),
  });
  await opened.session.ping({ timeoutMs: 5_000, maxTimeoutMs: 5_000 });
  const sent = opened.wire.filter(({ direction }) => direction === "sent");
  expect(JSON.stringify(sent)).toContain('"elicitation":{"form"');
  expect(JSON.stringify(sent)).not.toContain('"requests":');
});

describe("elicitation", () => {
  test("a form is answered with its defaults; the request names server and tool", async () => {
    await using server = makeServer();
    const seen: unknown[] = [];
    await using opened = await openTestSession(server.memory(), {
      onElicitation(request, { signal, ...origin }) {
        seen.push([request.mode, request.message, Object.keys(request.requestedSchema.properties), origin]);
        return { action: "accept", content: {} };
      },
    });
    expect(answerOf(await opened.call("name"))).toEqual({ action: "accept", content: { name: "Ada" } });
    expect(seen).toEqual([["form", "Who?", ["name", "age"], { server: "test", tool: "name" }]]);
    expect(opened.reports).toEqual([]);
  });

  test.each(["decline", "cancel"] as const)("%s is passed on", async (action) => {
    await using server = makeServer();
    await using opened = await openTestSession(server.memory(), { onElicitation: () => ({ action }) });
    expect(answerOf(await opened.call("name"))).toEqual({ action });
  });

  test("an invalid answer is not sent: the server gets an error, the port a report", async () => {
    await using server = makeServer();
    await using opened = await openTestSession(server.memory(), {
      onElicitation: () => ({ action: "accept", content: { age: "s3cret" } }),
    });
    await expect(opened.call("name")).rejects.toMatchObject({ rpcCode: -32603 });
    expect(opened.reports).toMatchObject([
      { code: "INVALID_ARGUMENTS", issues: [{ path: "age", message: "must be a whole number" }] },
    ]);
    expect(JSON.stringify(opened.wire)).not.toContain("s3cret");
    expect(String(opened.reports[0])).not.toContain("s3cret");
  });

  test("a callback that throws is reported, and the server gets an error without details", async () => {
    await using server = makeServer();
    await using opened = await openTestSession(server.memory(), {
      onElicitation: () => Promise.reject(new Error("the dialog broke")),
    });
    await expect(opened.call("name")).rejects.toMatchObject({ rpcCode: -32603 });
    expect(opened.reports).toMatchObject([{ code: "REFUSED", server: "test", tool: "name" }]);
    expect(JSON.stringify(opened.wire)).not.toContain("dialog");
  });

  test("a URL is shown with its host and never fetched; other schemes are declined without asking", async () => {
    await using server = makeServer();
    const seen: UrlElicitation[] = [];
    await using opened = await openTestSession(server.memory(), {
      onElicitation: {
        url(request) {
          seen.push(request);
          return { action: "accept" };
        },
      },
    });
    const open = (url: string) => opened.call("page", { args: { url } });
    expect(answerOf(await open("https://pay.example/x?y=1"))).toEqual({ action: "accept" });
    expect(seen).toEqual([
      {
        mode: "url",
        message: "Pay",
        url: "https://pay.example/x?y=1",
        host: "pay.example",
        isPunycode: false,
        elicitationId: "e1",
      },
    ]);
    expect(answerOf(await open("javascript:alert(1)"))).toEqual({ action: "decline" });
    expect(seen).toHaveLength(1);
    expect(opened.reports).toMatchObject([{ code: "REFUSED" }]);
  });

  test("an unsupported mode is not declared, so the server does not ask", async () => {
    await using server = makeServer();
    await using opened = await openTestSession(server.memory(), {
      onElicitation: () => ({ action: "cancel" }),
    });
    expect(await opened.call("page", { args: { url: "https://a.example" } })).toMatchObject({
      isError: true,
    });
  });

  test("aborting the call aborts the callback, and the server gets one answer", async () => {
    await using server = makeServer();
    const caller = new AbortController();
    let origin: RequestOrigin | undefined;
    await using opened = await openTestSession(server.memory(), {
      onElicitation(_request, from) {
        origin = from;
        return new Promise((_resolve, reject) =>
          from.signal.addEventListener("abort", () => reject(from.signal.reason), { once: true }),
        );
      },
    });
    const calling = opened.call("name", { signal: caller.signal });
    await waitFor(() => origin);
    const reason = new Error("changed my mind");
    caller.abort(reason);
    await expect(calling).rejects.toBe(reason);
    expect(origin?.signal.aborted).toBe(true);
    expect(opened.reports).toEqual([]);
  });

  test("a callback longer than the idle timeout does not end the call; the hard cap does", async () => {
    await using server = makeServer();
    let thinkMs = 400;
    await using opened = await openTestSession(server.memory(), {
      onElicitation: async () => {
        await new Promise((resolve) => setTimeout(resolve, thinkMs));
        return { action: "decline" };
      },
    });
    expect(answerOf(await opened.call("name", { timeoutMs: 150 }))).toEqual({ action: "decline" });
    thinkMs = 600;
    await expect(opened.call("name", { timeoutMs: 150, maxTimeoutMs: 300 })).rejects.toMatchObject({
      code: "TIMEOUT",
    });
  });

  test("with two calls in flight the request names only the server", async () => {
    await using server = makeServer();
    const origins: (string | undefined)[] = [];
    const caller = new AbortController();
    await using opened = await openTestSession(server.memory(), {
      onElicitation(_request, { tool }) {
        origins.push(tool);
        return { action: "decline" };
      },
    });
    const other = opened.call("wait", { signal: caller.signal });
    await opened.call("name");
    caller.abort(new Error("done"));
    await expect(other).rejects.toThrow("done");
    await opened.call("name");
    expect(origins).toEqual([undefined, "name"]);
  });
});

describe("sampling", () => {
  test("a completion is returned", async () => {
    await using server = makeServer();
    await using opened = await openTestSession(server.memory(), {
      onSampling: ({ messages, maxTokens }) => ({
        role: "assistant",
        model: "abacus",
        content: { type: "text", text: `${messages.length}/${maxTokens}` },
      }),
    });
    expect(answerOf(await opened.call("sample"))).toMatchObject({
      model: "abacus",
      content: { text: "1/10" },
    });
  });

  test("a completion without a model is an error of the callback", async () => {
    await using server = makeServer();
    await using opened = await openTestSession(server.memory(), {
      onSampling: () => ({ role: "assistant", content: { type: "text", text: "4" } }) as never,
    });
    await expect(opened.call("sample")).rejects.toMatchObject({ rpcCode: -32603 });
    expect(opened.reports).toMatchObject([{ code: "INVALID_ARGUMENTS" }]);
  });
});

describe("roots", () => {
  test("a list, or a function for each server; changes are announced", async () => {
    await using server = makeServer();
    let uri = "file:///one";
    await using opened = await openTestSession(server.memory(), {
      roots: ({ server }) => [{ uri, name: server }],
    });
    expect(answerOf(await opened.call("roots"))).toEqual({ roots: [{ uri: "file:///one", name: "test" }] });
    uri = "file:///two";
    await opened.serverRequests.rootsChanged();
    expect(opened.wire.filter(({ direction }) => direction === "sent").at(-1)?.message).toMatchObject({
      method: "notifications/roots/list_changed",
    });
    expect(answerOf(await opened.call("roots"))).toEqual({ roots: [{ uri: "file:///two", name: "test" }] });
    await opened.session.close();
    await opened.serverRequests.rootsChanged();
    expect(opened.reports).toEqual([]);
  });
});

test("a flood of requests is answered one by one, a few are queued, the rest is refused with one report", async () => {
  await using server = makeServer();
  let running = 0;
  let most = 0;
  await using opened = await openTestSession(server.memory(), {
    roots: async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running -= 1;
      return [];
    },
  });
  const counts = answerOf(await opened.call("flood", { args: { count: 1_000 } }));
  expect(counts).toEqual({ answered: 17, "-32603": 983 });
  expect(most).toBe(1);
  expect(opened.reports).toMatchObject([{ code: "OVERLOADED", server: "test" }]);
  expect(answerOf(await opened.call("roots"))).toEqual({ roots: [] });
});

test("log messages reach onLog; one that throws is reported", async () => {
  await using server = makeServer();
  const entries: unknown[] = [];
  await using opened = await openTestSession(server.memory(), {
    onLog(entry) {
      entries.push(entry);
      throw new Error("full");
    },
  });
  await opened.call("log");
  await waitFor(() => entries.length > 0);
  expect(entries).toEqual([{ server: "test", level: "warning", logger: "db", data: { rows: 2 } }]);
  expect(opened.reports).toMatchObject([{ message: "full" }]);
});

test("works over HTTP, too", async () => {
  await using server = makeServer();
  const http = await server.http();
  await using opened = await openTestSession(http.entry, {
    onElicitation: () => ({ action: "accept", content: { name: "Grace" } }),
  });
  expect(answerOf(await opened.call("name"))).toEqual({ action: "accept", content: { name: "Grace" } });
});
