/** A primary server that dies, stays down and returns, and the fallback that answers meanwhile. */
import type { ToolCallError } from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";
import { expect } from "vitest";
import { startFaultServer } from "../fixtures/servers/fault-http.js";
import { openEvents, type Script } from "../fixtures/servers/http-scripted.js";
import { waitFor } from "../support/wait-for.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";

/** The catalogue says 1 s; a busy machine gets three times that. */
const SWITCH_MS = 3_000;

const tools = (text: string): Record<string, TestTool> => ({
  ask: { handler: () => text },
  parts: { handler: () => ({ content: [1, 2, 3].map((at) => ({ type: "text", text: `${text} ${at}` })) }) },
});

/** A primary on a fixed port, and a fallback in memory. */
async function scene(harness: FaultHarness, era: "legacy" | "modern") {
  const spare = harness.keep(createTestServer({ tools: tools("spare") }));
  let main = createTestServer({ era, tools: tools("main") });
  const { entry, url } = await main.http();
  harness.atEnd(() => main.close());
  const toolport = harness.open({
    main: { ...entry, fallback: "spare", reconnect: { delayMs: 30 } },
    spare: spare.memory(),
  });
  await toolport.connect();
  return {
    toolport,
    spare,
    die: () => main.close(),
    async comeBack(more: Record<string, TestTool> = {}) {
      main = createTestServer({ era, tools: { ...tools("main"), ...more } });
      await main.http({ port: Number(new URL(url).port) });
      await waitFor(() => toolport.snapshot().servers["main"]?.state === "ready");
    },
  };
}

for (const era of ["legacy", "modern"] as const) {
  faultCase("N17", `primary dies and returns, ${era}`, async (harness) => {
    const { toolport, die, comeBack } = await scene(harness, era);
    const ask = () => toolport.callTool("main__ask");
    expect(await ask()).toMatchObject({ text: "main", server: "main", attempts: 1 });
    await die();
    expect(await harness.within(SWITCH_MS, ask())).toMatchObject({ text: "spare", server: "spare" });
    // While it is down no call waits for it.
    for (let round = 0; round < 5; round += 1)
      expect(await harness.within(SWITCH_MS, ask())).toMatchObject({ text: "spare", server: "spare" });
    await comeBack({ extra: { handler: () => "extra" } });
    expect(await ask()).toMatchObject({ text: "main", server: "main", attempts: 1 });
    // Its list was read again.
    expect((await toolport.tools()).map(({ name }) => name)).toContain("main__extra");
    expect((await toolport.callTool("main__extra")).text).toBe("extra");
  });
}

faultCase("N17", "primary flaps under load: every answer comes from one server", async (harness) => {
  const { toolport, die, comeBack } = await scene(harness, "legacy");
  const ending = new AbortController();
  const seen = new Set<string>();
  async function callOn(): Promise<void> {
    while (!ending.signal.aborted) {
      const { content, server } = await toolport.callTool("main__parts");
      const words = content.map((part) => (part.type === "text" ? part["text"] : part.type));
      expect(words).toEqual([1, 2, 3].map((at) => `${server} ${at}`));
      seen.add(server);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  const callers = Promise.all(Array.from({ length: 8 }, callOn));
  for (let round = 0; round < 3; round += 1) {
    await die();
    await waitFor(() => seen.delete("spare"));
    await comeBack();
    await waitFor(() => seen.delete("main"));
  }
  ending.abort();
  await callers;
});

const HALF: Record<string, Script> = {
  "is cut in the middle of an answer": (_request, response) => {
    openEvents(response);
    response.write('data: {"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"half', () =>
      response.socket?.resetAndDestroy(),
    );
  },
  "answers 502": (_request, response) => response.writeHead(502).end(),
  "answers 503 with Retry-After": (_request, response) =>
    response.writeHead(503, { "retry-after": "20" }).end(),
};

for (const [how, bad] of Object.entries(HALF)) {
  faultCase("N17", `primary ${how}: the fallback answers the whole call at once`, async (harness) => {
    const server = harness.keep(await startFaultServer({ bad }));
    const spare = harness.keep(createTestServer({ tools: { bad: { handler: () => "spare" } } }));
    const toolport = harness.open({ main: { ...server.entry, fallback: "spare" }, spare: spare.memory() });
    await toolport.connect();
    const result = await harness.within(SWITCH_MS, toolport.callTool("main__bad"));
    expect(result).toMatchObject({ text: "spare", server: "spare" });
    expect(result.content).toHaveLength(1);
    expect(server.asked("bad")).toBe(1);
    expect(spare.calls).toHaveLength(1);
  });
}

faultCase("N17", "both dead: one error that names both", async (harness) => {
  const [main, spare] = [await startFaultServer(), await startFaultServer()];
  const toolport = harness.open({ main: { ...main.entry, fallback: "spare" }, spare: spare.entry });
  await toolport.connect();
  await Promise.all([main.close(), spare.close()]);
  const error = await harness.fails<ToolCallError>(
    toolport.callTool("main__fine", {}, { timeoutMs: 1_000 }),
    {
      code: "FALLBACK_EXHAUSTED",
      server: "main",
      withinMs: 2 * SWITCH_MS,
    },
  );
  expect(error.attempts?.map(({ server }) => server)).toEqual(["main", "spare"]);
  expect(error).toMatchObject({ retryable: true, outcome: "unsent" });
});
