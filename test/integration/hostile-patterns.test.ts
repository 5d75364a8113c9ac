/** A pattern with catastrophic backtracking delays no call. */
import { createToolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { cpuTimeMs } from "../support/cpu-time.js";
import { failure } from "../support/failure.js";

/** One more character doubles the time; with 29 of them a plain engine takes minutes. */
const HOSTILE = "^(a+)+$";
const VALUE = `${"a".repeat(28)}!`;
/** Ten times the documented bound, in CPU, time. A plain engine takes far longer. */
const LIMIT_MS = 2_500;

/** Longest processor time between two turns of the event loop. */
function watchEventLoop(): { longestMs(): number; stop(): void } {
  let longest = 0;
  let last = cpuTimeMs();
  const look = () => {
    const now = cpuTimeMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 1);
  return {
    longestMs() {
      look();
      return longest;
    },
    stop: () => clearInterval(timer),
  };
}

const schema = {
  type: "object",
  properties: { text: { type: "string", pattern: HOSTILE } },
  required: ["text"],
};

const makeServer = () =>
  createTestServer({
    tools: {
      input: { inputSchema: schema, handler: ({ text }) => String(text) },
      output: {
        outputSchema: schema,
        handler: ({ text }) => ({ structuredContent: { text: String(text) } }),
      },
      both: {
        inputSchema: schema,
        outputSchema: schema,
        handler: () => ({ structuredContent: { text: VALUE } }),
      },
      plain: { handler: () => "fine" },
    },
  });

test("the value is 29 characters long", () => expect(VALUE).toHaveLength(29));

test.each(["input", "output"])(
  "in an %s schema, strict: what cannot be checked is not checked, the event loop is never blocked for long",
  async (tool) => {
    await using server = makeServer();
    await using toolport = createToolport({ mcpServers: { s: server.memory() }, checkArguments: "strict" });
    const warnings: string[] = [];
    toolport.on("warning", ({ message }) => warnings.push(message));
    // The first call loads the validator, which does not count.
    await toolport.callTool("s__plain");
    await toolport.callTool(`s__${tool}`, { text: "aaa" });
    const loop = watchEventLoop();
    const result = await toolport.callTool(`s__${tool}`, { text: VALUE });
    const { text } = await toolport.callTool("s__plain");
    loop.stop();
    expect(loop.longestMs()).toBeLessThan(LIMIT_MS);
    expect(JSON.stringify(result)).toContain(VALUE);
    expect(text).toBe("fine");
    expect(warnings).toEqual([expect.stringContaining("pattern too slow")]);
  },
);

test("in an input schema, by default: the server decides, the event loop is never blocked for long", async () => {
  await using server = makeServer();
  await using toolport = createToolport({ mcpServers: { s: server.memory() } });
  const warnings: string[] = [];
  toolport.on("warning", ({ code }) => warnings.push(String(code)));
  await toolport.callTool("s__input", { text: "aaa" });
  const loop = watchEventLoop();
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => toolport.callTool("s__input", { text: VALUE })),
  );
  loop.stop();
  expect(loop.longestMs()).toBeLessThan(LIMIT_MS);
  expect(new Set(answers.map(({ text }) => text))).toEqual(new Set([VALUE]));
  expect(warnings).toEqual(["SCHEMA_CONTRADICTS"]);
});

/** Only the repaired value reaches the slow pattern. */
const slowWhenRepaired = {
  type: "object",
  properties: { texts: { type: "array", items: { type: "string", pattern: HOSTILE } } },
};

test("a repair with a slow pattern ends in time; many of them do not add up", async () => {
  await using server = createTestServer({
    tools: { list: { inputSchema: slowWhenRepaired, handler: ({ texts }) => JSON.stringify(texts) } },
  });
  await using toolport = createToolport({ mcpServers: { s: server.memory() } });
  expect((await toolport.callTool("s__list", { texts: "aa" })).text).toBe('["aa"]');
  const loop = watchEventLoop();
  const hostile = Array.from({ length: 20 }, () => failure(toolport.callTool("s__list", { texts: VALUE })));
  const errors = await Promise.all(hostile);
  loop.stop();
  expect(loop.longestMs()).toBeLessThan(LIMIT_MS);
  expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(["INVALID_ARGUMENTS"]));
  expect(server.calls).toHaveLength(1);
});

test("input and output of one call share the time budget; parallel calls do not add up", async () => {
  await using server = makeServer();
  await using toolport = createToolport({ mcpServers: { s: server.memory() } });
  await toolport.callTool("s__plain");
  const loop = watchEventLoop();
  const hostile = Array.from({ length: 20 }, () => toolport.callTool("s__both", { text: VALUE }));
  const fine = Array.from({ length: 20 }, () => toolport.callTool("s__plain"));
  const results = await Promise.all(hostile);
  await Promise.all(fine);
  loop.stop();
  expect(loop.longestMs()).toBeLessThan(LIMIT_MS);
  expect(results.map(({ structuredContent }) => structuredContent)).toEqual(
    new Array(20).fill({ text: VALUE }),
  );
});
