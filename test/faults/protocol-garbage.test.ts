/** Servers that write text that is not a message, answer in batches, send endless requests, or send a million items. */
import type { ToolportError } from "toolport";
import { expect } from "vitest";
import { startFaultServer } from "../fixtures/servers/fault-http.js";
import { result, sendJson } from "../fixtures/servers/http-scripted.js";
import { atMost } from "./at-most.js";
import { faultCase } from "./fault-case.js";
import { FAULT_PROTOCOL_SERVER, speaksOddly, warningsOf } from "./fault-protocol.js";

for (const kind of ["logs", "blank", "nul", "utf8", "half"]) {
  faultCase("R01", kind, async (harness) => {
    const toolport = harness.open({ it: speaksOddly(`--noise=${kind}`) });
    const report = await toolport.connect();
    expect(report.servers["it"]).toMatchObject({ state: "ready", toolCount: 5 });
    const texts = Array.from({ length: 50 }, (_, at) => `text ${at}`);
    const results = await Promise.all(texts.map((text) => toolport.callTool("it__echo", { text })));
    expect(results.map(({ text }) => text)).toEqual(texts);
    // Blank lines are ignored; of other lines the first is logged, with the note that more were dropped.
    expect(warningsOf(harness)).toEqual(
      kind === "blank" ? [] : [expect.stringContaining("not a JSON-RPC message")],
    );
  });
}

faultCase("R01", "a line that holds a secret of the server's environment", async (harness) => {
  const secret = harness.secret();
  const script = `console.log("token", process.env.TOKEN); await import(${JSON.stringify(FAULT_PROTOCOL_SERVER)});`;
  const toolport = harness.open({
    it: { command: process.execPath, args: ["--input-type=module", "-e", script], env: { TOKEN: secret } },
  });
  expect((await toolport.callTool("it__echo", { text: "well" })).text).toBe("well");
  expect(warningsOf(harness)).toEqual([expect.stringContaining("[redacted: TOKEN]")]);
});

faultCase("R04", "the answer inside a batch: the call fails at once", async (harness) => {
  const toolport = harness.open({ it: speaksOddly("--batch") });
  await toolport.connect();
  await harness.fails(toolport.callTool("it__echo", { text: "x" }), {
    code: "BAD_RESPONSE",
    server: "it",
    tool: "echo",
    withinMs: 1_000,
  });
  expect(toolport.snapshot().servers["it"]?.state).toBe("ready");
  expect(warningsOf(harness)).toEqual([expect.stringContaining("batch")]);
});

faultCase(
  "R04",
  "the answer inside a batch, over HTTP: accepted or refused, but at once",
  async (harness) => {
    const bodies: Record<string, (answer: string) => string> = {
      one: (answer) => `[${answer}]`,
      many: (answer) => `[${"0,".repeat(999_999)}${answer}]`,
      empty: () => "[]",
    };
    for (const [what, body] of Object.entries(bodies)) {
      const server = harness.keep(
        await startFaultServer({
          bad: ({ message }, response) =>
            sendJson(response, body(JSON.stringify(result(message?.id, { content: [] })))),
        }),
      );
      const toolport = harness.open({ it: server.entry });
      await toolport.connect();
      const called = harness.within(
        atMost(1_000),
        toolport.callTool("it__bad").catch((error: ToolportError) => error),
      );
      if (what !== "one")
        expect(await called).toMatchObject({ code: "BAD_RESPONSE", server: "it", tool: "bad" });
      else expect(await called).toMatchObject({ content: [] });
      expect((await toolport.callTool("it__fine")).text).toBe("fine");
    }
  },
);

const MILLION = 1_000_000;
const MIB = 1024 * 1024;

/** Peak growth of the heap while this runs. */
async function heapWhile(run: () => Promise<unknown>): Promise<number> {
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().heapUsed);
  }, 5);
  try {
    await run();
  } finally {
    clearInterval(timer);
  }
  return Math.max(most, process.memoryUsage().heapUsed) - before;
}

faultCase("R04", "a batch of a million before the answer", async (harness) => {
  const toolport = harness.open({ it: speaksOddly(`--batch-length=${MILLION}`) });
  await toolport.connect();
  const grown = await heapWhile(async () => {
    const result = await harness.within(1_000, toolport.callTool("it__echo", { text: "well" }));
    expect(result.text).toBe("well");
  });
  expect(grown).toBeLessThanOrEqual(100 * MIB);
});

faultCase("R04", "a million tools in one list: truncated, reported in a few lines", async (harness) => {
  const toolport = harness.open({ it: speaksOddly("--list=million") });
  const grown = await heapWhile(async () => {
    const report = await harness.within(1_000 + 1_000, toolport.connect());
    expect(report.servers["it"]).toMatchObject({ state: "ready", toolCount: 1 });
  });
  expect(grown).toBeLessThanOrEqual(100 * MIB);
  const { servers, withheldTools } = toolport.snapshot();
  expect(servers["it"]?.cut).toContain("more than 10000 entries");
  expect(withheldTools.length).toBeLessThan(10_001);
  expect(warningsOf(harness).length).toBeLessThan(30);
  expect((await toolport.callTool("it__echo", { text: "well" })).text).toBe("well");
});

for (const tool of ["content", "structured"] as const) {
  faultCase("R04", `a million parts of ${tool}`, async (harness) => {
    const toolport = harness.open({ it: speaksOddly() });
    await toolport.connect();
    const grown = await heapWhile(async () => {
      const { text, structuredContent } = await harness.within(
        atMost(1_000),
        toolport.callTool(`it__${tool}`, { count: MILLION }),
      );
      if (tool === "content") expect(text).toBe("last");
      else expect((structuredContent as { list: unknown[] }).list).toHaveLength(MILLION);
    });
    expect(grown).toBeLessThanOrEqual(100 * MIB);
  });
}

const ASKED = 10_000;
const REQUESTS = {
  "sampling/createMessage": {
    messages: [{ role: "user", content: { type: "text", text: "2+2?" } }],
    maxTokens: 5,
  },
  "roots/list": {},
  "elicitation/create": { message: "Who?", requestedSchema: { type: "object", properties: {} } },
};

for (const [method, params] of Object.entries(REQUESTS)) {
  faultCase("R05", `10,000 of ${method}, which nothing here serves`, async (harness) => {
    const toolport = harness.open({ it: speaksOddly() });
    const { text } = await toolport.callTool("it__flood", { method, params, count: ASKED });
    const { "-32601": unknown = 0, "-32603": refused = 0, answered } = JSON.parse(text);
    expect(answered).toBeUndefined();
    expect(unknown).toBeGreaterThan(0);
    expect(unknown + refused).toBe(ASKED);
  });

  faultCase("R05", `10,000 of ${method}, one served at a time`, async (harness) => {
    let running = 0;
    let most = 0;
    let served = 0;
    const serve = async <Answer>(answer: Answer): Promise<Answer> => {
      most = Math.max(most, ++running);
      served += 1;
      await new Promise((resolve) => setTimeout(resolve, 20));
      running -= 1;
      return answer;
    };
    const toolport = harness.open(
      { it: speaksOddly() },
      {
        roots: () => serve([]),
        onElicitation: () => serve({ action: "decline" as const }),
        onSampling: () =>
          serve({ role: "assistant" as const, model: "m", content: { type: "text" as const, text: "4" } }),
      },
    );
    const { text } = await toolport.callTool("it__flood", { method, params, count: ASKED });
    const { answered = 0, "-32603": refused = 0 } = JSON.parse(text) as Record<string, number>;
    expect(answered + refused).toBe(ASKED);
    expect(answered).toBe(served);
    // Sixteen are queued; requests that arrive while they are served may take a free slot.
    expect(answered).toBeLessThan(500);
    expect(most).toBe(1);
    expect(harness.logged.filter((line) => line.includes("OVERLOADED")).length).toBeLessThanOrEqual(2);
  });
}
