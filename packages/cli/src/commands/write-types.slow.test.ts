import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ToolInfo } from "@toolport/base";
import { beforeAll, expect, test } from "vitest";
import { checkSnippets } from "../../../../test/docs/check-snippets.js";
import { generateClient } from "./write-types.js";

const schemas = fileURLToPath(new URL("../../../../test/fixtures/schemas", import.meta.url));

const tool = (sourceName: string, more: Partial<ToolInfo> = {}): ToolInfo => ({
  name: `box__${sourceName}`,
  server: "box",
  sourceName,
  inputSchema: { type: "object" },
  ...more,
});

function realTools(): ToolInfo[] {
  return readdirSync(schemas).flatMap((file) => {
    const { tools } = JSON.parse(readFileSync(join(schemas, file), "utf8")) as {
      tools: (Omit<ToolInfo, "sourceName" | "server"> & { name: string })[];
    };
    const server = file.replace(/\.json$/, "");
    return tools.map(({ name, ...rest }) => ({
      ...rest,
      name: `${server}__${name}`,
      server,
      sourceName: name,
    }));
  });
}

const rich = tool("shape-it", {
  description: "Ends */ here\n\u001b[31mand `there`",
  inputSchema: {
    type: "object",
    required: ["kind", "node"],
    properties: {
      kind: { enum: ["a", 1, null, true] },
      node: { $ref: "#/$defs/node" },
      "odd name": { type: ["string", "null"] },
      list: { type: "array", items: { anyOf: [{ type: "string" }, { type: "integer" }] } },
      pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }] },
      both: { allOf: [{ type: "object", properties: { x: { type: "number" } } }, { properties: { y: {} } }] },
      map: { type: "object", additionalProperties: { type: "number" } },
      empty: { type: "object", additionalProperties: false },
      no: false,
      'quote"\\\u2028': { const: 'it"s' },
    },
    $defs: {
      node: {
        type: "object",
        properties: { value: { type: "string" }, next: { $ref: "#/$defs/node" } },
        required: ["value"],
      },
    },
  },
  outputSchema: { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] },
});

const USE = `
declare const toolport: Toolport;
const tools = createTools(toolport);
export async function use(): Promise<boolean> {
  const { structuredContent } = await tools.box.shapeIt({
    kind: "a",
    node: { value: "x", next: { value: "y" } },
    "odd name": null,
    list: ["a", 1],
    pair: ["a", 1, true],
    both: { x: 1, y: "anything" },
    map: { a: 1 },
    empty: {},
  }, { timeoutMs: 5 });
  await tools.box.plain();
  return structuredContent?.ok === true;
}`;

const wrong = [
  'tools.box.shapeIt({ kind: "b", node: { value: "x" } });',
  'tools.box.shapeIt({ kind: "a" });',
  'tools.box.shapeIt({ kind: "a", node: { value: "x", next: {} } });',
  'tools.box.shapeIt({ kind: "a", node: { value: "x" }, unknown: 1 });',
  'tools.box.shapeIt({ kind: "a", node: { value: "x" }, map: { a: "1" } });',
  "tools.box.nothing();",
];

const NAMES = [
  "get-sum",
  "get_sum",
  "getSum",
  "delete",
  "constructor",
  "2nd",
  "日本",
  "",
  "a b",
  "URL",
  "__proto__",
];

const typed = generateClient([rich, tool("plain")]);
const named = generateClient([
  ...NAMES.map((name) => tool(name)),
  tool("x", { server: "Box", name: "Box__x" }),
]);

/** One program for all snippets, because reading the sources takes most of the time. */
let problems: readonly string[] = [];
beforeAll(() => {
  const snippets = {
    real: generateClient(realTools()),
    right: `${typed}${USE}`,
    ...Object.fromEntries(wrong.map((line, index) => [`wrong${index}`, `${typed}${USE}\nvoid ${line}`])),
    named,
    none: generateClient([]),
  };
  problems = checkSnippets(
    Object.entries(snippets).map(([path, text]) => ({ path, line: 0, text })),
    {
      ambient: "export {};",
      compilerOptions: { strict: true, exactOptionalPropertyTypes: true, noUnusedLocals: true },
    },
  );
});
const problemsOf = (path: string) => problems.filter((problem) => problem.startsWith(`${path}:`));

test("generates types that compile for the tools of 46 real servers", () => {
  expect(realTools().length).toBeGreaterThan(500);
  expect(problemsOf("real")).toEqual([]);
});

test("arguments and results have types", () => {
  expect(problemsOf("right")).toEqual([]);
});

test.each(wrong.map((line, index) => [line, index] as const))("%s does not compile", (_line, index) => {
  expect(problemsOf(`wrong${index}`)).toHaveLength(1);
});

test("generates valid and unique names", () => {
  expect(problemsOf("named")).toEqual([]);
  for (const part of ["getSum(", "getSum3(", "delete_(", "readonly box2: {"]) expect(named).toContain(part);
});

test("generates a valid file without tools", () => {
  expect(problemsOf("none")).toEqual([]);
  expect(problems).toHaveLength(wrong.length);
});
