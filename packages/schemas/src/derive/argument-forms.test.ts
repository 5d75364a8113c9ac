/** Wrapped roots and renamed properties: in the schema, and reverted in the arguments. */
import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../json-schema.js";
import { deriveSchema } from "./derive-schema.js";
import type { SchemaTarget } from "./derived-schema.js";

const TARGETS: SchemaTarget[] = [
  "plain",
  "openai",
  "openai-strict",
  "anthropic",
  "gemini-json",
  "gemini-openapi",
];
const object = (properties: Record<string, unknown>, required?: string[]): JsonSchema => ({
  type: "object",
  properties,
  ...(required && { required }),
});

describe("a root", () => {
  it.each(TARGETS.slice(1))("that is not an object is wrapped for %s, and unwrapped", (target) => {
    const { wrapped, schema, unwrap } = deriveSchema({ type: "string", description: "Name" }, target);
    expect(wrapped).toBe(true);
    expect(schema).toMatchObject({ properties: { value: { description: "Name" } }, required: ["value"] });
    expect(unwrap({ value: "Ada" })).toBe("Ada");
  });

  it.each(TARGETS.slice(1))("that is a union of objects is wrapped for %s", (target) => {
    const choice = {
      type: "object",
      oneOf: [object({ a: { type: "string" } }, ["a"]), object({ b: { type: "string" } }, ["b"])],
    };
    const { wrapped, schema, unwrap, wrap } = deriveSchema(choice, target);
    expect(wrapped).toBe(true);
    expect(schema).not.toHaveProperty("oneOf");
    expect(unwrap(wrap({ b: "x" }))).toEqual({ b: "x" });
    expect(unwrap({ b: "x" })).toEqual({ b: "x" });
  });

  it.each(TARGETS.slice(1))(
    "that requires one of several properties is described in words for %s",
    (target) => {
      const either = {
        ...object({ url: { type: "string" }, path: { type: "string" } }),
        anyOf: [{ required: ["url"] }, { required: ["path"] }],
      };
      const { schema, wrapped, changes } = deriveSchema(either, target);
      expect(wrapped).toBe(false);
      expect(schema["description"]).toBe("At least one of these must be given: url, path.");
      expect(schema).not.toHaveProperty("anyOf");
      expect(changes).toContainEqual(
        expect.objectContaining({ what: "described", keyword: "anyOf", path: "#" }),
      );
    },
  );

  it("gets a missing type and properties", () => {
    expect(deriveSchema({}, "openai").schema).toEqual({ type: "object", properties: {} });
    expect(deriveSchema({ properties: { a: {} } }, "anthropic").schema).toEqual(object({ a: {} }));
    expect(deriveSchema({ type: "object" }, "gemini-openapi").schema).toEqual({ type: "OBJECT" });
  });
});

describe("names that a target rejects", () => {
  const schema = object(
    {
      $select: { type: "string" },
      select: { type: "string" },
      "filter[name]": object({ "a b": { type: "integer" } }),
    },
    ["$select"],
  );

  it("are changed for the model and restored for the server", () => {
    const { schema: derived, unwrap, wrap, changes } = deriveSchema(schema, "anthropic");
    expect(Object.keys(derived["properties"] as object)).toEqual(["select_2", "select", "filter_name"]);
    expect(derived["required"]).toEqual(["select_2"]);
    expect(changes).toContainEqual({ path: "#", keyword: "$select", what: "renamed", detail: "select_2" });
    const args = { $select: "x", select: "y", "filter[name]": { "a b": 1 } };
    expect(wrap(args)).toEqual({ select_2: "x", select: "y", filter_name: { a_b: 1 } });
    expect(unwrap(wrap(args))).toEqual(args);
  });

  it("stay if the target has no rule", () => {
    expect(deriveSchema(schema, "openai").changes).toEqual([]);
  });
});

describe("an object or any text, where the model writes objects as JSON text", () => {
  const schema = object({ data: { anyOf: [{ type: "string" }, { type: "object" }] } });

  it.each(["portable", "gemini-openapi"] as const)("is an object again for %s", (target) => {
    const { unwrap, wrap } = deriveSchema(schema, target);
    expect(wrap({ data: { a: [1] } })).toEqual({ data: '{"a":[1]}' });
    expect(unwrap(wrap({ data: { a: [1] } }))).toEqual({ data: { a: [1] } });
    for (const data of ["plain text", "{ no JSON", "[1]"]) expect(unwrap({ data })).toEqual({ data });
  });
});
