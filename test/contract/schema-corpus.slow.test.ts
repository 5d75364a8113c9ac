/** Schemas of real servers (collected by scripts/collect-schemas.mjs), for every target: accepted by its rules, with the same meaning. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { toParameters } from "../../packages/schemas/src/parameters.js";
import { RULE_TARGETS, refusals } from "../support/provider-refusals.js";
import { checkLaws } from "./derived-schema-laws.js";

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
const TIMEOUT_MS = 120_000;

it("has more than 200 schemas of more than 20 servers", () => {
  expect(tools.length).toBeGreaterThan(200);
  expect(servers.length).toBeGreaterThan(20);
});

it("reads the parameters of each", () => {
  for (const { name, schema } of tools) {
    const named = toParameters(schema).map((parameter) => parameter.name);
    expect(named, name).toEqual(Object.keys((schema["properties"] as object | undefined) ?? {}));
  }
});

describe.each(RULE_TARGETS)("%s", (target) => {
  it("would refuse some of the originals", () => {
    expect(tools.filter(({ schema }) => refusals(target, schema).length > 0).length).toBeGreaterThan(5);
  });

  it(
    "accepts all derived schemas, and they keep their meaning",
    () => {
      let [values, withoutValues, strict, wrapped] = [0, 0, 0, 0];
      const wrong: unknown[] = [];
      for (const { name, schema } of tools) {
        const { derived, refused, lost, gained, tried } = checkLaws(schema, target);
        values += tried.original + tried.derived;
        if (tried.original === 0 || tried.derived === 0) withoutValues++;
        if (derived.strict) strict++;
        if (derived.wrapped) wrapped++;
        if (refused.length + lost.length + gained.length > 0)
          wrong.push({ name, refused, lost: lost[0], gained: gained[0], schema, derived: derived.schema });
      }
      if (process.env["SCHEMA_FIGURES"])
        console.log(target, { tools: tools.length, values, withoutValues, strict, wrapped });
      expect(wrong.slice(0, 2)).toEqual([]);
      expect(withoutValues).toBeLessThan(tools.length / 50);
      expect(values).toBeGreaterThan(tools.length * 10);
      if (target === "openai-strict") expect(strict).toBeGreaterThan(tools.length / 2);
    },
    TIMEOUT_MS,
  );
});
