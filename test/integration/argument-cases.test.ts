/** Arguments as models write them: each case has one outcome in each mode of `checkArguments`, through the public API. */
import { type CallEndEvent, createToolport, type ToolCallError, type ToolResult } from "toolport";
import { createTestServer, type TestTool } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ArgumentCase, argumentRows, argumentCases as cases } from "../support/argument-cases.js";

const MODES = ["repair", "strict", "off"] as const;

const tools: Record<string, TestTool> = Object.fromEntries(
  cases.map(({ id, schema }) => [id, { inputSchema: schema as never, handler: () => "done" }]),
);

test("the file has 80 cases", () => {
  expect(cases).toHaveLength(80);
});

describe.each(MODES)("checkArguments: %j", (checkArguments) => {
  const server = createTestServer({ era: "modern", tools });
  const warnings: { code?: string | undefined; tool?: string | undefined }[] = [];
  const ended: CallEndEvent[] = [];
  const toolport = createToolport({
    mcpServers: { s: server.memory() },
    checkArguments,
    listeners: [{ after: (event) => ended.push(event) }],
    interceptors: [
      (next) => (call) => {
        const added = cases.find(({ id }) => id === call.tool.sourceName)?.added;
        return next(added === undefined ? call : { ...call, added });
      },
    ],
  });
  toolport.on("warning", (warning) => warnings.push(warning));
  beforeAll(() => toolport.connect());
  afterAll(async () => {
    await toolport.close();
    await server.close();
  });

  test.each(argumentRows)("%s: %s", async (id, _title, given) => {
    const { expect: expected } = given;
    const before = structuredClone(given.arguments);
    const outcome = outcomeIn(checkArguments, id, expected.outcome);
    const [calls, reported] = [server.calls.length, warnings.length];
    const answer: ToolResult | ToolCallError = await toolport
      .callTool(`s__${id}`, given.arguments)
      .catch((error: ToolCallError) => error);
    const sent = server.calls.slice(calls);
    const news = warnings.slice(reported);

    expect(given.arguments).toEqual(before);
    if (outcome === "refused") {
      expect(answer).toMatchObject({ code: "INVALID_ARGUMENTS", server: "s", tool: id, outcome: "unsent" });
      const paths = (answer as ToolCallError).issues?.map(({ path }) => path);
      if (expected.issue !== undefined) expect(paths).toContain(expected.issue);
      expect(sent).toEqual([]);
      return;
    }
    const asIs = { ...given.arguments, ...given.added };
    const wanted = checkArguments === "off" ? asIs : expected.arguments;
    expect(sent).toEqual([expect.objectContaining({ name: id, args: wanted })]);
    expect(ended.at(-1)?.message["arguments"]).toEqual(wanted);
    const { repaired } = answer as ToolResult;
    expect(ended.at(-1)?.repaired).toEqual(repaired);
    if (outcome === "repaired") {
      expect(repaired?.length).toBeGreaterThan(0);
      if (expected.repairs !== undefined) expect(repaired).toEqual(expected.repairs);
    } else expect(repaired).toBeUndefined();
    if (outcome === "warned")
      expect(news).toEqual([
        expect.objectContaining({
          code: "SCHEMA_CONTRADICTS",
          server: "s",
          tool: id,
          message: expect.any(String),
        }),
      ]);
    if (outcome === "sent") expect(news).toEqual([]);
  });
});

/** Schemas that cannot be checked, instead of contradicting themselves: no mode refuses a call because of them. */
const UNCHECKABLE = ["schema-78"];

function outcomeIn(
  mode: (typeof MODES)[number],
  id: string,
  outcome: ArgumentCase["expect"]["outcome"],
): string {
  if (mode === "off") return "sent";
  if (UNCHECKABLE.includes(id)) return outcome;
  if (mode === "strict") return outcome === "sent" ? "sent" : "refused";
  return outcome;
}
