/** Schemas that are recursive, too deep or too large, or do not compile: they affect only their own tool. */
import { expect } from "vitest";
import { atMost } from "./at-most.js";
import { faultCase } from "./fault-case.js";
import { expectOthersWell, openSchemaSetup, throughAllAdapters } from "./schema-setup.js";

/** The catalogue says 250; a busy machine gets three times that. */
const LAG_MS = 750;

/** A recursive schema, and arguments that match it and that do not. */
const RECURSIVE: Record<
  string,
  { schema: Record<string, unknown>; fits: object; not: object; isUncheckable?: boolean }
> = {
  "$ref: #": {
    schema: {
      type: "object",
      properties: { value: { type: "string" }, next: { $ref: "#" } },
      additionalProperties: false,
    },
    fits: { value: "a", next: { value: "b", next: {} } },
    not: { next: { next: { value: true } } },
  },
  "mutual recursion": {
    schema: {
      type: "object",
      properties: { a: { $ref: "#/$defs/a" } },
      $defs: {
        a: { type: "object", properties: { b: { $ref: "#/$defs/b" } }, additionalProperties: false },
        b: { type: "object", properties: { a: { $ref: "#/$defs/a" } }, additionalProperties: false },
      },
    },
    fits: { a: { b: { a: { b: {} } } } },
    not: { a: { b: { b: {} } } },
  },
  "a reference to itself and to nothing else": {
    schema: { type: "object", properties: { x: { $ref: "#/$defs/x" } }, $defs: { x: { $ref: "#/$defs/x" } } },
    fits: {},
    not: { x: 1 },
    isUncheckable: true,
  },
  $dynamicRef: {
    schema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $dynamicAnchor: "node",
      type: "object",
      properties: { value: { type: "string" }, child: { $dynamicRef: "#node" } },
    },
    fits: { value: "a", child: { value: "b" } },
    not: { value: true },
  },
};

for (const [what, { schema, fits, not, isUncheckable }] of Object.entries(RECURSIVE)) {
  faultCase("X01", what, async (harness) => {
    const setup = await openSchemaSetup(harness, [{ name: "endless", inputSchema: schema }]);
    const { toolport } = setup;
    expect(setup.withheld()).toEqual({});
    expect(await setup.relistMs()).toBeLessThan(atMost(100));
    // The first call of an adapter loads its framework.
    await throughAllAdapters(toolport);
    for (const [adapter, ms] of Object.entries(await throughAllAdapters(toolport)))
      expect(ms, adapter).toBeLessThan(atMost(100));
    expect(JSON.parse((await toolport.callTool("it__endless", { ...fits })).text)).toEqual(fits);
    // Arguments that cannot be checked are sent to the server.
    if (isUncheckable) {
      for (const checkArguments of ["repair", "strict"] as const)
        expect((await toolport.callTool("it__endless", { ...not }, { checkArguments })).text).toBe(
          JSON.stringify(not),
        );
    } else
      await harness.fails(toolport.callTool("it__endless", { ...not }), {
        code: "INVALID_ARGUMENTS",
        server: "it",
        tool: "endless",
        withinMs: 250,
      });
    await expectOthersWell(setup);
  });
}

const DEEP = 10_000;
/** As text, because `JSON.stringify` fails at this depth. */
const deepSchema = `${'{"type":"object","properties":{"a":'.repeat(DEEP)}{}${"}}".repeat(DEEP)}`;

for (const field of ["inputSchema", "outputSchema"]) {
  faultCase("X02", `in ${field}`, async (harness) => {
    const object = field === "inputSchema" ? "" : '"inputSchema":{"type":"object"},';
    const setup = await openSchemaSetup(harness, [`{"name":"deep",${object}"${field}":${deepSchema}}`]);
    expect(await setup.relistMs()).toBeLessThan(atMost(200));
    expect(setup.withheld()).toEqual({ deep: expect.stringContaining("nested deeper than 64 levels") });
    await harness.fails(setup.toolport.callTool("it__deep"), {
      code: "TOOL_WITHHELD",
      server: "it",
      tool: "deep",
      withinMs: 200,
    });
    await expectOthersWell(setup);
    await throughAllAdapters(setup.toolport);
  });
}

faultCase("X02", "a default 10,000 deep", async (harness) => {
  const nested = `${'{"a":'.repeat(DEEP)}1${"}".repeat(DEEP)}`;
  const setup = await openSchemaSetup(harness, [
    `{"name":"deep","inputSchema":{"type":"object","properties":{"x":{"default":${nested}}}}}`,
  ]);
  expect(await setup.relistMs()).toBeLessThan(atMost(200));
  expect(setup.withheld()).toEqual({ deep: expect.stringContaining("nested deeper than 64 levels") });
  await expectOthersWell(setup);
});

const choices = (count: number) => Array.from({ length: count }, (_, at) => `choice ${at}`);
const properties = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, { type: "string" }]));

/** Each level contains the one below twice: twenty levels make a million. */
function doubling(levels: number): Record<string, unknown> {
  const $defs = Object.fromEntries(
    Array.from({ length: levels }, (_, at) => {
      const next = { $ref: `#/$defs/d${at + 1}` };
      return [`d${at}`, at === levels - 1 ? { type: "string" } : { allOf: [next, next] }];
    }),
  );
  return { type: "object", properties: { x: { $ref: "#/$defs/d0" } }, $defs };
}

const LARGE: Record<string, { schema: Record<string, unknown>; reason?: string }> = {
  "100,000 enum values": {
    schema: { type: "object", properties: { x: { enum: choices(100_000) } } },
    reason: "enum of 100000 entries",
  },
  "10,001 enum values": {
    schema: { type: "object", properties: { x: { enum: choices(10_001) } } },
    reason: "enum of 10001 entries",
  },
  "5,001 subschemas": {
    schema: { type: "object", properties: properties(5_001) },
    reason: "more than 5000 subschemas",
  },
  "4 MiB": {
    schema: { type: "object", description: "d".repeat(4 * 1024 * 1024) },
    reason: "is larger than 1 MiB",
  },
  "10,000 enum values": { schema: { type: "object", properties: { x: { enum: choices(10_000) } } } },
  "4,900 subschemas": { schema: { type: "object", properties: properties(4_900) } },
  "allOf to the 20th": { schema: doubling(20) },
};

for (const [what, { schema, reason }] of Object.entries(LARGE)) {
  faultCase(
    "X03",
    `${what}: ${reason === undefined ? "listed" : "withheld"}`,
    async (harness) => {
      const setup = await openSchemaSetup(harness, [{ name: "large", inputSchema: schema }]);
      const { toolport } = setup;
      expect(await setup.relistMs()).toBeLessThan(atMost(200));
      if (reason === undefined) {
        expect(setup.withheld()).toEqual({});
        // Compiled at the first call; checked in time, or refused as too slow to check.
        const began = performance.now();
        const called = toolport.callTool("it__large", { x: "choice 1" });
        await called.catch((error: { code: string }) => expect(error.code).toBe("INVALID_ARGUMENTS"));
        expect(performance.now() - began).toBeLessThan(atMost(350));
        await throughAllAdapters(toolport);
      } else expect(setup.withheld()).toEqual({ large: expect.stringContaining(reason) });
      await expectOthersWell(setup);
    },
    { maxLagMs: LAG_MS, maxHeapGrowth: 16 * 1024 * 1024 },
  );
}

/** A tool with an invalid regular expression is called without that check; every valid expression is checked. */
const PATTERNS = {
  unchecked: ["([", "\\p{", "(?<name", "a{2,1}", "[z-a]", "(?>a+)b", "a++", "\\h"],
  checked: ["(?<=a)b", "(?<!a)b", "\\p{Letter}+", "(?<year>\\d{4})", "^[^\\s@]+@[^\\s@]+$"],
};

faultCase("X04", PATTERNS.unchecked.join("  "), async (harness) => {
  const setup = await openSchemaSetup(
    harness,
    PATTERNS.unchecked.map((pattern, at) => ({
      name: `broken_${at}`,
      inputSchema: { type: "object", properties: { x: { type: "string", pattern } } },
    })),
  );
  expect(await setup.relistMs()).toBeLessThan(atMost(100));
  expect(setup.withheld()).toEqual({});
  await throughAllAdapters(setup.toolport);
  for (const checkArguments of ["repair", "strict"] as const)
    for (const at of PATTERNS.unchecked.keys()) {
      const result = await setup.toolport.callTool(`it__broken_${at}`, { x: "y" }, { checkArguments });
      expect(result.text).toBe('{"x":"y"}');
      await harness.fails(setup.toolport.callTool(`it__broken_${at}`, { x: [] }, { checkArguments }), {
        code: "INVALID_ARGUMENTS",
        server: "it",
        withinMs: 250,
      });
    }
  const lines = harness.logged.filter((line) => line.includes('"broken_0" has a schema'));
  expect(lines).toEqual([expect.stringContaining('the pattern "([" at /properties/x/pattern')]);
  await expectOthersWell(setup);
});

faultCase("X04", PATTERNS.checked.join("  "), async (harness) => {
  const setup = await openSchemaSetup(
    harness,
    PATTERNS.checked.map((pattern, at) => ({
      name: `odd_${at}`,
      inputSchema: { type: "object", properties: { x: { type: "string", pattern } } },
    })),
  );
  expect(setup.withheld()).toEqual({});
  await throughAllAdapters(setup.toolport);
  const fitting = ["ab", "b", "é", "2026", "a@b.example"];
  for (const [at, x] of fitting.entries())
    expect((await setup.toolport.callTool(`it__odd_${at}`, { x })).text).toBe(JSON.stringify({ x }));
  await harness.fails(setup.toolport.callTool("it__odd_3", { x: "no year" }), {
    code: "INVALID_ARGUMENTS",
    server: "it",
    withinMs: 250,
  });
  await expectOthersWell(setup);
});
