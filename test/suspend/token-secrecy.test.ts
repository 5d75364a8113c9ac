/** The token of a suspended call appears only in what `callTool`, `resume` and `suspended()` return, and sealed in the store. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import type { CallListener, Logger, Suspended } from "toolport";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { KEY } from "../contract/server-stores.js";
import { failure } from "../support/failure.js";
import { registerOpenTelemetry, type TestTelemetry } from "../support/open-telemetry.js";

const TOKEN = /tpc1\.[\w-]{20,}/;
const EVENTS = [
  "state",
  "tools",
  "listsChanged",
  "toolChanged",
  "notification",
  "call",
  "suspension",
  "warning",
];
const seat = { answers: { seat: { action: "accept" as const, content: { seat: "12A" } } } };

let otel: TestTelemetry;
let folder: string;
beforeEach(() => {
  otel = registerOpenTelemetry();
  folder = mkdtempSync(join(tmpdir(), "toolport-token-"));
  // The debug channels read DEBUG when they are loaded.
  vi.stubEnv("DEBUG", "toolport:*");
  vi.resetModules();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  vi.resetModules();
  rmSync(folder, { recursive: true });
  await otel.dispose();
});

/** Every printable form of a value. */
const printed = (value: unknown): string =>
  [
    inspect(value, { depth: 20, showHidden: true, getters: true }),
    JSON.stringify(value),
    value instanceof Error ? `${value.message} ${value.stack} ${inspect(value.cause)}` : "",
  ].join("\n");

test("with every log, span, event and listener switched on", async () => {
  const { createToolport } = await import("toolport");
  const { sqliteStore } = await import("toolport/sqlite");
  const { createBookingServer } = await import("./booking-server.js");
  const seen: Record<string, string[]> = { debug: [], log: [], events: [], listeners: [], errors: [] };
  const note =
    (where: string) =>
    (...values: unknown[]) =>
      void seen[where]!.push(...values.map(printed));
  for (const method of ["error", "log", "warn", "info", "debug"] as const)
    vi.spyOn(console, method).mockImplementation(note("debug"));
  const logger: Logger = { debug: note("log"), info: note("log"), warn: note("log"), error: note("log") };
  const listener: CallListener = { before: note("listeners"), after: note("listeners") };

  const { server } = createBookingServer();
  const path = join(folder, "state.db");
  const store = sqliteStore(path, { key: KEY });
  let isDown = false;
  const toolport = createToolport({
    mcpServers: { travel: { ...server.memory(), logEvents: true, logRequests: true, logResponses: true } },
    store,
    logger,
    listeners: [listener],
    approve: () => "suspend",
    interceptors: [
      (next) => async (call) => {
        note("listeners")(call);
        if (isDown) throw new Error("an interceptor failed");
        return next(call);
      },
    ],
  });
  for (const event of EVENTS) toolport.on(event as "call", note("events"));

  const tokens: string[] = [];
  const suspended = (out: unknown): Suspended => {
    const { token } = out as Suspended;
    expect(token).toMatch(TOKEN);
    if (!tokens.includes(token)) tokens.push(token);
    return out as Suspended;
  };
  const fails = async (promise: Promise<unknown>) => note("errors")(await failure(promise));
  try {
    const suspend = { key: "order 1" };
    const first = suspended(await toolport.callTool("travel__book", { to: "Oslo" }, { suspend }));
    await fails(toolport.resume(first.token, { answers: {} }));
    isDown = true;
    await fails(toolport.resume(first.token, { approve: true }));
    isDown = false;
    await fails(toolport.as("ada").resume(first.token, { approve: true }));
    const second = suspended(await toolport.resume(first.token, { approve: true, answeredBy: "Ada" }));
    await fails(toolport.resume(first.token, { approve: true }));
    await fails(toolport.resume(second.token, { answers: { seat: { action: "accept", content: {} } } }));
    await fails(toolport.callTool("travel__book", { to: "Rome" }, { suspend }));
    expect((await toolport.suspended()).map(({ token }) => token)).toEqual([second.token]);
    const [db, snapshot] = [readStore(), toolport.snapshot()];
    const other = suspended(await toolport.callTool("travel__tour", { to: "Rome" }, { suspend: true }));
    await toolport.discard(other.token);
    await fails(toolport.discard(other.token));
    expect(await toolport.resume(second.token, seat)).toMatchObject({ isError: false });

    expect(snapshot.suspensions).toMatchObject({ suspended: 2, resumed: 2, discarded: 0 });
    const spans = otel.spans().map((span) => printed([span.name, span.attributes, span.events, span.status]));
    const places = {
      ...seen,
      db: [db, readStore()],
      spans,
      snapshot: [printed([snapshot, toolport.snapshot()])],
    };
    expect(tokens).toHaveLength(3);
    for (const [place, texts] of Object.entries(places)) {
      const text = texts.join("\n");
      expect({ place, length: text.length }).toEqual({ place, length: expect.any(Number) });
      expect(text.length, place).toBeGreaterThan(100);
      for (const token of tokens) expect(text.includes(token.slice(5, 25)), place).toBe(false);
    }
    expect(seen["events"]!.join()).toContain("answeredBy: 'Ada'");
    expect(spans.join()).toContain("'toolport.suspended': 'approval'");
  } finally {
    await toolport.close();
    await store.close();
    await server.close();
  }

  function readStore(): string {
    return readdirSync(folder)
      .map((name) => readFileSync(join(folder, name), "latin1"))
      .join("\n");
  }
});

test.each([
  ["call", "tpc1"],
  ["program", "tpp1"],
])("a token of a %s that a caller sends to a tool is redacted in logs and spans", async (_title, prefix) => {
  const { createToolport } = await import("toolport");
  const { createTestServer } = await import("toolport/testing");
  const lines: string[] = [];
  const note = (...values: unknown[]) => void lines.push(...values.map(printed));
  for (const method of ["error", "log"] as const) vi.spyOn(console, method).mockImplementation(note);
  const token = `${prefix}.${"x1-_".repeat(11).slice(0, 43)}`;
  const server = createTestServer({ tools: { echo: { handler: ({ text }) => `got ${text}` } } });
  const toolport = createToolport({
    mcpServers: { it: { ...server.memory(), logRequests: true, logResponses: true } },
    logger: { debug: note, info: note, warn: note, error: note },
  });
  try {
    expect((await toolport.callTool("it__echo", { text: `resume ${token}` })).text).toContain(token);
    const spans = otel.spans().map(({ attributes }) => printed(attributes));
    expect(lines.join()).toContain("resume [redacted]");
    expect([...lines, ...spans].join("\n")).not.toContain("x1-_x1");
  } finally {
    await toolport.close();
    await server.close();
  }
});
