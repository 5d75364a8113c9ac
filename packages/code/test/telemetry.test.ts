/** Spans of programs, read back from the SDK of OpenTelemetry: those of inner calls lie under the span of `execute`. */
import { trace } from "@opentelemetry/api";
import { createToolport, memoryStore } from "toolport";
import { createCodeMode } from "toolport/code";
import { createTestServer } from "toolport/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { registerOpenTelemetry, type TestTelemetry } from "../../../test/support/open-telemetry.js";

let otel: TestTelemetry;
beforeEach(() => {
  otel = registerOpenTelemetry();
});
afterEach(() => otel.dispose());

/** Every span below its parent, indented; siblings in the order of their start. */
function tree(): string[] {
  const spans = otel.spans();
  const below = (parent: string | undefined, depth: number): string[] =>
    spans
      .filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent)
      .sort((a, b) => Number(a.startTime[0] - b.startTime[0]) || a.startTime[1] - b.startTime[1])
      .flatMap((span) => [
        `${"  ".repeat(depth)}${span.name}`,
        ...below(span.spanContext().spanId, depth + 1),
      ]);
  return below(undefined, 0);
}

function openBox(options: Parameters<typeof createToolport>[0] = {}) {
  const server = createTestServer({ tools: { work: { handler: ({ n }) => `did ${n as number}` } } });
  const toolport = createToolport({ mcpServers: { box: server.memory() }, ...options });
  const code = createCodeMode(toolport);
  return {
    toolport,
    code,
    async [Symbol.asyncDispose]() {
      await code.close();
      await toolport.close();
      await server.close();
    },
  };
}

test("sequential, parallel and nested calls of a program lie under its span, which lies under the caller's", async () => {
  await using box = openBox();
  await box.toolport.connect();
  const source = `
    await tools.box.work({ n: 1 });
    await Promise.all([2, 3].map((n) => tools.box.work({ n })));
    return tools.box.work({ n: 4 }).then(() => tools.box.work({ n: 5 }));
  `;
  await trace.getTracer("host").startActiveSpan("agent", async (span) => {
    expect(await box.code.execute(source)).toMatchObject({ value: "did 5" });
    span.end();
  });
  const call = ["    execute_tool box__work", "      tools/call work"];
  expect(tree()).toEqual(["agent", "  execute_tool execute", ...call, ...call, ...call, ...call, ...call]);
});

test("two programs at the same time keep their calls apart", async () => {
  await using box = openBox();
  await box.toolport.connect();
  const run = (name: string) =>
    trace.getTracer("host").startActiveSpan(name, async (span) => {
      await box.code.execute("for (const n of [1, 2, 3]) await tools.box.work({ n })");
      span.end();
    });
  await Promise.all([run("a"), run("b")]);
  const call = ["    execute_tool box__work", "      tools/call work"];
  const program = ["  execute_tool execute", ...call, ...call, ...call];
  expect(tree()).toEqual(["a", ...program, "b", ...program]);
});

test("a program that is resumed continues in a span of its own, with the calls that follow", async () => {
  await using box = openBox({ store: memoryStore(), approve: { when: "always" } });
  await box.toolport.connect();
  const tracer = trace.getTracer("host");
  const source = "await tools.box.work({ n: 1 }); return tools.box.work({ n: 2 })";
  let token = "";
  await tracer.startActiveSpan("first", async (span) => {
    ({ token } = (await box.code.execute(source, { suspend: true })) as { token: string });
    span.end();
  });
  for (const name of ["second", "third"])
    await tracer.startActiveSpan(name, async (span) => {
      ({ token } = (await box.code.resume(token, { approve: true })) as { token: string });
      span.end();
    });
  const asks = "    execute_tool box__work";
  const runs = [asks, "      tools/call work"];
  const program = "  execute_tool execute";
  expect(tree()).toEqual([
    "first",
    program,
    asks,
    "second",
    program,
    ...runs,
    asks,
    "third",
    program,
    ...runs,
  ]);
  const programs = otel.spans().filter(({ name }) => name === "execute_tool execute");
  expect(programs.map(({ attributes }) => attributes["toolport.suspended"])).toEqual([
    "approval",
    "approval",
    undefined,
  ]);
});
