/** Predicates decide which failures are transient, not whether a call may run twice. */
import {
  createToolport,
  type FailurePredicate,
  type ServerEntry,
  ToolCallError,
  type ToolportOptions,
} from "toolport";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";

/** -32000 to -32099 belong to the implementation of the server. */
const isServerError: FailurePredicate = (error) =>
  error instanceof ToolCallError &&
  error.rpcCode !== undefined &&
  error.rpcCode <= -32000 &&
  error.rpcCode >= -32099
    ? true
    : undefined;

/** `main` answers its first calls with this JSON-RPC error; `spare` always answers. */
async function scene(
  { code, failures = 1 }: { code: number; failures?: number },
  { entry, ...options }: Partial<ToolportOptions> & { entry?: Partial<ServerEntry> },
) {
  const tools = { ask: { handler: () => "done" } };
  const main = createTestServer({ tools });
  const spare = createTestServer({ tools });
  let received = 0;
  const http = await main.http({
    async intercept(request) {
      const body = await request.clone().text();
      if (!body.includes('"tools/call"')) return undefined;
      received += 1;
      if (received > failures) return undefined;
      const { id } = JSON.parse(body);
      return Response.json({ jsonrpc: "2.0", id, error: { code, message: "busy" } });
    },
  });
  const toolport = createToolport({
    mcpServers: { main: { ...http.entry, ...entry } as ServerEntry, spare: spare.memory() },
    ...options,
  });
  await toolport.connect();
  return {
    toolport,
    spare,
    received: () => received,
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await Promise.all([main.close(), spare.close()]);
    },
  };
}

describe("retry", () => {
  test.each([
    ["a function", isServerError],
    ["{ when }", { when: isServerError, baseMs: 1 }],
  ])("%s: an error of the server's own range is repeated for an idempotent call", async (_name, retry) => {
    await using busy = await scene({ code: -32050 }, { retry });
    const result = await busy.toolport.callTool("main__ask", {}, { idempotent: true });
    expect(result).toMatchObject({ text: "done", attempts: 2 });
    expect(busy.received()).toBe(2);
  });

  test("a predicate does not make a call idempotent: a call that may have run is sent once", async () => {
    await using busy = await scene({ code: -32050 }, { retry: () => true });
    expect(await failure(busy.toolport.callTool("main__ask"))).toMatchObject({ rpcCode: -32050 });
    expect(busy.received()).toBe(1);
  });

  test("a call that was refused before any work is retried if the predicate says so", async () => {
    await using busy = await scene({ code: -32601 }, { retry: () => true });
    expect(await busy.toolport.callTool("main__ask")).toMatchObject({ text: "done", attempts: 2 });
  });

  test("false prevents the default retry; undefined does not", async () => {
    await using never = await scene({ code: -32603 }, { retry: () => false });
    await failure(never.toolport.callTool("main__ask", {}, { idempotent: true }));
    expect(never.received()).toBe(1);
    await using usual = await scene({ code: -32603 }, { retry: () => undefined });
    expect((await usual.toolport.callTool("main__ask", {}, { idempotent: true })).attempts).toBe(2);
  });

  test("a predicate gets the call, and runs no more often than maxAttempts allows", async () => {
    const seen: unknown[] = [];
    const when: FailurePredicate = (error, call) => {
      seen.push([error.code, call.server.name, call.tool, call.args, call.attempts, call.context]);
      return true;
    };
    await using busy = await scene(
      { code: -32050, failures: 9 },
      { retry: { when, maxAttempts: 3, baseMs: 1 } },
    );
    await failure(busy.toolport.callTool("main__ask", { a: 1 }, { idempotent: true, context: "x" }));
    expect(busy.received()).toBe(3);
    const tool = { name: "main__ask", sourceName: "ask" };
    expect(seen).toEqual([
      ["PROTOCOL", "main", tool, { a: 1 }, 1, "x"],
      ["PROTOCOL", "main", tool, { a: 1 }, 2, "x"],
    ]);
  });

  test("a predicate that throws or is async changes nothing", async () => {
    const rules = [
      () => {
        throw new Error("broken rule");
      },
      (async () => true) as unknown as FailurePredicate,
    ];
    for (const retry of rules) {
      await using busy = await scene({ code: -32050 }, { retry });
      const error = await failure(busy.toolport.callTool("main__ask", {}, { idempotent: true }));
      expect(error).toMatchObject({ code: "PROTOCOL", rpcCode: -32050 });
      expect(busy.received()).toBe(1);
    }
  });

  test("a predicate does not run for wrong arguments and refusals", async () => {
    let asked = 0;
    const retry = () => {
      asked += 1;
      return true;
    };
    await using busy = await scene({ code: -32050 }, { retry, approve: () => false });
    expect(await failure(busy.toolport.callTool("main__ask"))).toMatchObject({ code: "REFUSED" });
    expect([asked, busy.received()]).toEqual([0, 0]);
  });
});

describe("fallback.when", () => {
  test("a function may send a call to the fallback after an error that is final by default", async () => {
    const entry = { fallback: { servers: "spare", when: isServerError } };
    await using busy = await scene({ code: -32050 }, { entry });
    expect(await busy.toolport.callTool("main__ask")).toMatchObject({ server: "spare" });
    await using other = await scene({ code: -32601 }, { entry });
    expect(await failure(other.toolport.callTool("main__ask"))).toMatchObject({ rpcCode: -32601 });
    expect(other.spare.calls).toEqual([]);
  });

  test("false keeps a call at its server", async () => {
    const seen: unknown[] = [];
    const when: FailurePredicate = (error, { server, tool }) => {
      seen.push([error.code, server.name, tool.sourceName]);
      return false;
    };
    await using busy = await scene(
      { code: -32603, failures: 9 },
      { entry: { fallback: { servers: "spare", when } } },
    );
    expect(await failure(busy.toolport.callTool("main__ask"))).toMatchObject({ rpcCode: -32603 });
    expect(seen).toEqual([["PROTOCOL", "main", "ask"]]);
  });

  test("any other value is refused by createToolport", () => {
    const wrong = { main: { url: "http://127.0.0.1:9/", fallback: { servers: "spare", when: "always" } } };
    expect(() => createToolport({ mcpServers: { ...wrong, spare: { command: "x" } } as never })).toThrow(
      'must be "transient", "unsent" or a function',
    );
    expect(() => createToolport({ retry: { wen: () => true } } as never)).toThrow('did you mean "when"?');
  });
});
