import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { createTelemetry, ToolportError, type TraceMeta } from "@toolport/base";
import { afterEach, expect, test } from "vitest";
import { registerOpenTelemetry, type TestTelemetry } from "../../../../test/support/open-telemetry.js";
import { asInterceptor, callOf, inTurn, resultOf, unreachable } from "../../../../test/support/tool-call.js";
import { telemetryStep } from "./pipeline.js";
import { retryStep } from "./retry.js";
import type { CallHandler, CallInterceptor, ResolvedCall } from "./tool-call.js";

let otel: TestTelemetry | undefined;
afterEach(async () => {
  await otel?.dispose();
  otel = undefined;
});

/** Server `a` is always unreachable, server `b` responds at the second attempt. */
function setup() {
  const telemetry = createTelemetry();
  const metas: (TraceMeta | undefined)[] = [];
  const retry = retryStep({ options: { maxAttempts: 2 }, sleep: async () => {} });
  const fallback: CallInterceptor = (next) => (call) =>
    next(call).catch(() => next({ ...call, tool: { ...call.tool, server: "b" } }));
  let asked = 0;
  const attempt: CallHandler = (call) => {
    const { server, sourceName } = call.tool;
    const facts = { method: "tools/call", server, transport: "http", tool: sourceName };
    return telemetry.attempt(facts, async (meta) => {
      metas.push(meta);
      const error = ++asked < 4 ? unreachable() : undefined;
      call.attempts.push({ server, durationMs: 1, error });
      if (error !== undefined) throw error;
      return resultOf("ok", { server });
    });
  };
  const retrying = asInterceptor(retry)(attempt);
  const run = asInterceptor(telemetryStep(telemetry))(fallback((call) => retrying(call as ResolvedCall)));
  return { run, metas };
}

test("a call with a retry and a fallback is one span with four requests", async () => {
  otel = registerOpenTelemetry();
  const { run, metas } = setup();
  const host = trace.getTracer("host");
  const parent = await host.startActiveSpan("agent", async (span) => {
    expect(await run(callOf())).toMatchObject({ text: "ok", server: "b" });
    span.end();
    return span.spanContext();
  });
  const spans = otel.spans();
  const [, call, ...requests] = spans;
  expect(spans.map(({ name }) => name)).toEqual([
    "agent",
    "execute_tool a__echo",
    ...Array(4).fill("tools/call echo"),
  ]);
  expect(call).toMatchObject({ kind: SpanKind.INTERNAL, status: { code: SpanStatusCode.UNSET } });
  expect(call?.parentSpanContext?.spanId).toBe(parent.spanId);
  expect(call?.attributes).toEqual({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "a__echo",
    "toolport.server": "b",
    "toolport.attempts": 4,
  });
  const outer = call?.spanContext();
  expect(requests.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual(
    Array(4).fill(outer?.spanId),
  );
  expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
  expect(
    requests.map(({ kind, attributes, status }) => [kind, attributes["toolport.server"], status.code]),
  ).toEqual([
    [SpanKind.CLIENT, "a", SpanStatusCode.ERROR],
    [SpanKind.CLIENT, "a", SpanStatusCode.ERROR],
    [SpanKind.CLIENT, "b", SpanStatusCode.ERROR],
    [SpanKind.CLIENT, "b", SpanStatusCode.UNSET],
  ]);
  expect(requests.map(({ attributes }) => attributes["error.type"])).toEqual([
    "UNREACHABLE",
    "UNREACHABLE",
    "UNREACHABLE",
    undefined,
  ]);
  // Every request carries its own trace context.
  expect(metas.map((meta) => meta?.["traceparent"])).toEqual(
    requests.map((span) => `00-${span.spanContext().traceId}-${span.spanContext().spanId}-01`),
  );
  const durations = await otel.measured();
  expect(
    durations.map(({ attributes, count }) => [
      attributes["toolport.server"],
      attributes["error.type"],
      count,
    ]),
  ).toEqual([
    ["a", "UNREACHABLE", 2],
    ["b", "UNREACHABLE", 1],
    ["b", undefined, 1],
  ]);
});

test("a call that fails and a tool that reports failure end in errors", async () => {
  otel = registerOpenTelemetry();
  const step = asInterceptor(telemetryStep(createTelemetry()));
  const error = new ToolportError({ code: "FALLBACK_EXHAUSTED", server: "a", what: "All failed" });
  await expect(step(inTurn(error))(callOf())).rejects.toBe(error);
  await step(inTurn(resultOf("sorry", { isError: true })))(callOf());
  expect(otel.spans().map(({ status, attributes }) => [status, attributes["error.type"]])).toEqual([
    [{ code: SpanStatusCode.ERROR, message: "[a] All failed. (FALLBACK_EXHAUSTED)" }, "FALLBACK_EXHAUSTED"],
    [{ code: SpanStatusCode.ERROR }, "tool_error"],
  ]);
});

test("without an SDK there is no telemetry step", async () => {
  const answer = { result: resultOf("ok") };
  expect(await telemetryStep(createTelemetry())(async () => answer)(callOf())).toBe(answer);
});
