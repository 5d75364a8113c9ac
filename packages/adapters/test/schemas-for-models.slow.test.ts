/** Schemas that every model accepts: the clients of both frameworks send tools to stand-ins with the rules of the providers. */
import { readdirSync, readFileSync } from "node:fs";
import { createToolport, type ServerEntry, type Toolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FIELD_SCHEMAS } from "../../../test/support/field-schemas.js";
import { type RuleTarget, SCHEMA_RULES, schemaRefusals } from "../../../test/support/provider-refusals.js";
import { type ProviderStandIn, startProviderStandIn } from "../../../test/support/provider-stand-in.js";
import { CLIENTS } from "./framework-clients.js";
import { REFUSED_SCHEMAS, type RefusedSchema } from "./refused-schemas.js";

const MOST_TOOLS = 128;
const TIMEOUT_MS = 120_000;

interface CollectedServer {
  readonly server: string;
  readonly tools: readonly { name: string; description?: string; inputSchema: Record<string, unknown> }[];
}

const folder = new URL("../../../test/fixtures/schemas/", import.meta.url);
const collected = readdirSync(folder).map(
  (file) => JSON.parse(readFileSync(new URL(file, folder), "utf8")) as CollectedServer,
);

type Schemas = Readonly<Record<string, Record<string, unknown>>>;

const serve = (schemas: Schemas): ServerEntry => {
  const tools = Object.entries(schemas).map(([name, inputSchema]) => [
    name,
    { description: name, inputSchema, handler: () => "done" },
  ]);
  return createTestServer({ tools: Object.fromEntries(tools) }).memory();
};

/** One tool for every schema that a rule rejects. */
const cases = (): Schemas =>
  Object.fromEntries(
    REFUSED_SCHEMAS.flatMap(({ schema }, index) => (schema === undefined ? [] : [[`case_${index}`, schema]])),
  );

const FIELDS: Schemas = Object.fromEntries(FIELD_SCHEMAS.map(({ name, schema }) => [name, schema]));

describe("the tools of real servers, of the corpus of odd schemas, and of every case", () => {
  let toolport: Toolport;
  let standIn: ProviderStandIn;

  beforeAll(async () => {
    const corpus = collected.map(({ server, tools }) => [
      server,
      serve(Object.fromEntries(tools.map(({ name, inputSchema }) => [name, inputSchema]))),
    ]);
    const mcpServers = { ...Object.fromEntries(corpus), cases: serve(cases()), field: serve(FIELDS) };
    toolport = createToolport({ mcpServers });
    standIn = await startProviderStandIn();
  });
  afterAll(async () => {
    await toolport.close();
    await standIn[Symbol.asyncDispose]();
  });

  it("are complete", async () => {
    const listed = collected.flatMap(({ tools }) => tools).length;
    expect(listed).toBe(695);
    const others = Object.keys({ ...cases(), ...FIELDS }).length;
    expect(await toolport.tools()).toHaveLength(listed + others);
  });

  it.each(Object.entries(CLIENTS))(
    "are sent by %s; none is rejected or dropped",
    async (_name, client) => {
      const before = { requests: standIn.requests.length, refused: standIn.refused.length };
      await client.send(toolport, { url: standIn.url, size: MOST_TOOLS }).catch(() => {});
      expect(standIn.refused.slice(before.refused, before.refused + 3)).toEqual([]);
      const sent = standIn.requests.slice(before.requests).flat();
      expect(sent).toEqual((await toolport.tools()).map(({ name }) => name));
    },
    TIMEOUT_MS,
  );
});

describe("every published rule", () => {
  let standIn: ProviderStandIn;
  beforeAll(async () => {
    standIn = await startProviderStandIn();
  });
  afterAll(() => standIn[Symbol.asyncDispose]());

  /** The rules that rejected the request. */
  async function refusedBy(
    { client, strict, rename }: RefusedSchema,
    schemas: Schemas,
    schema?: "source" | "openai-strict",
  ): Promise<Set<string>> {
    await using toolport = createToolport({ mcpServers: { it: serve(schemas) } });
    const before = { requests: standIn.requests.length, refused: standIn.refused.length };
    const options = { url: standIn.url, ...(schema && { schema }), ...(strict && { strict }) };
    await CLIENTS[client].send(toolport, { ...options, ...(rename && { rename }) }).catch(() => {});
    expect(standIn.requests.length).toBe(before.requests + 1);
    return new Set(standIn.refused.slice(before.refused).map(({ rule }) => rule));
  }

  const title = ({ target, rule }: RefusedSchema) => [`${target}: ${rule}`, rule] as const;

  it.each(REFUSED_SCHEMAS.map((given) => [...title(given), given] as const))(
    "is violated by the server's own schema, and not by default (%s)",
    async (_title, rule, given) => {
      const tool = { it: given.schema ?? { type: "object", properties: { a: { type: "string" } } } };
      const schemas = given.tools === undefined ? tool : countedTools(given.tools);
      expect(await refusedBy(given, schemas, "source")).toContain(rule);
      if (given.onlyRefused === true) return;
      const { rename: _rename, ...offered } = given;
      expect(await refusedBy(offered, tool, given.strict ? "openai-strict" : undefined)).toEqual(new Set());
    },
  );

  it("has a case and a source", () => {
    const sent: RuleTarget[] = ["openai", "openai-strict", "anthropic", "gemini-openapi"];
    const covered = new Set(REFUSED_SCHEMAS.map(({ target, rule }) => `${target} ${rule}`));
    // Strict mode has its own rules in addition to those of its API.
    const ownRules = sent.flatMap((target) =>
      SCHEMA_RULES[target]
        .filter(({ id }) => target !== "openai-strict" || id.startsWith("strict: "))
        .map(({ id }) => `${target} ${id}`),
    );
    expect(ownRules.filter((rule) => !covered.has(rule))).toEqual([]);
    for (const { source } of Object.values(SCHEMA_RULES).flat()) expect(source).toMatch(/^https:\/\//);
  });

  it("of Gemini's other field is violated by some schema, too", () => {
    const found = new Set(
      Object.values(cases()).flatMap((schema) =>
        schemaRefusals("gemini-json", schema).map(({ rule }) => rule),
      ),
    );
    expect([...found].sort()).toEqual([
      "enum value",
      "invalid 2020-12",
      "keyword",
      "root is not an object",
      "sum of maxItems",
    ]);
  });
});

const countedTools = (count: number): Schemas =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `tool_${index}`,
      { type: "object", properties: { a: { type: "string" } } },
    ]),
  );
