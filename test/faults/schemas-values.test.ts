/** Schemas that are endless to check, refer to other places, are invalid, or do not match the output. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ToolCallError } from "toolport";
import { expect } from "vitest";
import { atMost } from "./at-most.js";
import { openCanary } from "./canary.js";
import { faultCase } from "./fault-case.js";
import { expectOthersWell, openSchemaSetup, throughAllAdapters } from "./schema-setup.js";

/** The catalogue says 250; a busy machine gets three times that. */
const LAG_MS = 750;

/** With 29 characters a plain engine takes minutes. */
const SLOW = {
  type: "object",
  properties: { text: { type: "string", pattern: "^(a+)+$" } },
  required: ["text"],
};
const BAIT = `${"a".repeat(28)}!`;
const SLOW_TOOLS = [
  { name: "input", inputSchema: SLOW },
  { name: "output", inputSchema: { type: "object" }, outputSchema: SLOW },
];
const answerBait = () => ({ content: [], structuredContent: { text: BAIT } });

for (const tool of ["input", "output"]) {
  faultCase(
    "X05",
    `in the ${tool}: stopped, and what cannot be checked is not checked, with one warning`,
    async (harness) => {
      const setup = await openSchemaSetup(harness, SLOW_TOOLS, { answer: answerBait });
      // The first check loads the validator.
      await setup.toolport.callTool("it__first", { text: "warm" });
      const warnings: string[] = [];
      setup.toolport.on("warning", ({ message }) => warnings.push(message));
      for (let round = 0; round < 2; round += 1) {
        const called = setup.toolport.callTool(`it__${tool}`, { text: BAIT }, { checkArguments: "strict" });
        expect((await called).structuredContent).toEqual({ text: BAIT });
      }
      expect(warnings).toEqual([expect.stringContaining("pattern too slow")]);
      await expectOthersWell(setup);
    },
    { maxLagMs: LAG_MS },
  );
}

faultCase(
  "X05",
  "in the input, by default: the server decides, with one warning",
  async (harness) => {
    const setup = await openSchemaSetup(harness, SLOW_TOOLS);
    await setup.toolport.callTool("it__first", { text: "warm" });
    const warnings: unknown[] = [];
    setup.toolport.on("warning", ({ code, tool }) => warnings.push([code, tool]));
    for (let round = 0; round < 3; round += 1)
      expect((await setup.toolport.callTool("it__input", { text: BAIT })).text).toBe(
        JSON.stringify({ text: BAIT }),
      );
    expect(warnings).toEqual([["SCHEMA_CONTRADICTS", "input"]]);
    await expectOthersWell(setup);
  },
  { maxLagMs: LAG_MS },
);

faultCase(
  "X05",
  "in twenty calls at once: the event loop is blocked once, not twenty times",
  async (harness) => {
    const setup = await openSchemaSetup(harness, SLOW_TOOLS, { answer: answerBait });
    await setup.toolport.callTool("it__first", { text: "warm" });
    const calls = Array.from({ length: 20 }, () =>
      setup.toolport.callTool("it__input", { text: BAIT }, { checkArguments: "strict" }),
    );
    expect(await Promise.all(calls)).toHaveLength(20);
    await expectOthersWell(setup);
  },
  { maxLagMs: LAG_MS },
);

faultCase(
  "X06",
  "$ref to http, https, file and more: nothing is fetched, and any value is sent",
  async (harness) => {
    const canary = await openCanary(harness);
    const file = join(harness.folder, "schema.json");
    writeFileSync(file, '{"type":"string"}');
    const places = {
      http: `http://${canary.host}/s.json`,
      https: `https://${canary.host}/s.json`,
      scheme_relative: `//${canary.host}/s.json`,
      file: pathToFileURL(file).href,
      relative: "other.json#/$defs/x",
      urn: "urn:example:schema",
    };
    const tools = Object.entries(places).flatMap(([name, $ref]) => [
      { name, inputSchema: { type: "object", properties: { x: { $ref } } } },
      { name: `${name}_out`, inputSchema: { type: "object" }, outputSchema: { allOf: [{ $ref }] } },
    ]);
    const answer = () => ({ content: [], structuredContent: {} });
    const setup = await openSchemaSetup(harness, tools, { answer });
    expect(await setup.relistMs()).toBeLessThan(atMost(100));
    expect(setup.withheld()).toEqual({});
    const lines = () => harness.logged.filter((line) => line.includes("without checking the reference"));
    for (const { name } of tools)
      expect(await setup.toolport.callTool(`it__${name}`, { x: 1 })).toMatchObject({ isError: false });
    expect(lines()).toHaveLength(tools.length);
    await expectOthersWell(setup);
    await throughAllAdapters(setup.toolport);
    expect(canary.visits()).toBe(0);
  },
);

faultCase("X06", "other keywords with a URL: nothing is fetched", async (harness) => {
  const canary = await openCanary(harness);
  const place = `http://${canary.host}/s.json`;
  const setup = await openSchemaSetup(
    harness,
    ["$dynamicRef", "$recursiveRef", "$schema", "$id", "$vocabulary"].map((keyword, at) => ({
      name: `place_${at}`,
      inputSchema: {
        type: "object",
        properties: { x: { type: "string" } },
        ...(keyword === "$vocabulary" ? { $vocabulary: { [place]: true } } : { [keyword]: place }),
      },
    })),
  );
  const { toolport } = setup;
  for (const { name } of await toolport.tools({ servers: ["it"] }))
    await toolport
      .callTool(name, { text: "a", x: "b" })
      .catch(({ code }) => expect(code).toBe("INVALID_ARGUMENTS"));
  await throughAllAdapters(toolport);
  await expectOthersWell(setup);
  expect(canary.visits()).toBe(0);
});

faultCase("X06", "one $id in two tools: each is checked by its own schema", async (harness) => {
  const $id = "https://example.com/schemas/arguments";
  const setup = await openSchemaSetup(harness, [
    { name: "text", inputSchema: { $id, type: "object", properties: { x: { type: "string" } } } },
    { name: "number", inputSchema: { $id, type: "object", properties: { x: { type: "number" } } } },
  ]);
  const { toolport } = setup;
  expect(setup.withheld()).toEqual({});
  const refused = { code: "INVALID_ARGUMENTS", server: "it", withinMs: 250 };
  for (let round = 0; round < 3; round += 1) {
    expect((await toolport.callTool("it__text", { x: "a" })).text).toBe('{"x":"a"}');
    expect((await toolport.callTool("it__number", { x: 1 })).text).toBe('{"x":1}');
    await harness.fails(toolport.callTool("it__text", { x: true }), refused);
    await harness.fails(toolport.callTool("it__number", { x: "a" }), refused);
  }
  await expectOthersWell(setup);
});

const inputSchema = { type: "object" };

/** A broken list item, the name that it gets in `withheldTools`, and the reason. */
const NONE: [tool: string | Record<string, unknown>, shown: string, reason: RegExp][] = [
  [{ name: 42, inputSchema }, "42", /name is not/],
  [{ inputSchema }, "undefined", /name is not/],
  [{ name: "", inputSchema }, "", /name is not/],
  [{ name: null, inputSchema }, "null", /name is not/],
  [{ name: "n".repeat(10_000), inputSchema }, "n".repeat(200), /longer than 1000/],
  [{ name: "first", inputSchema }, "first", /Listed twice/],
  [{ name: "text", inputSchema: "string" }, "text", /not an object/],
  [{ name: "nothing", inputSchema: null }, "nothing", /not an object/],
  [{ name: "array", inputSchema: [] }, "array", /not an object/],
  [{ name: "missing" }, "missing", /not an object/],
  [{ name: "no_object", inputSchema: { type: "string" } }, "no_object", /does not describe an object/],
  ["null", "null", /not an object/],
  ["[]", "[]", /not an object/],
  ['"tool"', "tool", /not an object/],
];

faultCase("X08", "invalid names and schemas: each withheld with its reason", async (harness) => {
  const setup = await openSchemaSetup(
    harness,
    NONE.map(([tool]) => tool),
  );
  const { withheldTools } = setup.toolport.snapshot();
  // Of two tools with one name the second is withheld.
  expect(withheldTools).toHaveLength(NONE.length);
  for (const [, shown, reason] of NONE)
    expect(
      withheldTools.some((tool) => tool.name === shown && reason.test(tool.reason)),
      `${shown}: ${reason}`,
    ).toBe(true);
  await expectOthersWell(setup);
  await throughAllAdapters(setup.toolport);
});

const ODD_NAMES = [
  "🔥 fire",
  "with spaces",
  "a/b.c:d",
  "Ünïcode",
  "天気",
  "__proto__",
  "constructor",
  "n".repeat(900),
];

faultCase("X08", "odd names: all usable under names that every provider accepts", async (harness) => {
  const tools = ODD_NAMES.map((name) => `{"name":${JSON.stringify(name)},"inputSchema":{"type":"object"}}`);
  const setup = await openSchemaSetup(harness, tools);
  const listed = await setup.toolport.tools({ servers: ["it"] });
  const odd = listed.filter(({ sourceName }) => ODD_NAMES.includes(sourceName));
  expect(odd.map(({ sourceName }) => sourceName)).toEqual(ODD_NAMES);
  expect(new Set(listed.map(({ name }) => name)).size).toBe(listed.length);
  for (const { name } of odd) {
    expect(name).toMatch(/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/);
    expect((await setup.toolport.callTool(name, {})).text).toBe("{}");
  }
  await expectOthersWell(setup);
  await throughAllAdapters(setup.toolport);
});

const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
const BAD_OUTPUT: Record<string, Record<string, unknown>> = {
  mismatch: { structuredContent: { n: "five" } },
  "a field missing": { structuredContent: {} },
  missing: {},
  array: { structuredContent: [1] },
  null: { structuredContent: null },
  text: { structuredContent: "n" },
};

for (const [what, answer] of Object.entries(BAD_OUTPUT)) {
  faultCase("X10", what, async (harness) => {
    const content = [{ type: "text", text: "as it came" }];
    const setup = await openSchemaSetup(harness, [{ name: "promise", inputSchema, outputSchema }], {
      answer: () => ({ content, ...answer }),
    });
    const error = await harness.fails<ToolCallError>(setup.toolport.callTool("it__promise"), {
      code: "INVALID_OUTPUT",
      server: "it",
      tool: "promise",
      withinMs: 1_000,
    });
    expect(error.result).toMatchObject({ text: "as it came", content, ...answer });
    expect(setup.server.asked.filter((method) => method === "tools/call")).toHaveLength(1);
    await expectOthersWell(setup);
  });
}

faultCase("X10", "the output of a failed tool is not checked", async (harness) => {
  const setup = await openSchemaSetup(harness, [{ name: "promise", inputSchema, outputSchema }], {
    answer: () => ({ content: [{ type: "text", text: "no" }], isError: true }),
  });
  expect(await setup.toolport.callTool("it__promise")).toMatchObject({ isError: true, text: "no" });
});
