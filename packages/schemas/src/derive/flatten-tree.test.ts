import { expect, it } from "vitest";
import { deriveSchema } from "./derive-schema.js";

/** `allOf` of two schemas, for a target without `allOf`. */
const merged = (...parts: unknown[]): unknown =>
  deriveSchema({ type: "object", properties: { it: { allOf: parts } } }, "gemini-json").schema["properties"];

it.each<[string, unknown[], unknown]>([
  [
    "the tighter bounds",
    [
      { type: "integer", minimum: 1, maximum: 9 },
      { minimum: 3, maximum: 20 },
    ],
    { type: "integer", minimum: 3, maximum: 9 },
  ],
  [
    "the shared types",
    [{ type: ["string", "number"] }, { type: ["integer", "string"] }],
    { type: ["string", "integer"] },
  ],
  ["the shared values", [{ enum: ["a", "b"] }, { enum: ["b", "c"] }], { type: "string", enum: ["b"] }],
  [
    "nothing if they contradict each other",
    [{ type: "string" }, { type: "number" }],
    { description: "Must not be given." },
  ],
  [
    "both patterns, in words",
    [{ type: "string", pattern: "^a" }, { pattern: "b$" }],
    { type: "string", description: "Must match the pattern b$. Must match the pattern ^a." },
  ],
  [
    "items that match both",
    [{ type: "array", items: { type: ["string", "null"] } }, { items: { type: "string" } }],
    { type: "array", items: { type: "string" } },
  ],
  [
    "properties, with the other schema's rule for undeclared ones",
    [
      { type: "object", properties: { a: { type: "string" } }, additionalProperties: { type: "integer" } },
      { properties: { b: {} }, required: ["b"] },
    ],
    {
      type: "object",
      properties: { a: { type: "string" }, b: { type: "integer" } },
      required: ["b"],
      additionalProperties: { type: "integer" },
    },
  ],
])("keeps %s", (_name, parts, expected) => {
  expect(merged(...parts)).toEqual({ it: expected });
});
