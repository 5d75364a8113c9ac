import { readdirSync, readFileSync } from "node:fs";
import { estimateTokens, type ToolInfo } from "@toolport/base";
import { beforeAll, describe, expect, test } from "vitest";
import { checkSnippets } from "../../../test/docs/check-snippets.js";
import { collectedTools } from "../../../test/support/definitions.js";
import { createProgramApi, declareTools } from "./program-api.js";

const tool = (sourceName: string, more: Partial<ToolInfo> = {}): ToolInfo => ({
  name: `box__${sourceName}`,
  server: "box",
  sourceName,
  inputSchema: { type: "object", properties: { a: { type: "string" } } },
  ...more,
});

const declare = (...tools: ToolInfo[]) => declareTools(createProgramApi(tools));

/** 695 tools of 47 servers, without descriptions, some with output schemas. */
const schemaFolder = new URL("../../../test/fixtures/schemas/", import.meta.url);
const schemaTools = readdirSync(schemaFolder).flatMap((file) => {
  const server = file.replace(/\.json$/, "");
  const { tools } = JSON.parse(readFileSync(new URL(file, schemaFolder), "utf8")) as { tools: ToolInfo[] };
  return tools.map((each) => ({ ...each, server, sourceName: each.name, name: `${server}__${each.name}` }));
});

const NODE = {
  type: "object",
  properties: { value: { type: "string" }, next: { $ref: "#/$defs/node" } },
  required: ["value"],
};

const rich = tool("shape-it", {
  description: `Ends */ here\n\u001b[31mand \`there\` \${process.exit()} \u202e\u200b${"long ".repeat(100)}`,
  inputSchema: {
    type: "object",
    required: ["kind", "node"],
    properties: {
      kind: { enum: ["a", 1, null, true], description: "Ends */ here\u2028too" },
      node: { $ref: "#/$defs/node" },
      "odd name": { type: ["string", "null"] },
      list: { type: "array", items: { anyOf: [{ type: "string" }, { type: "integer" }] } },
      both: { allOf: [{ type: "object", properties: { x: { type: "number" } } }, { properties: { y: {} } }] },
      map: { type: "object", additionalProperties: { type: "number" } },
      any: { type: "object" },
      'quote"\\\u2028*/': { const: 'it"s */' },
    },
    $defs: { node: NODE, Promise: NODE },
  },
  outputSchema: { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] },
});

const hostile = [
  tool("*/ }; process.exit();", {
    server: "a */ {",
    description: "x\r\n}; declare const process: never; //",
  }),
  tool(`\u202eevil\`\${1}\``, { title: "*/".repeat(200) }),
  tool("refs", {
    inputSchema: {
      type: "object",
      properties: { p: { $ref: "#/$defs/Promise" }, q: { $ref: "#" }, r: { $ref: "#/$defs/none" } },
      required: ["p"],
      $defs: { Promise: NODE, node: NODE },
    },
  }),
  tool("closed", { inputSchema: { type: "object", additionalProperties: false } }),
];

const RIGHT = `
export async function use(): Promise<boolean> {
  const { ok } = await tools.box.shapeIt({
    kind: "a",
    node: { value: "x", next: { value: "y" } },
    "odd name": null,
    list: ["a", 1],
    both: { x: 1, y: "anything" },
    map: { a: 1 },
    any: { b: 2 },
  });
  const found: unknown = await tools.box.plain();
  return ok && found !== undefined;
}`;
const WRONG = [
  'tools.box.shapeIt({ kind: "b", node: { value: "x" } });',
  'tools.box.shapeIt({ kind: "a" });',
  'tools.box.shapeIt({ kind: "a", node: { value: "x", next: {} } });',
  "tools.box.nothing();",
];

const typed = declare(rich, tool("plain"));
let problems: readonly string[] = [];
beforeAll(() => {
  const snippets = {
    real: declareTools(createProgramApi(collectedTools)),
    schemas: declareTools(createProgramApi(schemaTools)),
    hostile: declare(...hostile),
    none: declare(),
    right: `${typed}${RIGHT}`,
    ...Object.fromEntries(WRONG.map((line, index) => [`wrong${index}`, `${typed}\nvoid ${line}`])),
  };
  problems = checkSnippets(
    Object.entries(snippets).map(([path, text]) => ({ path, line: 0, text })),
    { ambient: "export {};", compilerOptions: { strict: true, types: [], noUnusedLocals: false } },
  );
});
const problemsOf = (path: string) => problems.filter((problem) => problem.startsWith(`${path}:`));

test.each(["real", "schemas", "hostile", "none", "right"])("%s: compiles", (path) => {
  expect(problemsOf(path)).toEqual([]);
});

test.each(WRONG.map((line, index) => [line, index] as const))("%s does not compile", (_line, index) => {
  expect(problemsOf(`wrong${index}`)).toHaveLength(1);
});

test("one line a tool, with a comment of at most 160 characters above it", () => {
  const lines = declare(tool("get_all", { description: "Gets\n  all. ".repeat(40) }), tool("put")).split(
    "\n",
  );
  expect(lines).toEqual([
    "declare const tools:{",
    "box:{",
    expect.stringMatching(/^\/\/ Gets all\. Gets all.*…$/),
    "getAll(args?:{ a?:string }):Promise<unknown>;",
    "put(args?:{ a?:string }):Promise<unknown>;",
    "};",
    "};",
  ]);
  expect(lines[2]!.length).toBeLessThanOrEqual(165);
});

test("texts of servers cannot end a comment or hide characters", () => {
  const text = `${declare(rich)}\n${declare(...hostile)}`;
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f\u200b\u202e\u2028\u2029]/);
  expect(text).toContain("Ends *\\/ here");
  expect(
    text
      .split("\n")
      .filter(
        (line) =>
          !/^(\/\/ |type \w+=|declare const tools:\{$|\w+:\{$|\};$|\w+\(.*\):Promise<.*>;$)/.test(line),
      ),
  ).toEqual([]);
});

test("a recursive schema becomes a named type that replaces no global one", () => {
  const text = declare(hostile[2]!);
  expect(text).toContain("type Promise2={ value:string, next?:Node2 };");
  expect(text).toContain("type Node2={ value:string, next?:Node2 };");
});

test("a long result is declared less deep, never left out", () => {
  const row = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`column_${at}`, { type: "string" }]));
  const text = declare(
    tool("rows", {
      outputSchema: {
        type: "object",
        properties: {
          total: { type: "number" },
          rows: { type: "array", items: { type: "object", properties: row } },
        },
        required: ["total", "rows"],
      },
    }),
  );
  expect(text).toContain("Promise<{ total:number, rows:Array<Record<string, unknown>> }>");
});

describe("descriptions of parameters", () => {
  const described = (name: string, descriptions: Record<string, string>) =>
    tool(name, {
      inputSchema: {
        type: "object",
        properties: Object.fromEntries(
          Object.entries(descriptions).map(([key, description]) => [key, { type: "string", description }]),
        ),
        required: Object.keys(descriptions),
      },
    });

  test.each([
    ["base_id", "The ID of the base", ""],
    ["baseId", "Base identifier.", ""],
    ["text", "Text to box", ""],
    ["user", "ID of the user", "ID of the user"],
    ["day", "(optional) Format YYYY-MM-DD.", "Format YYYY-MM-DD"],
    ["day", "A day of the week (optional)", "day of the week"],
    ["name", "Optional name", ""],
    ["level", "level 3", "level 3"],
    ["optionality", "optionality of all", "optionality of all"],
  ])("%s: %s", (name, description, expected) => {
    const comment = expected === "" ? "" : ` /* ${expected} */`;
    expect(declare(described("box_text", { [name]: description }))).toContain(`{ ${name}:string${comment} }`);
  });

  test("one that an earlier tool of the server has is not repeated", () => {
    const text = declare(
      described("first", { repo: "Owner and name" }),
      described("second", { repo: "Owner and name", other: "Owner and name" }),
      described("third", { repo: "Only the name" }),
    );
    expect(text.match(/repo:string( \/\* .*? \*\/)?/g)).toEqual([
      "repo:string /* Owner and name */",
      "repo:string",
      "repo:string /* Only the name */",
    ]);
    expect(text).toContain("other:string /* Owner and name */");
  });

  test("are shorter if an object has many", () => {
    const long = "word ".repeat(60);
    const lengths = (count: number) =>
      [
        ...declare(
          described("many", Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, long]))),
        ).matchAll(/\/\* (.*?) \*\//g),
      ].map(([, text]) => text!.length);
    for (const [count, most] of [
      [1, 160],
      [8, 100],
      [40, 60],
    ] as const)
      for (const length of lengths(count)) expect(length).toSatisfy((at) => at <= most && at > most - 10);
  });
});

test("shows only the tools asked for, with the names that they have among all", () => {
  const all = [tool("get-sum"), tool("getSum")];
  expect(declareTools(createProgramApi(all), { only: new Set([all[0]!]) })).toContain("getSum2(");
  expect(declareTools(createProgramApi(all), { only: new Set([all[0]!]) })).not.toContain("getSum(");
});

describe("size, as a share of the definitions that models get without code mode", () => {
  const spread = (tools: readonly ToolInfo[], count: number) =>
    Array.from({ length: count }, (_, index) => tools[Math.floor((index * tools.length) / count)]!);
  const tokensOfJson = (tools: readonly ToolInfo[]) =>
    tools.reduce(
      (sum, { name, description, inputSchema }) =>
        sum + estimateTokens(JSON.stringify({ name, description, inputSchema })),
      0,
    );
  const corpora = { definitions: collectedTools, schemas: schemaTools };
  // As they are spread over the servers, which is the measure of docs/code-mode.md, and those of the first servers.
  const cases = Object.entries(corpora).flatMap(([corpus, tools]) =>
    [10, 100, tools.length].flatMap((count) => [
      [corpus, count, "spread", spread(tools, count)] as const,
      [corpus, count, "first", tools.slice(0, count)] as const,
    ]),
  );

  test.each(cases)("%s, %i tools, %s", (_corpus, _count, _which, tools) => {
    const api = createProgramApi(tools);
    const whole = tokensOfJson(tools);
    expect(estimateTokens(declareTools(api)) / whole).toBeLessThanOrEqual(0.6);
    expect(estimateTokens(declareTools(api, { comments: false })) / whole).toBeLessThanOrEqual(0.35);
  });
});
