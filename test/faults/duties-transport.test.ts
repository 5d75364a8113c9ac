/** Duties of a client on the wire: headers, cancellation, timeouts, sessions, event streams. */
import type { ServerEntry } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect } from "vitest";
import { startFaultServer } from "../fixtures/servers/fault-http.js";
import { openEvents, result, type Script, type SeenRequest } from "../fixtures/servers/http-scripted.js";
import { LEAN_SERVER } from "../fixtures/stdio-peer.js";
import { waitFor } from "../support/wait-for.js";
import { atMost } from "./at-most.js";
import { bound, faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";

const answer = ({ message }: SeenRequest, text: string) =>
  JSON.stringify(result(message?.id, { content: [{ type: "text", text }] }));

const withProperty = (name: string, property: Record<string, unknown>) => ({
  name,
  inputSchema: { type: "object", properties: { region: property } },
});

const BAD_HEADERS: Record<string, Record<string, unknown>> = {
  "no header name": { type: "string", "x-mcp-header": "a b" },
  "line break in the name": { type: "string", "x-mcp-header": "a\r\nX-Evil: 1" },
  "empty name": { type: "string", "x-mcp-header": "" },
  "a number": { type: "string", "x-mcp-header": 42 },
  "on an object": { type: "object", "x-mcp-header": "Region" },
};

for (const [what, property] of Object.entries(BAD_HEADERS)) {
  faultCase("S17", what, async (harness) => {
    const good = Array.from({ length: 7 }, (_, at) =>
      withProperty(`good_${at}`, { type: "string", "x-mcp-header": "Region" }),
    );
    const tools = [...good, withProperty("evil", property)];
    const server = harness.keep(await startFaultServer({ era: "modern", tools }));
    const toolport = harness.open({ it: server.entry });
    await toolport.connect();
    const listed = (await toolport.tools({ servers: ["it"] })).map(({ sourceName }) => sourceName);
    expect(listed).toHaveLength(9);
    expect(listed).not.toContain("evil");
    expect(JSON.stringify(toolport.snapshot().withheldTools)).toContain("evil");
    expect(harness.logged.filter((line) => line.startsWith("warn") && line.includes("evil"))).not.toEqual([]);
    await harness.fails(toolport.callTool("it__evil"), {
      code: "TOOL_WITHHELD",
      server: "it",
      withinMs: 3_000,
    });
    expect((await toolport.callTool("it__good_3", { region: "north" })).text).toBe("fine");
  });
}

for (const value of [
  "a\r\nX-Evil: y",
  "a\nb",
  "\u0000",
  " padded ",
  "Zürich 😀",
  "",
  "=?base64?eA==?=",
  "x".repeat(5_000),
]) {
  faultCase("S18", JSON.stringify(value.slice(0, 30)), async (harness) => {
    const tools = [withProperty("locate", { type: "string", "x-mcp-header": "Region" })];
    const server = harness.keep(await startFaultServer({ era: "modern", tools }));
    const toolport = harness.open({ it: server.entry });
    expect((await toolport.callTool("it__locate", { region: value })).text).toBe("fine");
    const request = server.seen.find(({ message }) => message?.method === "tools/call");
    expect(request?.headers).not.toHaveProperty("x-evil");
    const header = String(request?.headers["mcp-param-region"]);
    const encoded = /^=\?base64\?(.*)\?=$/.exec(header)?.[1];
    expect(encoded === undefined ? header : Buffer.from(encoded, "base64").toString()).toBe(value);
    expect(request?.message?.params?.["arguments"]).toEqual({ region: value });
  });
}

/** On the wire within 100 ms. */
const TOLD_MS = atMost(100);

/** A call that hangs until it is cancelled, and the time of the cancellation. */
function hanging() {
  const seen = { begun: 0, toldAt: 0 };
  const hang = {
    handler: (_args: unknown, { signal }: { signal: AbortSignal }) => {
      seen.begun += 1;
      return new Promise<string>((resolve) => {
        signal.addEventListener("abort", () => {
          seen.toldAt = performance.now();
          resolve("stopped");
        });
      });
    },
  };
  return { seen, hang };
}

async function abortsInTime(
  harness: FaultHarness,
  entry: ServerEntry,
  seen: { begun: number; toldAt: number },
) {
  const toolport = harness.open({ it: entry });
  await toolport.connect();
  const caller = new AbortController();
  const call = toolport.callTool("it__hang", {}, { signal: caller.signal });
  call.catch(() => {});
  await waitFor(() => seen.begun === 1, { intervalMs: 5 });
  const abortedAt = performance.now();
  caller.abort(new Error("enough"));
  await expect(call).rejects.toThrow("enough");
  await waitFor(() => seen.toldAt > 0, { intervalMs: 2, label: "the server to be notified" });
  expect(seen.toldAt - abortedAt).toBeLessThanOrEqual(TOLD_MS);
}

for (const kind of ["stdio", "sse", "webSocket"] as const) {
  faultCase("S21", `${kind}: the server is notified`, async (harness) => {
    const { seen, hang } = hanging();
    const server = harness.keep(createTestServer({ tools: { hang } }));
    await abortsInTime(harness, (await server[kind]()).entry, seen);
  });
}

for (const [what, answers] of [
  ["before the headers", () => {}],
  ["in an open stream", (_request: SeenRequest, response: Parameters<Script>[1]) => openEvents(response)],
] as const) {
  faultCase("S21", `HTTP 2025-11-25, ${what}: notifications/cancelled`, async (harness) => {
    const seen = { begun: 0, toldAt: 0 };
    let called: unknown;
    const bad: Script = (request, response) => {
      seen.begun += 1;
      called = request.message?.id;
      return answers(request, response);
    };
    const tools = [{ name: "hang", inputSchema: { type: "object" } }];
    const server = harness.keep(
      await startFaultServer({
        tools,
        before: (request, response) => {
          if (request.message?.method === "notifications/cancelled") {
            seen.toldAt = performance.now();
            expect(request.message.params).toMatchObject({ requestId: called });
          }
          if (request.message?.params?.["name"] !== "hang") return false;
          bad(request, response);
          return true;
        },
      }),
    );
    await abortsInTime(harness, server.entry, seen);
  });

  faultCase("S21", `HTTP 2026-07-28, ${what}: the stream is closed, and nothing is sent`, async (harness) => {
    const seen = { begun: 0, toldAt: 0 };
    const tools = [{ name: "hang", inputSchema: { type: "object" } }];
    const server = harness.keep(
      await startFaultServer({
        era: "modern",
        tools,
        before: (request, response) => {
          if (request.message?.params?.["name"] !== "hang") return false;
          seen.begun += 1;
          response.on("close", () => {
            seen.toldAt = performance.now();
          });
          answers(request, response);
          return true;
        },
      }),
    );
    await abortsInTime(harness, server.entry, seen);
    expect(server.asked("notifications/cancelled")).toBe(0);
  });
}

const CAP_MS = bound(3_000, 300_000);
/** Far longer than the pauses between two reports, because the server is a process of its own on a busy machine. */
const IDLE_MS = CAP_MS * (2 / 3);

faultCase("S22", "endless progress every second: the call ends at the cap", async (harness) => {
  const it = { command: process.execPath, args: [LEAN_SERVER] };
  const toolport = harness.open({ it }, { timeoutMs: IDLE_MS, maxTimeoutMs: CAP_MS });
  await toolport.connect();
  const began = performance.now();
  const args = { count: 1_000_000, everyMs: bound(100, 1_000) };
  await harness.fails(toolport.callTool("it__progress", args), {
    code: "TIMEOUT",
    server: "it",
    withinMs: CAP_MS + 1_500,
  });
  expect(performance.now() - began).toBeGreaterThanOrEqual(CAP_MS - 5);
});

faultCase("S22", "a timeout for one request, shorter or longer than the default", async (harness) => {
  const it = { command: process.execPath, args: [LEAN_SERVER] };
  const toolport = harness.open({ it }, { timeoutMs: 600 });
  await toolport.connect();
  await harness.fails(toolport.callTool("it__slow", { ms: 60_000 }, { timeoutMs: 100 }), {
    code: "TIMEOUT",
    server: "it",
    withinMs: 590,
  });
  expect((await toolport.callTool("it__slow", { ms: 900 }, { timeoutMs: 10_000 })).text).toBe("done");
});

faultCase("S23", "404: one new session, without the old id", async (harness) => {
  const unknownSession: Script = (_request, response) => response.writeHead(404).end("Session not found");
  const server = harness.keep(await startFaultServer({ unknownSession }));
  const toolport = harness.open({ it: server.entry });
  await toolport.connect();
  server.forget();
  expect((await toolport.callTool("it__fine")).text).toBe("fine");
  const greetings = server.seen.filter(({ message }) => message?.method === "initialize");
  expect(greetings).toHaveLength(2);
  for (const { headers } of greetings) expect(headers).not.toHaveProperty("mcp-session-id");
  const calls = server.seen.filter(({ message }) => message?.method === "tools/call");
  expect(new Set(calls.map(({ headers }) => headers["mcp-session-id"])).size).toBe(2);
});

for (const retryMs of [150, 400, 900]) {
  faultCase("S24", `retry: ${retryMs}, for an answer and for the listening stream`, async (harness) => {
    const stream = { endedAt: 0, again: 0, token: undefined as unknown };
    const listening = { ...stream };
    let asking: SeenRequest | undefined;
    const end = (of: typeof stream, response: Parameters<Script>[1], lines: string) => {
      openEvents(response);
      response.end(lines, () => {
        of.endedAt = performance.now();
      });
    };
    const server = harness.keep(
      await startFaultServer({
        unknownSession: (_request, response) => response.writeHead(404).end(),
        bad: (request, response) => {
          asking = request;
          end(stream, response, `id: answer-1\nretry: ${retryMs}\ndata:\n\n`);
        },
        listen: ({ headers }, response) => {
          const token = headers["last-event-id"];
          if (token === undefined)
            return end(listening, response, `id: news-1\nretry: ${retryMs}\ndata:\n\n`);
          const of = token === "answer-1" ? stream : listening;
          of.again = performance.now();
          of.token = token;
          openEvents(response);
          return of === stream
            ? response.end(`data: ${answer(asking as SeenRequest, "resumed")}\n\n`)
            : undefined;
        },
      }),
    );
    const toolport = harness.open({ it: server.entry });
    expect((await toolport.callTool("it__bad")).text).toBe("resumed");
    await waitFor(() => listening.again > 0, { label: "the listening stream to reopen" });
    expect(stream.token).toBe("answer-1");
    expect(listening.token).toBe("news-1");
    for (const { endedAt, again } of [stream, listening])
      expect(again - endedAt).toBeGreaterThanOrEqual(retryMs - 10);
    expect(stream.again - stream.endedAt).toBeLessThan(retryMs + 1_500);
  });
}
