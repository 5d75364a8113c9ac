/** Schemas of real servers, for every target: accepted by its rules, and meaning what they meant. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { checkLaws } from "./derived-schema-laws.js";
import type { RuleTarget } from "./provider-rules.js";

interface CollectedServer {
  readonly server: string;
  readonly tools: readonly { name: string; inputSchema: Record<string, unknown>; outputSchema?: unknown }[];
}

const folder = new URL("../fixtures/schemas/", import.meta.url);
const servers = readdirSync(folder).map(
  (file) => JSON.parse(readFileSync(new URL(file, folder), "utf8")) as CollectedServer,
);
const tools = servers.flatMap(({ server, tools: listed }) =>
  listed.map((tool) => ({ name: `${server} ${tool.name}`, schema: tool.inputSchema })),
);
const TARGETS: RuleTarget[] = ["openai", "openai-strict", "anthropic", "gemini-json", "gemini-openapi"];

it("has more than 200 schemas of more than 20 servers", () => {
  expect(tools.length).toBeGreaterThan(200);
  expect(servers.length).toBeGreaterThan(20);
});

describe.each(TARGETS)("%s", (target) => {
  it("derives every schema as it should", () => {
    let [values, withoutValues, strict] = [0, 0, 0];
    const wrong: unknown[] = [];
    for (const { name, schema } of tools) {
      const { derived, refused, lost, gained, tried } = checkLaws(schema, target);
      values += tried.original + tried.derived;
      if (tried.original === 0 || tried.derived === 0) withoutValues++;
      if (derived.strict) strict++;
      if (refused.length + lost.length + gained.length > 0)
        wrong.push({ name, refused, lost: lost[0], gained: gained[0], schema, derived: derived.schema });
    }
    if (process.env["CORPUS_FIGURES"])
      console.log({ target, tools: tools.length, values, withoutValues, strict });
    if (process.env["CORPUS_FIGURES"]) console.log(JSON.stringify(wrong));
    expect(wrong.slice(0, 2)).toEqual([]);
    expect(withoutValues).toBeLessThan(tools.length / 20);
    expect(values).toBeGreaterThan(tools.length * 10);
  });
});
