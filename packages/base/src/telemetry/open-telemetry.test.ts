import { propagation, SpanKind, SpanStatusCode, context as spanContext, trace } from "@opentelemetry/api";
import { afterEach, describe, expect, test } from "vitest";
import { registerOpenTelemetry, type TestTelemetry } from "../../../../test/support/open-telemetry.js";
import { ConnectionError, ToolCallError } from "../errors/toolport-error.js";
import { createTelemetry, type RequestFacts } from "./open-telemetry.js";

const facts: RequestFacts = {
  method: "tools/call",
  server: "weather",
  transport: "http",
  protocolVersion: "2026-07-28",
  address: "https://user:CANARY@example.com/mcp?key=CANARY",
  tool: "forecast",
};
const answer = { content: [], isError: false };

let otel: TestTelemetry | undefined;
const register = (): TestTelemetry => {
  otel = registerOpenTelemetry();
  return otel;
};
afterEach(async () => {
  await otel?.dispose();
  otel = undefined;
});

describe("without an SDK", () => {
  test("callbacks run without spans and metrics", async () => {
    const telemetry = createTelemetry();
    const promise = Promise.resolve(answer);
    expect(telemetry.isActive).toBe(false);
    expect(
      telemetry.attempt(facts, (meta) => {
        expect(meta).toBeUndefined();
        return promise;
      }),
    ).toBe(promise);
    const end = () => ({ server: "a", attempts: 1 });
    expect(telemetry.toolCall({ tool: "a", end }, () => promise)).toBe(promise);
    telemetry.sessionEnded(facts, 1_000);
  });

  test("an SDK that is registered later is used, and a removed one is no longer used", async () => {
    const telemetry = createTelemetry();
    const run = () => telemetry.attempt(facts, async () => answer);
    await run();
    const { spans, measured, dispose } = register();
    await run();
    expect(spans()).toHaveLength(1);
    expect(await measured()).toHaveLength(1);
    await dispose();
    expect(telemetry.isActive).toBe(false);
    await run();
    const second = register();
    await run();
    expect(second.spans()).toHaveLength(1);
    expect(await second.measured()).toHaveLength(1);
  });
});

describe("a request", () => {
  test("has a client span with the attributes of the conventions", async () => {
    const { spans } = register();
    const result = await createTelemetry({ version: "1.2.3" }).attempt(facts, async () => answer);
    expect(result).toBe(answer);
    const [span] = spans();
    expect(span).toMatchObject({
      name: "tools/call forecast",
      kind: SpanKind.CLIENT,
      status: { code: SpanStatusCode.UNSET },
      instrumentationScope: { name: "toolport", version: "1.2.3" },
    });
    expect(span?.attributes).toEqual({
      "mcp.method.name": "tools/call",
      "mcp.protocol.version": "2026-07-28",
      "jsonrpc.protocol.version": "2.0",
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "forecast",
      "network.transport": "tcp",
      "network.protocol.name": "http",
      "server.address": "example.com",
      "server.port": 443,
      "toolport.server": "weather",
    });
  });

  test("is recorded in seconds, without attributes of high cardinality", async () => {
    const { measured } = register();
    await createTelemetry().attempt(facts, async () => answer);
    const [duration] = await measured();
    expect(duration).toMatchObject({ name: "mcp.client.operation.duration", unit: "s", count: 1 });
    expect(duration?.sum).toBeLessThan(5);
    expect(duration?.attributes).toMatchObject({
      "mcp.method.name": "tools/call",
      "gen_ai.tool.name": "forecast",
    });
  });

  test.each<[string, unknown, Record<string, unknown>]>([
    [
      "an error of the server",
      new ToolCallError({ code: "PROTOCOL", what: "x", rpcCode: -32602 }),
      { "error.type": "PROTOCOL", "rpc.response.status_code": "-32602" },
    ],
    [
      "a lost connection",
      new ConnectionError({ code: "UNREACHABLE", what: "x" }),
      { "error.type": "UNREACHABLE" },
    ],
    ["an abort", new DOMException("CANARY", "AbortError"), { "error.type": "AbortError" }],
    ["an abort reason of the caller", "CANARY", { "error.type": "_OTHER" }],
  ])("that fails with %s records and throws the error", async (_name, error, expected) => {
    const { spans, measured } = register();
    const failing = createTelemetry().attempt(facts, () => Promise.reject(error));
    await expect(failing).rejects.toBe(error);
    const [span] = spans();
    expect(span?.status.code).toBe(SpanStatusCode.ERROR);
    expect(span?.attributes).toMatchObject(expected);
    expect(JSON.stringify([span?.status, span?.attributes, span?.events])).not.toContain("CANARY");
    expect((await measured())[0]?.attributes).toMatchObject(expected);
  });

  test("with a result that reports failure is a tool_error", async () => {
    const { spans } = register();
    await createTelemetry().attempt(facts, async () => ({ ...answer, isError: true }));
    expect(spans()[0]).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { "error.type": "tool_error" },
    });
  });

  test.each<[RequestFacts, string, Record<string, unknown>]>([
    [
      { method: "prompts/get", server: "a", transport: "stdio", prompt: "greet" },
      "prompts/get greet",
      { "gen_ai.prompt.name": "greet", "network.transport": "pipe" },
    ],
    [
      { method: "resources/read", server: "a", transport: "websocket", uri: "file:///x" },
      "resources/read",
      { "mcp.resource.uri": "file:///x", "network.protocol.name": "websocket" },
    ],
    [
      { method: "tools/list", server: "a", transport: "custom", address: "http://[::1]:8080/" },
      "tools/list",
      { "server.address": "[::1]", "server.port": 8080 },
    ],
    [{ method: "ping", server: "a", address: "not a url" }, "ping", {}],
  ])("%j has the span name %s", async (request, name, expected) => {
    const { spans } = register();
    await createTelemetry().attempt(request, async () => ({}));
    const [span] = spans();
    expect(span?.name).toBe(name);
    expect(span?.attributes).toMatchObject(expected);
    expect(span?.attributes).not.toHaveProperty(["gen_ai.operation.name"]);
  });
});

describe("trace context", () => {
  test("of the request's own span is the only addition to _meta", async () => {
    const { spans } = register();
    const baggage = propagation.createBaggage({ tenant: { value: "x" } });
    const meta = await spanContext.with(propagation.setBaggage(spanContext.active(), baggage), () =>
      createTelemetry().attempt(facts, async (given) => given),
    );
    const { traceId, spanId } = spans()[0]?.spanContext() ?? {};
    expect(meta).toEqual({ traceparent: `00-${traceId}-${spanId}-01`, baggage: "tenant=x" });
  });

  test("is not sent if the program disabled propagation", async () => {
    register();
    propagation.disable();
    const meta = await createTelemetry().attempt(facts, async (given) => given);
    expect(meta).toBeUndefined();
  });
});

test("the duration of a session is recorded at its end", async () => {
  const { measured } = register();
  const telemetry = createTelemetry();
  await telemetry.attempt(facts, async () => answer);
  telemetry.sessionEnded(facts, 90_000, new ConnectionError({ code: "CLOSED", what: "x" }));
  const session = (await measured()).find(({ name }) => name === "mcp.client.session.duration");
  expect(session).toMatchObject({ unit: "s", count: 1, sum: 90 });
  expect(session?.attributes).toEqual({
    "toolport.server": "weather",
    "mcp.protocol.version": "2026-07-28",
    "network.transport": "tcp",
    "network.protocol.name": "http",
    "server.address": "example.com",
    "server.port": 443,
    "error.type": "CLOSED",
  });
});

test("an SDK that throws does not fail a call", async () => {
  register();
  trace.disable();
  const broken = () => {
    throw new Error("broken");
  };
  trace.setGlobalTracerProvider({ getTracer: broken });
  expect(await createTelemetry().attempt(facts, async () => answer)).toBe(answer);
});
