/** No schema of a server causes an exception or a hang, or is modified. Derived schemas are JSON and idempotent. */
import fc from "fast-check";
import { expect } from "vitest";
import type { ToolInfo } from "../../packages/base/src/model/tool-info.js";
import { generateClient } from "../../packages/cli/src/commands/write-types.js";
import { definitionHash } from "../../packages/core/src/catalog/safety/canonical-json.js";
import { createSearchIndex } from "../../packages/core/src/catalog/search/search-index.js";
import { readSourceTool, type SourceTool } from "../../packages/core/src/catalog/source-tool.js";
import { paramHeaders } from "../../packages/core/src/protocol/param-headers.js";
import { applyDefaults } from "../../packages/schemas/src/apply-defaults.js";
import { createSchemaValidator } from "../../packages/schemas/src/create-validator.js";
import { deriveSchema } from "../../packages/schemas/src/derive/derive-schema.js";
import { SCHEMA_TARGETS } from "../../packages/schemas/src/derive/derived-schema.js";
import type { JsonSchema } from "../../packages/schemas/src/json-schema.js";
import { fromParameters, toParameters } from "../../packages/schemas/src/parameters.js";
import { wireValue } from "./arbitraries.js";
import { fuzzModel } from "./fuzz-model.js";
import { anySchema, listedTool } from "./schema-arbitraries.js";

/** The documented bound is 250 ms on an idle machine; a busy one gets ten times as much. */
const MAX_MS = 2_500;

function timed<Value>(what: string, run: () => Value): Value {
  const began = performance.now();
  const value = run();
  expect(performance.now() - began, what).toBeLessThan(MAX_MS);
  return value;
}

function deriveAll(schema: JsonSchema): void {
  for (const target of SCHEMA_TARGETS) {
    const { schema: derived, changes, wrap, unwrap } = timed(target, () => deriveSchema(schema, target));
    expect(changes.length).toBeLessThanOrEqual(1_000);
    const text = JSON.stringify(derived);
    expect(JSON.stringify(deriveSchema(schema, target).schema), `${target} twice`).toBe(text);
    for (const args of [{}, { a: 1, value: { a: null } }]) unwrap(wrap(args));
  }
}

function useTool(tool: SourceTool): void {
  const info = { ...tool, server: "s" } as unknown as ToolInfo;
  timed("client", () => generateClient([info]));
  timed("search", () => createSearchIndex([info]).search("echo query"));
  timed("headers", () => paramHeaders(tool.paramHeaders, { a: "x\r\ny", b: [1], query: null }));
  const parameters = timed("parameters", () => toParameters(tool.inputSchema));
  const again = toParameters(fromParameters(parameters));
  expect(again.map((parameter) => parameter.name)).toEqual(parameters.map((parameter) => parameter.name));
  timed("defaults", () => applyDefaults(tool.inputSchema, { a: {}, b: [{}] }));
}

fuzzModel(
  "schema of a server",
  fc.asyncProperty(listedTool, fc.boolean(), async (raw, withHeaders) => {
    const read = timed("reading", () => readSourceTool(raw, { withHeaders }));
    if ("withheld" in read) {
      expect(read.withheld.reason).not.toBe("");
      return;
    }
    const before = await definitionHash(read.tool.raw);
    deriveAll(read.tool.inputSchema);
    useTool(read.tool);
    expect(await definitionHash(read.tool.raw), "the definition is as it came").toBe(before);
  }),
);

const validator = createSchemaValidator();

fuzzModel(
  "value against a schema",
  fc.asyncProperty(anySchema, wireValue, async (schema, value) => {
    const began = performance.now();
    const issues = await validator.validate(schema as JsonSchema, value);
    expect(performance.now() - began).toBeLessThan(MAX_MS);
    expect(issues.length).toBeLessThanOrEqual(20);
    for (const issue of issues) expect(typeof issue.path === "string" && issue.message !== "").toBe(true);
    const again = await validator.validate(schema as JsonSchema, value);
    // A slow schema is not checked again for a while: only then may the results differ.
    if (!JSON.stringify(again).includes("too slow") && !JSON.stringify(again).includes("too long"))
      expect(again).toEqual(issues);
  }),
);
