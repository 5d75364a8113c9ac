/** A host that was blocked reads pending data before it lets a request time out. */
import { createToolport, type Toolport } from "toolport";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";
import {
  type SingleThreadServer,
  startSingleThreadServer,
  statsOf,
  TRANSPORTS,
} from "../support/single-thread-server.js";

const TIMEOUT_MS = 300;
/** Longer than the timeout, and long enough for an answer of the server, which shares a busy machine with others. */
const BLOCKED_MS = 1_500;

/** Blocks the thread, as a long computation does. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** Waits until a new request has left the host. */
async function letItLeave(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

describe.each(TRANSPORTS)("over %s", (transport) => {
  let server: SingleThreadServer;
  let toolport: Toolport;
  beforeAll(async () => {
    server = await startSingleThreadServer(transport);
    toolport = createToolport({ mcpServers: { it: server.entry } });
    // The tests need an open connection.
    await statsOf(toolport);
  });
  afterAll(async () => {
    await toolport.close();
    await server[Symbol.asyncDispose]();
  });

  test("an answer that arrived while the host was blocked counts, even after the timeout", async () => {
    const before = await statsOf(toolport);
    const asked = toolport.callTool("it__slow", { ms: 50 }, { timeoutMs: TIMEOUT_MS });
    await letItLeave();
    block(BLOCKED_MS);
    expect((await asked).text).toBe("done");
    const after = await statsOf(toolport);
    expect((after.calls["slow"] ?? 0) - (before.calls["slow"] ?? 0)).toBe(1);
  });

  test("a host that is blocked right after the call does not time out for lack of an answer", async () => {
    const asked = toolport.callTool("it__slow", { ms: 10 }, { timeoutMs: TIMEOUT_MS });
    block(BLOCKED_MS);
    expect((await asked).text).toBe("done");
  });

  test("a request without an answer times out", async () => {
    const asked = failure(toolport.callTool("it__slow", { ms: 60_000 }, { timeoutMs: TIMEOUT_MS }));
    await letItLeave();
    block(TIMEOUT_MS + 100);
    expect(await asked).toMatchObject({ code: "TIMEOUT", phase: "tools/call" });
  });
});

test("a large answer, compressed, that arrived while the host was blocked counts", async () => {
  await using server = await startSingleThreadServer("http", ["--gzip"]);
  await using toolport = createToolport({ mcpServers: { it: server.entry } });
  await statsOf(toolport);
  const args = { ms: 20, chars: 3_000_000 };
  const asked = toolport.callTool("it__large", args, { timeoutMs: TIMEOUT_MS });
  await letItLeave();
  block(BLOCKED_MS);
  expect((await asked).text).toHaveLength(args.chars);
});
