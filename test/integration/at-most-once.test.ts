/** A call that may have run is not sent again: over stdio, over HTTP, for every answer of the server. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AuthProvider } from "@modelcontextprotocol/client";
import { createToolport, type ToolportOptions } from "toolport";
import { afterAll, describe, expect, test } from "vitest";
import { startFaultServer } from "../fixtures/servers/fault-http.js";
import { openEvents, sendJson, startScriptedServer } from "../fixtures/servers/http-scripted.js";
import { failure } from "../support/failure.js";
import { type HttpReply, recordingStdio, startRecordingHttp } from "../support/recording-servers.js";

const folder = mkdtempSync(join(tmpdir(), "toolport-once-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("a stdio server that runs a call and exits with something else unread", () => {
  function open(options: Partial<ToolportOptions> = {}) {
    const server = recordingStdio(folder);
    const toolport = createToolport({ mcpServers: { s: server.entry }, breaker: false, ...options });
    return { toolport, executions: server.executions };
  }

  test.each(["exit on pong", "exit on roots"])("our answer to its request (%s)", async (act) => {
    const { toolport, executions } = open({ roots: [{ uri: "file:///project" }] });
    await using _ = toolport;
    const error = await failure(toolport.callTool("s__run", { key: "a", act }));
    expect(error).toMatchObject({ code: "CLOSED", outcome: "unknown", exitCode: 3 });
    expect(await executions("a")).toBe(1);
  });

  test("the cancellation of another call", async () => {
    const { toolport, executions } = open();
    await using _ = toolport;
    const other = new AbortController();
    const silent = failure<Error>(
      toolport.callTool("s__run", { key: "silent", act: "silence" }, { signal: other.signal }),
    );
    // Progress shows that the server runs the call; the cancellation is the next message it gets.
    const onProgress = () => other.abort(new Error("given up"));
    const call = toolport.callTool("s__run", { key: "a", act: "exit on next" }, { onProgress });
    expect(await failure(call)).toMatchObject({ code: "CLOSED", outcome: "unknown" });
    expect((await silent).message).toBe("given up");
    expect([await executions("silent"), await executions("a")]).toEqual([1, 1]);
  });

  test("another call: only that one is sent again", async () => {
    const { toolport, executions } = open();
    await using _ = toolport;
    let second: Promise<{ text: string }> | undefined;
    const onProgress = () => {
      second ??= toolport.callTool("s__run", { key: "b", act: "answer" });
    };
    const first = toolport.callTool("s__run", { key: "a", act: "exit on next" }, { onProgress });
    expect(await failure(first)).toMatchObject({ code: "CLOSED", outcome: "unknown" });
    expect((await second!).text).toBe("b");
    expect([await executions("a"), await executions("b")]).toEqual([1, 1]);
  });

  test("the call itself: it is sent again and runs once", async () => {
    const { toolport, executions } = open();
    await using _ = toolport;
    await toolport.callTool("s__run", { key: "a", act: "answer, exit on next" });
    expect((await toolport.callTool("s__run", { key: "b", act: "answer" })).text).toBe("b");
    expect([await executions("a"), await executions("b")]).toEqual([1, 1]);
  });
});

/** One call; the server answers its sends as listed. */
async function callOver(
  replies: readonly HttpReply[],
  options: Partial<ToolportOptions> & { era?: "legacy" | "modern"; idempotent?: boolean } = {},
) {
  const { era, idempotent = false, ...rest } = options;
  const server = await startRecordingHttp({ ...(era && { era }) });
  try {
    await using toolport = createToolport({
      mcpServers: { s: server.entry },
      retry: { baseMs: 1 },
      ...rest,
    });
    await toolport.connect();
    const ended = await toolport
      .callTool("s__bad", { key: "a", replies }, { idempotent })
      .catch((error: unknown) => error);
    return { ended, sends: server.sends("a"), executions: await server.executions("a") };
  } finally {
    await server.close();
  }
}

const always = (reply: HttpReply): HttpReply[] => Array.from({ length: 9 }, () => reply);

describe("an HTTP server with a session that refuses every send of a call", () => {
  test("404: one new handshake, two sends", async () => {
    const { ended, sends } = await callOver(always({ runs: false, status: 404 }));
    expect(sends).toBe(2);
    expect(ended).toMatchObject({ code: "SESSION_LOST", status: 404, outcome: "unsent" });
  });

  test.each([false, true])("401 without a challenge: one send (idempotent: %s)", async (idempotent) => {
    const { ended, sends } = await callOver(always({ runs: false, status: 401 }), { idempotent });
    expect(sends).toBe(1);
    expect(ended).toMatchObject({ code: "AUTH_REQUIRED", status: 401, outcome: "unsent" });
  });

  test.each([
    ["with", { "www-authenticate": "Bearer" }],
    ["without", {}],
  ] as const)(
    "401 %s a challenge, and a provider with a new token: sent again once",
    async (_how, headers) => {
      let token = 1;
      const server = await startRecordingHttp();
      await using toolport = createToolport({
        mcpServers: {
          s: {
            ...server.entry,
            authProvider: {
              token: async () => `token-${token}`,
              onUnauthorized: async () => {
                token += 1;
              },
            },
          },
        },
      });
      const refused = { runs: false, status: 401, headers };
      expect((await toolport.callTool("s__bad", { key: "a", replies: [refused] })).text).toBe("a");
      expect(server.sends("a")).toBe(2);
      const error = await failure(toolport.callTool("s__bad", { key: "b", replies: always(refused) }));
      expect(error).toMatchObject({ code: "AUTH_REQUIRED", outcome: "unsent" });
      expect(server.sends("b")).toBe(2);
      await server.close();
    },
  );

  test("404, although it runs the call each time: two executions at most", async () => {
    const { sends, executions } = await callOver(always({ runs: true, status: 404 }));
    expect({ sends, executions }).toEqual({ sends: 2, executions: 2 });
  });

  test("404 to every send of an idempotent call: three sends at most", async () => {
    const { sends } = await callOver(always({ runs: true, status: 404 }), { idempotent: true });
    expect(sends).toBe(3);
  });

  test("the session is healed without retries, too", async () => {
    const { ended, sends } = await callOver([{ runs: false, status: 404 }], { retry: false });
    expect({ text: (ended as { text: string }).text, sends }).toEqual({ text: "a", sends: 2 });
  });

  test("maxAttempts: 1 means one send, without healing", async () => {
    const { ended, sends } = await callOver(always({ runs: false, status: 404 }), {
      retry: { maxAttempts: 1 },
    });
    expect(ended).toMatchObject({ code: "SESSION_LOST", outcome: "unsent" });
    expect(sends).toBe(1);
  });

  test.each([400, 410])("%i: a new handshake, but the call is not sent again", async (status) => {
    const { ended, sends } = await callOver(always({ runs: true, status }));
    expect(ended).toMatchObject({ code: "SESSION_LOST", outcome: "unknown" });
    expect(sends).toBe(1);
  });

  test("the session and the credentials share one healing", async () => {
    const challenge = { "www-authenticate": "Bearer" };
    let token = 1;
    const server = await startRecordingHttp();
    await using toolport = createToolport({
      mcpServers: {
        s: {
          ...server.entry,
          authProvider: {
            token: async () => `token-${token}`,
            onUnauthorized: async () => {
              token += 1;
            },
          },
        },
      },
    });
    const replies = [
      { runs: false, status: 401, headers: challenge },
      { runs: false, status: 404 },
    ];
    const error = await failure(toolport.callTool("s__bad", { key: "a", replies }));
    expect(error).toMatchObject({ code: "SESSION_LOST", outcome: "unsent" });
    expect(server.sends("a")).toBe(2);
    await server.close();
  });

  test("a provider with a new token every time: two sends, not one for each token", async () => {
    let tokens = 0;
    const server = await startRecordingHttp();
    await using toolport = createToolport({
      mcpServers: { s: { ...server.entry, authProvider: { token: async () => `token-${++tokens}` } } },
    });
    const refused = { runs: true, status: 401, headers: { "www-authenticate": "Bearer" } };
    const error = await failure(toolport.callTool("s__bad", { key: "a", replies: always(refused) }));
    expect(error).toMatchObject({ code: "AUTH_REQUIRED", outcome: "unsent" });
    expect(server.sends("a")).toBe(2);
    await server.close();
  });
});

describe("statuses", () => {
  test.each<[number, Record<string, string>, number, string]>([
    [408, {}, 1, "unknown"],
    [425, {}, 1, "unknown"],
    [425, { "retry-after": "0" }, 1, "unknown"],
    [429, {}, 3, "unsent"],
    [429, { "retry-after": "0" }, 3, "unsent"],
    [500, {}, 1, "unknown"],
    [500, { "retry-after": "0" }, 1, "unknown"],
    [502, {}, 1, "unknown"],
    [503, {}, 1, "unknown"],
    [503, { "retry-after": "0" }, 3, "unknown"],
    [504, {}, 1, "unknown"],
    [403, {}, 1, "unsent"],
    [405, {}, 1, "unsent"],
    [406, {}, 1, "unsent"],
    [413, {}, 1, "unsent"],
    [415, {}, 1, "unsent"],
    [418, {}, 1, "unknown"],
  ])("%i with %j: %i send(s), outcome %s", async (status, headers, expected, outcome) => {
    for (const era of ["legacy", "modern"] as const) {
      const reply = { runs: false, status, headers };
      const { ended, sends } = await callOver(always(reply), { era });
      expect(ended).toMatchObject({ status, outcome });
      expect(sends).toBe(expected);
    }
  });

  test("404 to a request without a session proves nothing", async () => {
    const { ended, sends } = await callOver(always({ runs: true, status: 404 }), { era: "modern" });
    expect(ended).toMatchObject({ code: "HTTP_STATUS", status: 404, outcome: "unknown" });
    expect(sends).toBe(1);
  });

  test("an earlier send that may have run keeps the outcome unknown, even if the last one was refused", async () => {
    const replies = [{ runs: true, status: 502 }, ...always({ runs: false, status: 429 })];
    const { ended, sends } = await callOver(replies, { idempotent: true });
    expect(ended).toMatchObject({ status: 429, outcome: "unknown" });
    expect(sends).toBe(3);
  });

  test("503 with Retry-After goes to a fallback for unsent calls only if the caller allows unknown ones", async () => {
    const server = await startRecordingHttp();
    const spare = await startRecordingHttp();
    const entry = { ...server.entry, fallback: { servers: ["spare"], when: "unsent" as const } };
    await using toolport = createToolport({ mcpServers: { s: entry, spare: spare.entry } });
    const replies = always({ runs: false, status: 503, headers: { "retry-after": "0" } });
    expect(await failure(toolport.callTool("s__bad", { key: "a", replies }))).toMatchObject({
      status: 503,
      outcome: "unknown",
    });
    expect(spare.sends("a")).toBe(0);
    await Promise.all([server.close(), spare.close()]);
  });
});

test("the server drops the session while a call runs, and reports it on the event stream: the call is not sent again", async () => {
  let streams = 0;
  let endStream: (() => void) | undefined;
  let calls = 0;
  const server = await startFaultServer({
    unknownSession: (_request, response) => response.writeHead(404).end(),
    listen: (_request, response) => {
      streams += 1;
      openEvents(response, { "retry-after": "0" });
      response.write("retry: 1\n\n");
      endStream = () => response.end();
    },
    bad: () => {
      calls += 1;
      // During a long call the server drops the session, and reports it on the stream only.
      if (calls === 1) {
        server.forget();
        endStream?.();
      }
    },
  });
  await using toolport = createToolport({ mcpServers: { s: server.entry } });
  await toolport.connect();
  await expect.poll(() => streams).toBe(1);
  expect(await failure(toolport.callTool("s__bad", {}, { timeoutMs: 5_000 }))).toMatchObject({
    code: "SESSION_LOST",
    outcome: "unknown",
  });
  expect(calls).toBe(1);
  await server.close();
});

describe("JSON-RPC refusals", () => {
  const rows: [number, string, boolean][] = [
    [-32700, "unsent", false],
    [-32601, "unsent", false],
    [-32021, "unsent", false],
    [-32022, "unsent", false],
    [-32600, "unknown", false],
    [-32602, "unknown", false],
    [-32603, "unknown", true],
    [-32000, "unknown", false],
  ];

  test.each(rows)("%i over HTTP: %s", async (code, outcome, retryable) => {
    const { ended, sends } = await callOver(always({ runs: false, code }), { era: "modern" });
    expect(ended).toMatchObject({ code: "PROTOCOL", rpcCode: code, outcome, retryable });
    expect(sends).toBe(1);
  });

  test.each(rows)("%i over stdio: %s", async (code, outcome, retryable) => {
    const { entry } = recordingStdio(folder);
    await using toolport = createToolport({ mcpServers: { s: entry } });
    const call = toolport.callTool("s__run", { key: "a", act: "refuse", code });
    expect(await failure(call)).toMatchObject({ code: "PROTOCOL", rpcCode: code, outcome, retryable });
  });
});

describe("HTTP+SSE", () => {
  /** A legacy server whose message endpoint answers calls as the test sets it. */
  async function open(status: number, headers: Record<string, string>, provider?: AuthProvider) {
    let calls = 0;
    const server = await startScriptedServer(() => {});
    let stream: { write(text: string): unknown } | undefined;
    server.script = ({ method, message }, response) => {
      if (method === "GET") {
        openEvents(response);
        stream = response;
        return response.write("event: endpoint\ndata: /messages\n\n");
      }
      const { id, method: asked, params } = message!;
      const tell = (result: unknown) => {
        response.writeHead(202).end();
        stream?.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`);
      };
      if (asked === "tools/call") {
        calls += 1;
        return response.writeHead(status, headers).end();
      }
      if (asked === "initialize") {
        const { protocolVersion } = params as { protocolVersion: string };
        const serverInfo = { name: "sse", version: "1" };
        return tell({ protocolVersion, capabilities: { tools: {} }, serverInfo });
      }
      if (asked === "tools/list") return tell({ tools: [{ name: "run", inputSchema: { type: "object" } }] });
      if (id === undefined) return response.writeHead(202).end();
      return sendJson(response, { jsonrpc: "2.0", id, error: { code: -32601, message: "no" } });
    };
    const toolport = createToolport({
      mcpServers: {
        s: { transport: "sse", url: `${server.url}/sse`, ...(provider && { authProvider: provider }) },
      },
      retry: { baseMs: 1 },
    });
    await toolport.connect();
    return {
      toolport,
      calls: () => calls,
      async [Symbol.asyncDispose]() {
        await toolport.close();
        await server.close();
      },
    };
  }

  test("404: one new connection, two sends", async () => {
    await using scene = await open(404, {});
    const error = await failure(scene.toolport.callTool("s__run"));
    expect(error).toMatchObject({ code: "SESSION_LOST", outcome: "unsent" });
    expect(scene.calls()).toBe(2);
  });

  test("401 to every token: two sends", async () => {
    let tokens = 0;
    const provider = { token: async () => `token-${++tokens}`, onUnauthorized: async () => {} };
    await using scene = await open(401, { "www-authenticate": "Bearer" }, provider);
    const error = await failure(scene.toolport.callTool("s__run"));
    expect(error).toMatchObject({ outcome: "unsent" });
    expect(scene.calls()).toBe(2);
  });
});
