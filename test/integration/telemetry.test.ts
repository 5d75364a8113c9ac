/** Spans and metrics of a call for a host with OpenTelemetry, and the trace context that the server gets. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { createToolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { registerOpenTelemetry, type TestTelemetry } from "../support/open-telemetry.js";
import { waitFor } from "../support/wait-for.js";

const LEAN = "test/fixtures/servers/stdio-lean.mjs";
const HOST = fileURLToPath(new URL("../fixtures/hosts/toolport-host.mjs", import.meta.url));

let otel: TestTelemetry;
beforeEach(() => {
  otel = registerOpenTelemetry();
});
afterEach(() => otel.dispose());

/** Tools that answer with the `_meta` they were sent. */
const meta = {
  meta: {
    handler: (_args: unknown, { request }: { request: { mcpReq: { _meta?: unknown } } }) =>
      JSON.stringify(request.mcpReq._meta ?? {}),
  },
};

test("a call with a retry and a fallback: one span with three request spans, read back from the exporter", async () => {
  let requests = 0;
  await using primary = createTestServer({ era: "legacy", tools: meta });
  const http = await primary.http({
    async intercept(request) {
      if (!(await request.clone().text()).includes('"tools/call"')) return undefined;
      requests += 1;
      return new Response("broken", { status: 500 });
    },
  });
  await using spare = createTestServer({ era: "modern", tools: meta });
  await using toolport = createToolport({
    mcpServers: { primary: { ...http.entry, fallback: "spare" }, spare: (await spare.stdio()).entry },
    retry: { maxAttempts: 2, baseMs: 1 },
  });
  await toolport.connect();
  const { result, agent } = await trace.getTracer("host").startActiveSpan("agent", async (span) => {
    const answer = await toolport.callTool("primary__meta", { secret: "s3cret" }, { idempotent: true });
    span.end();
    return { result: answer, agent: span.spanContext() };
  });
  expect(requests).toBe(2);
  expect(result).toMatchObject({ server: "spare", attempts: 3 });

  const spans = otel.spans();
  expect(spans.map(({ name }) => name)).toEqual([
    "agent",
    "execute_tool primary__meta",
    "tools/call meta",
    "tools/call meta",
    "tools/call meta",
  ]);
  const [, call, first, second, third] = spans;
  expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([agent.traceId]));
  expect(call?.parentSpanContext?.spanId).toBe(agent.spanId);
  for (const span of [first, second, third])
    expect(span?.parentSpanContext?.spanId).toBe(call?.spanContext().spanId);

  expect(call).toMatchObject({ kind: SpanKind.INTERNAL, status: { code: SpanStatusCode.UNSET } });
  expect(call?.attributes).toEqual({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "primary__meta",
    "toolport.server": "spare",
    "toolport.attempts": 3,
  });
  const port = Number(new URL(http.url).port);
  for (const span of [first, second]) {
    expect(span).toMatchObject({ kind: SpanKind.CLIENT, status: { code: SpanStatusCode.ERROR } });
    expect(span?.attributes).toEqual({
      "mcp.method.name": "tools/call",
      "mcp.protocol.version": "2025-11-25",
      "jsonrpc.protocol.version": "2.0",
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "meta",
      "network.transport": "tcp",
      "network.protocol.name": "http",
      "server.address": "127.0.0.1",
      "server.port": port,
      "toolport.server": "primary",
      "error.type": "HTTP_STATUS",
    });
  }
  expect(third).toMatchObject({ kind: SpanKind.CLIENT, status: { code: SpanStatusCode.UNSET } });
  expect(third?.attributes).toMatchObject({
    "mcp.protocol.version": "2026-07-28",
    "network.transport": "pipe",
    "toolport.server": "spare",
  });
  // The server that answered gets the trace context of the W3C; other baggage is not sent.
  const { traceparent, ...others } = JSON.parse(result.text) as Record<string, string>;
  expect(traceparent).toBe(`00-${agent.traceId}-${third?.spanContext().spanId}-01`);
  expect(others).not.toHaveProperty("x-b3-traceid");
  expect(JSON.stringify(spans.map(({ attributes, events }) => [attributes, events]))).not.toContain("s3cret");

  const measured = (await otel.measured()).filter(({ name }) => name === "mcp.client.operation.duration");
  expect(
    measured.map(({ unit, count, attributes }) => [
      unit,
      count,
      attributes["toolport.server"],
      attributes["error.type"],
    ]),
  ).toEqual([
    ["s", 2, "primary", "HTTP_STATUS"],
    ["s", 1, "spare", undefined],
  ]);
});

test("a tool that reports failure is an error of type tool_error, in both spans", async () => {
  await using server = createTestServer({
    tools: {
      fail: {
        handler() {
          throw new Error("no");
        },
      },
    },
  });
  await using toolport = createToolport({ mcpServers: { s: server.memory() } });
  await toolport.callTool("s__fail");
  const spans = otel.spans();
  expect(spans.map(({ name }) => name)).toEqual(["execute_tool s__fail", "tools/call fail"]);
  for (const { status, attributes } of spans) {
    expect(status.code).toBe(SpanStatusCode.ERROR);
    expect(attributes["error.type"]).toBe("tool_error");
  }
});

test("a JSON-RPC error shows its code; a call that was never sent has no request span", async () => {
  await using server = createTestServer({
    tools: { strict: { inputSchema: { type: "object", required: ["x"] }, handler: () => "" } },
  });
  await using toolport = createToolport({ mcpServers: { s: server.memory() } });
  await toolport.callTool("s__strict").catch(() => {});
  await server.update({ tools: {} });
  await toolport.callTool("s__strict", { x: 1 }).catch(() => {});
  const [unsent, call, request] = otel.spans();
  expect(unsent).toMatchObject({
    name: "execute_tool s__strict",
    attributes: { "error.type": "INVALID_ARGUMENTS", "toolport.attempts": 0 },
  });
  expect(call?.attributes).toMatchObject({ "error.type": "PROTOCOL", "toolport.attempts": 1 });
  expect(request?.attributes).toMatchObject({
    "error.type": "PROTOCOL",
    "rpc.response.status_code": "-32602",
  });
});

test("reading a resource and getting a prompt have request spans, too", async () => {
  await using server = createTestServer({
    resources: { "test://a": { text: "A" } },
    prompts: { hello: { get: () => "Hello" } },
  });
  await using toolport = createToolport({ mcpServers: { s: server.memory() } });
  await toolport.readResource("s", "test://a");
  await toolport.getPrompt("s", "hello");
  await toolport.readResource("s", "test://none").catch(() => {});
  expect(
    otel
      .spans()
      .map(({ name, kind, attributes }) => [
        name,
        kind,
        attributes["mcp.resource.uri"],
        attributes["gen_ai.prompt.name"],
        attributes["error.type"],
      ]),
  ).toEqual([
    ["resources/read", SpanKind.CLIENT, "test://a", undefined, undefined],
    ["prompts/get hello", SpanKind.CLIENT, undefined, "hello", undefined],
    ["resources/read", SpanKind.CLIENT, "test://none", undefined, "PROTOCOL"],
  ]);
});

test("the duration of a session is measured", async () => {
  await using server = createTestServer({ tools: meta });
  await using toolport = createToolport({ mcpServers: { s: (await server.stdio()).entry } });
  await toolport.callTool("s__meta");
  await toolport.close();
  const sessions = await waitFor(async () => {
    const found = (await otel.measured()).filter(({ name }) => name === "mcp.client.session.duration");
    return found.length > 0 ? found : undefined;
  });
  expect(sessions).toMatchObject([
    { unit: "s", count: 1, attributes: { "toolport.server": "s", "network.transport": "pipe" } },
  ]);
});

test("the span of a call has the number of repairs, also if the call fails", async () => {
  await using server = createTestServer({
    tools: {
      add: {
        inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } },
        handler: () => "3",
      },
    },
  });
  await using toolport = createToolport({ mcpServers: { s: server.memory() } });
  await toolport.callTool("s__add", { a: "1", b: null });
  await toolport.callTool("s__add", { a: 1 });
  await server.update({ tools: {} });
  await toolport.callTool("s__add", { a: "1" }).catch(() => {});
  const calls = otel.spans().filter(({ name }) => name.startsWith("execute_tool"));
  expect(calls.map(({ attributes }) => attributes["toolport.repairs"])).toEqual([2, undefined, 1]);
});

test("_meta of the call is merged with the trace context", async () => {
  await using server = createTestServer({ tools: meta });
  await using toolport = createToolport({ mcpServers: { s: server.memory() } });
  const { text } = await toolport.callTool("s__meta", {}, { meta: { "example/key": 1 } });
  expect(JSON.parse(text)).toMatchObject({ "example/key": 1, traceparent: expect.any(String) });
});

test("DEBUG=toolport:* logs connections, catalog, calls and messages on stderr, and nothing on stdout", async () => {
  const entries = { s: { command: process.execPath, args: [LEAN], env: { TOKEN: "s3cret-value" } } };
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [HOST, "close", JSON.stringify(entries)],
    {
      env: { ...process.env, DEBUG: "toolport:*" },
    },
  );
  expect(
    stdout
      .trim()
      .split("\n")
      .map((line) => line.split(" ")[0]),
  ).toEqual(["ready", "closed"]);
  for (const channel of ["connection", "catalog", "call", "wire"])
    expect(stderr).toContain(`toolport:${channel}`);
  expect(stderr).not.toContain("s3cret-value");
});
